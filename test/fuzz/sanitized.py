#!/usr/bin/env python3
"""10,000 mutations of models, of artifacts and of .npy files, under AddressSanitizer.

Builds test/fuzz's targets, instrumented, into build/asan, and replays seeded cases in their
processes: artifacts and arrays mutated as bytes, models as mutate.py makes them (import, graph
passes and plan). The compiler takes some ten minutes of a core to build so, the cases half a minute.
A failure names its case; `--first N --cases 1` runs it alone.
"""

import os
import struct
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnx.parser

import mutate  # sets the path for the next
import harness

BUILD = harness.ROOT / "build/asan"
LLVM = Path("/usr/lib/llvm-19/lib/cmake")
TARGETS = ["fuzz-artifact", "fuzz-model", "fuzz-npy"]
CASES = 10000
SEVERAL_SHAPES = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n,4] x) => (float[n,4] y) { s = Softmax(x)
  y = Relu(s) }"""
LEAST_ACCEPTED = 100  # one in so many cases must get to the end
MEMORY_MIB = 4096
ASAN = f"allocator_may_return_null=1:max_allocation_size_mb={MEMORY_MIB}:detect_leaks=1"


def build(jobs):
    """Configures and builds the targets; a Failure with the log's end."""
    proto = next((harness.ROOT / "build/venv/lib").glob("python3*/site-packages/onnx/onnx-ml.proto"))
    options = ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG",
               "-DPASCALINE_SANITIZE=address", f"-DMLIR_DIR={LLVM / 'mlir'}",
               f"-DLLVM_DIR={LLVM / 'llvm'}", f"-DPASCALINE_ONNX_PROTO={proto}"]
    if subprocess.run(["sh", "-c", "command -v ccache"], capture_output=True,
                      check=False).returncode == 0:
        options += [f"-DCMAKE_{language}_COMPILER_LAUNCHER=ccache" for language in ("C", "CXX")]
    environment = {**os.environ, "CCACHE_SLOPPINESS":
                   "pch_defines,time_macros,include_file_mtime,include_file_ctime"}
    for command in (["cmake", "-S", str(harness.ROOT), "-B", str(BUILD), "-G", "Ninja", *options],
                    ["ninja", "-C", str(BUILD), "-j", str(jobs), *TARGETS]):
        result = subprocess.run(command, capture_output=True, text=True, check=False,
                                env=environment)
        if result.returncode != 0:
            raise harness.Failure(f"{command[0]}: {(result.stdout + result.stderr)[-2000:]}")


def write_pack(path, models, numbers):
    """Mutated models, each behind its length."""
    with open(path, "wb") as file:
        for number in numbers:
            content = mutate.make(models, number)[1]
            file.write(struct.pack("<I", len(content)) + content)


def replay(target, *arguments):
    """Runs a target; a Failure with its case and what the sanitizer says."""
    environment = {**os.environ, "ASAN_OPTIONS": ASAN}
    result = subprocess.run([str(BUILD / "bin" / target), *map(str, arguments)],
                            capture_output=True, text=True, errors="replace", check=False,
                            env=environment)
    if result.returncode != 0:
        lines = [line for line in result.stderr.splitlines()
                 if "ERROR" in line or "died in" in line or "fuzzer:" in line or " in pascaline" in line]
        raise harness.Failure(f"{target} {' '.join(map(str, arguments))}: "
                              + "; ".join(lines[:6] or [harness.describe_exit(result)]))
    cases, accepted = (int(word) for word in result.stdout.split() if word.isdigit())
    if accepted * LEAST_ACCEPTED < cases:
        raise harness.Failure(f"{target}: only {accepted} of {cases} cases were good all through")
    return cases


class Sanitized:
    """The three tests."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)

    def expect(self, count):
        """All cases were run."""
        if count != self.args.cases:
            raise harness.Failure(f"{count} cases were run, not {self.args.cases}")

    def models(self):
        """In as many processes as there are cores; a process has every jobs-th case."""
        models = mutate.prepared_models()
        jobs, first = self.args.jobs, self.args.first
        packs = []
        for job in range(jobs):
            packs.append(self.folder / f"models-{job}.pack")
            write_pack(packs[-1], models, range(first + job, first + self.args.cases, jobs))
        with ThreadPoolExecutor(jobs) as pool:
            self.expect(sum(pool.map(lambda pack: replay("fuzz-model", "--pack", pack), packs)))

    def artifacts(self):
        """Of small models, of one with several kernels and of one with several shapes."""
        product = harness.product(self.args)
        seeds = []
        for name, content in mutate.seed_models()[::40]:
            model = self.folder / "seed.onnx"
            model.write_bytes(content)
            seeds.append(self.folder / f"{len(seeds)}.pasc")
            product.compile(model, seeds[-1])
        onnx.save(onnx.parser.parse_model(SEVERAL_SHAPES), self.folder / "sets.onnx")
        seeds.append(self.folder / "sets.pasc")
        product.compile(self.folder / "sets.onnx", seeds[-1], "--shape", "x=1x4,7x4,2x4")
        self.expect(replay("fuzz-artifact", "--first", self.args.first, "--cases",
                           self.args.cases, *seeds))

    def arrays(self):
        """Of several types, ranks and orders."""
        arrays = [np.zeros((2, 3), np.float32), np.asfortranarray(np.ones((3, 2, 2), np.float16)),
                  np.array(5, np.int64), np.zeros((0, 4), bool)]
        for i, array in enumerate(arrays):
            np.save(self.folder / f"{i}.npy", array)
        self.expect(replay("fuzz-npy", "--first", self.args.first, "--cases", self.args.cases,
                           *[self.folder / f"{i}.npy" for i in range(len(arrays))]))


def main():
    """Build, then the tests."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, default=CASES, help="how many of each")
    args = parser.parse_args()
    report = harness.Report(args)
    with harness.scratch() as folder:
        tests = Sanitized(args, folder)
        if report.run("sanitized/build", lambda: build(args.jobs), always=True):
            for name in ("arrays", "artifacts", "models"):
                start = time.perf_counter()
                report.run(f"sanitized/{name}", getattr(tests, name))
                print(f"sanitized: {name} took {time.perf_counter() - start:.0f} s", flush=True)
    report.finish()


if __name__ == "__main__":
    sys.exit(main())
