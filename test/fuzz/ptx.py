#!/usr/bin/env python3
"""Mutated PTX on the emulator, loaded and launched, plain and sanitized: no crash, no hang.

    ptx.py [--cases N | --minutes M] [--first N] [--keep DIR] [--library FILE] [--preload FILE]

The texts are those that NVRTC makes of the kernels of test/emulator/cuda. A case is its number:
`--first 1234 --cases 1` makes the same one again; odd ones run under the sanitizer. Cases run in
child processes, of which a crash or a hang ends one and is a failure. What a mutated kernel
computes, and which error it ends with, is its own affair.

An emulator built with -DPASCALINE_SANITIZE=address,undefined (docs/emulator.md) has to be loaded
after its runtime: --preload "$(gcc -print-file-name=libasan.so)".
"""

import ctypes
import importlib
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "test/e2e"), str(ROOT / "test/emulator/cuda")]

import driver  # noqa: E402  (the path comes first)
import harness  # noqa: E402
import ptx_mutations  # noqa: E402

CASES = 300
BATCH = 50  # cases a child runs
HANG_S = 300  # of wall time without a word, on a busy machine
LAUNCH_S = "0.3"  # that a launch may take before the emulator ends it
BUFFER_BYTES = 4096
GRID, BLOCK = 3, 64
MOST_PARAM_BYTES = 8192  # twice what PTX allows, and so many parameters


def corpus(folder):
    """Write the PTX of every CUDA case; returns how many."""
    for cases in sorted((ROOT / "test/emulator/cuda").glob("cases_*.py")):
        importlib.import_module(cases.stem)  # fills driver.CASES
    compiler = driver.Compiler()
    for number, (name, (source, _)) in enumerate(driver.CASES.items()):
        ptx = compiler.ptx('extern "C" {' + source + "}", name + ".cu")
        (Path(folder) / f"{number:03}.ptx").write_bytes(ptx)
    return len(driver.CASES)


def text_of(folder, case):
    """The mutated text of a case."""
    chance = random.Random(case)
    files = sorted(Path(folder).glob("*.ptx"))
    return ptx_mutations.mutated(chance.choice(files).read_text(), chance)


def launch_all(device, text):
    """Load a text and launch its kernels, with pointers and with small numbers."""
    module = driver.Module(device, text.encode() + b"\0", "k")
    try:
        address = ctypes.c_uint64()
        device.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(BUFFER_BYTES))
        device.call("cuMemsetD8_v2", address, ctypes.c_ubyte(1), ctypes.c_size_t(BUFFER_BYTES // 2))
        # Every other parameter is 16 at first; whatever its size, there are bytes enough.
        pointer, number = (ctypes.create_string_buffer(value * (MOST_PARAM_BYTES // 8))
                           for value in (bytes(address), (16).to_bytes(8, "little")))
        for second in (number, pointer):
            pieces = map(ctypes.addressof, [pointer, second] * (MOST_PARAM_BYTES // 2))
            pointers = (ctypes.c_void_p * MOST_PARAM_BYTES)(*pieces)
            for name in sorted(set(_entries(text))):
                function = ctypes.c_void_p()
                device.call("cuModuleGetFunction", ctypes.byref(function), module.module,
                            name.encode())
                device.call("cuLaunchKernel", function, GRID, 1, 1, BLOCK, 1, 1, 1024, None,
                            pointers, None)
    finally:
        module.close()


def _entries(text):
    for line in text.split(".entry")[1:]:
        name = line.strip().split("(")[0].strip()
        if name.isidentifier():
            yield name


def child(library, folder, cases):
    """Run cases; says before each one which it is and after it what came of it."""
    device = driver.Device(library)
    for case in cases:
        print(case, flush=True)
        try:
            launch_all(device, text_of(folder, case))
            outcome = "done"
        except RuntimeError as error:
            outcome = "refused" if "cuModuleLoad" in str(error) else "failed"
        print(outcome, flush=True)


def run_batch(library, folder, cases, sanitize, preload=None):
    """Run cases in a child; returns (outcomes, the case that it died of or None, why)."""
    environment = dict(os.environ, PASCALINE_EMULATOR_TIMEOUT=LAUNCH_S,
                       PASCALINE_EMULATOR_CACHE="off",
                       PASCALINE_EMULATOR_SANITIZE="1" if sanitize else "0")
    if preload:  # NVRTC does not find its parts under ASan: in the children only
        environment.update(LD_PRELOAD=str(preload), ASAN_OPTIONS="detect_leaks=0")
    command = [sys.executable, __file__, "--child", str(library), str(folder),
               *map(str, cases)]
    outcomes, current = [], None
    with tempfile.TemporaryFile() as errors, subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, env=environment) as process:
        while select.select([process.stdout], [], [], HANG_S)[0]:
            word = process.stdout.readline().decode().strip()
            if not word:
                break
            if word.isdigit():
                current = int(word)
            else:
                outcomes.append(word)
                current = None
        else:
            process.kill()
            process.wait()
            return outcomes, current, f"no end after {HANG_S} s"
        code = process.wait()
        errors.seek(0)
        said = " ".join(errors.read().decode(errors="replace").split())[:600]
    if code == 0 and current is None and len(outcomes) == len(cases):
        return outcomes, None, ""
    return outcomes, current, f"exit status {code}: {said}"


def check(library, first, cases, minutes=0.0, keep=None, preload=None):
    """Run cases, or for some minutes; a Failure names those that crashed or hung."""
    end, bad, counts = time.monotonic() + minutes * 60, [], {}
    with tempfile.TemporaryDirectory() as folder:
        corpus(folder)
        case = first
        while case < first + cases or time.monotonic() < end:
            last = case + 2 * BATCH if minutes else min(case + 2 * BATCH, first + cases)
            for odd in (0, 1):
                batch = [n for n in range(case, last) if n % 2 == odd]
                while batch:
                    outcomes, died, why = run_batch(library, folder, batch, bool(odd), preload)
                    for outcome in outcomes:
                        counts[outcome] = counts.get(outcome, 0) + 1
                    if not why:
                        break
                    bad.append(f"case {died}: {why}")
                    print("ptx:", bad[-1], flush=True)
                    if keep and died is not None:
                        (Path(keep) / f"{died}.ptx").write_text(text_of(folder, died))
                    batch = batch[len(outcomes) + 1:]
            case = last
    print("ptx:", case - first, "cases:", counts, flush=True)
    if bad:
        raise harness.Failure("; ".join(bad))
    for outcome in ("done", "refused", "failed"):
        if cases >= CASES and not counts.get(outcome):
            raise harness.Failure(f"no case was {outcome}, so the mutations test little")


def main():
    """Run the chosen cases and report."""
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], sys.argv[3], map(int, sys.argv[4:]))
        return
    parser = harness.arguments(__doc__)
    parser.add_argument("--library", type=Path, default=ROOT / "build/lib/libpascaline-emulator.so")
    parser.add_argument("--first", type=int, default=0, metavar="N")
    parser.add_argument("--cases", type=int, default=CASES, metavar="N")
    parser.add_argument("--minutes", type=float, default=0.0, metavar="M",
                        help="go on for so long")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where to leave what failed")
    parser.add_argument("--preload", type=Path, metavar="FILE", help="loaded before the emulator")
    args = parser.parse_args()
    report = harness.Report(args)
    report.run("mutated-ptx", lambda: check(args.library, args.first, args.cases, args.minutes,
                                            args.keep, args.preload))
    report.finish()


if __name__ == "__main__":
    main()
