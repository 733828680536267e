#!/usr/bin/env python3
"""Real models end to end: right answers, the same bytes twice, PTX that NVIDIA's assembler takes.

    run.py                    the models of modelpack/catalogue.py's TESTED
    run.py --models NAME...   others of the catalogue

A model's tests are named <model>/<what>; build/models keeps what was downloaded.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/e2e"))

import harness  # noqa: E402  (the path comes first)
from report import check_report  # noqa: E402
from fetch import open_store  # noqa: E402
from modelpack import tolerance  # noqa: E402
from modelpack.catalogue import CATALOGUE, TESTED, find  # noqa: E402

# Launches a run, without those at load and without the sums of split products.
MOST_LAUNCHES = {"opennsfw_resnet50": 60}
REPEAT_BELOW_GMAC = 0.5  # a second run of a larger model would cost too much time
MOST_OF_FLOAT = 0.55  # weights and arena of a model stored as half
NEAR = 1.05  # an arena over the largest sum of live bytes
MEMORY = re.compile(r"(\d+) bytes (stack frame|spill stores|spill loads)")


class ModelTests:
    """The tests of one model; a compile serves all of them."""

    def __init__(self, spec, product, report, store, folder):
        self.name, self.product, self.report = spec.name, product, report
        self.spec, self.store, self.folder = spec, store, Path(folder)
        self.artifact = self.folder / "model.pasc"

    def run(self):
        """Fetch and compile, then the rest, which needs both."""
        if not self._test("compiles", self.compiles):
            return
        self._test("same-bytes", self.same_bytes)
        self._test("ptx", self.ptx)
        if self.name in MOST_LAUNCHES:
            self._test("launches", self.launches)
        self._test("memory", self.memory)
        self._test("report", self.report_complete)
        self._test("right", self.right)
        if self.manifest["gmac"] < REPEAT_BELOW_GMAC:
            self._test("same-bits", self.same_bits)
        if not self.manifest["is_half"]:
            self._test("fp16", self.fp16)

    def _test(self, what, function):
        """Run one test; whether it passed."""
        return self.report.run(f"{self.name}/{what}", function, always=what == "compiles")

    def compiles(self):
        """Fetch the model and compile it."""
        self.bundle, self.manifest = self.store.bundle(self.spec)
        start = time.perf_counter()
        self.product.compile(self.bundle / "model.onnx", self.artifact)
        self._say(f"compiled in {time.perf_counter() - start:.1f} s")

    def same_bytes(self):
        """A second compile gives the same file."""
        again = self.folder / "again.pasc"
        self.product.compile(self.bundle / "model.onnx", again)
        first, second = self.artifact.read_bytes(), again.read_bytes()
        if first != second:
            same = next((i for i, (a, b) in enumerate(zip(first, second)) if a != b),
                        min(len(first), len(second)))
            raise harness.Failure(f"two compiles differ from byte {same} on "
                                  f"({len(first)} and {len(second)} bytes)")

    def ptx(self):
        """ptxas assembles it, nothing is spilled, and no arithmetic is done in half precision."""
        self._check_ptx(self.artifact, "ptx")

    def _check_ptx(self, artifact, label):
        ptxas = harness.find_ptxas()
        if not ptxas:
            raise harness.Failure("ptxas is not in build/venv; run tools/setup.sh")
        files = self.product.extract_ptx(artifact, self.folder / label)
        if not files:
            raise harness.Failure("the artifact has no PTX")
        for file in files:
            says = harness.assemble(ptxas, file)
            for count, what in MEMORY.findall(says):
                if int(count):
                    raise harness.Failure(f"{file.name}: {count} bytes {what} in "
                                          + ", ".join(kernels_with_memory(says)))
            harness.expect_float_arithmetic(file)

    def fp16(self):
        """Stored as half: within its tolerance, half the memory, float arithmetic, no launch more."""
        floats = self.product.inspect(self.artifact)
        half = self.folder / "half.pasc"
        self.product.compile(self.bundle / "model.onnx", half, "--precision", "fp16")
        halves = self.product.inspect(half)
        self._check_memory(halves["memory"])
        for what in ("weights", "arena"):
            share = halves["memory"][what] / max(1, floats["memory"][what])
            self._say(f"fp16 {what}: {share:.3f} of fp32's")
            if share > MOST_OF_FLOAT:
                raise harness.Failure(f"{what} are {share:.3f} of fp32's; at most {MOST_OF_FLOAT} "
                                      "is allowed")
        if halves["primary_launches"] > floats["primary_launches"]:
            raise harness.Failure(f"{halves['primary_launches']} primary launches, more than "
                                  f"fp32's {floats['primary_launches']}")
        self._check_ptx(half, "ptx-half")
        self._check_outputs(half, "half", "fp16")

    def launches(self):
        """No more launches than the model needs."""
        count = self.product.inspect(self.artifact)["primary_launches"]
        self._say(f"{count} primary launches")
        if count > MOST_LAUNCHES[self.name]:
            raise harness.Failure(f"{count} primary launches; at most "
                                  f"{MOST_LAUNCHES[self.name]} are allowed")

    def memory(self):
        """The arena is near its bound and no more than ONNX's own order needs."""
        self._check_memory(self.product.inspect(self.artifact)["memory"])

    def _check_memory(self, memory):
        self._say(f"arena {memory['arena']}, lower bound {memory['lower_bound']}, ONNX's order "
                  f"{memory['onnx_order']}")
        if memory["arena"] > NEAR * memory["lower_bound"]:
            raise harness.Failure(f"the arena of {memory['arena']} is more than {NEAR} times its "
                                  f"bound of {memory['lower_bound']}")
        if memory["arena"] > memory["onnx_order"]:
            raise harness.Failure(f"the arena of {memory['arena']} is more than the "
                                  f"{memory['onnx_order']} that ONNX's order needs")

    def report_complete(self):
        """The report has every node once, with what became of it and why."""
        path = self.folder / "report.json"
        self.product.compile(self.bundle / "model.onnx", self.folder / "reported.pasc",
                             "--report", path)
        nodes = onnx.load(self.bundle / "model.onnx", load_external_data=False).graph.node
        names = [node.name or f"{node.op_type} #{i}" for i, node in enumerate(nodes)]
        check_report(json.loads(path.read_text(encoding="utf-8")), names)

    def right(self):
        """The outputs are within the manifest's tolerance."""
        self._check_outputs(self.artifact, "first",
                            "fp16" if self.manifest["is_half"] else "fp32")

    def _check_outputs(self, artifact, label, precision):
        start = time.perf_counter()
        got = self._run(label, artifact)
        self._say(f"ran in {time.perf_counter() - start:.1f} s, {self.manifest['gmac']:.2f} GMAC")
        problems = []
        for output in self.manifest["outputs"]:
            reference = np.load(self.bundle / output["file"])
            for rule in output["tolerance"]:
                if precision not in rule and "exact" not in rule:
                    problems.append(f"{output['name']} has no rule for {precision}")
                    continue
                passes, worst = tolerance.check(got[output["name"]], reference, rule,
                                                 precision)
                self._say(f"{output['name']}, {rule['part']}: worst error {worst:.3g}")
                if not passes:
                    problems.append(f"{output['name']} ({rule['part']}): worst error {worst:.3g} "
                                    f"is outside {precision}'s bound, see tolerance.py")
        if problems:
            raise harness.Failure("; ".join(problems))

    def same_bits(self):
        """A second run gives the same bits."""
        first, second = self._run("first"), self._run("second")
        for name, array in first.items():
            if array.tobytes() != second[name].tobytes():
                raise harness.Failure(f"{name}: two runs differ")

    def _run(self, label, artifact=None):
        arguments = []
        for entry in self.manifest["inputs"]:
            arguments += ["--input", f"{entry['name']}={self.bundle / entry['file']}"]
        return self.product.run_files(artifact or self.artifact, arguments, self.folder / label,
                                      [output["name"] for output in self.manifest["outputs"]])

    def _say(self, sentence):
        print(f"{self.name}: {sentence}", flush=True)


def kernels_with_memory(says):
    """The kernels of a ptxas report that use local memory."""
    blocks = re.findall(r"Function properties for (\S+)\n\s*(.*)", says)
    return [name for name, line in blocks if any(int(n) for n, _ in MEMORY.findall(line))]


def main():
    """The chosen models, one after the other: the emulator uses all cores by itself."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--models", nargs="+", default=TESTED, metavar="NAME",
                        choices=[spec.name for spec in CATALOGUE])
    args = parser.parse_args()
    product, report, store = harness.product(args), harness.Report(args), open_store()
    for name in args.models:
        with harness.scratch() as folder:
            ModelTests(find(name), product, report, store, folder).run()
    report.finish()


if __name__ == "__main__":
    main()
