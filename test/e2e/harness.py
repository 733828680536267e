"""What the end-to-end tests share: the two commands, comparison, and results.

A test is a name and a function that returns nothing if it passes, raises Failure with one
sentence if it fails, or Skipped if the product says that it does not support the case. A
skipped test never counts as passed.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test/models"))

from modelpack import reference, tolerance  # noqa: E402,F401  (the path comes first)

TIMEOUT_S = 600
PLAIN_NAME_LENGTH = 151
HALF_ARITHMETIC = re.compile(
    r"^\s*(?:@!?%\w+ )?(?:add|sub|mul|fma|neg|abs|min|max|setp|set)\.\S*f16", re.MULTILINE)


class Failure(Exception):
    """The product did something wrong; the message says what."""


class Skipped(Exception):
    """The product refused the case as unsupported; the message is its sentence."""


class Product:
    """The compiler and the runtime's tool, as a user calls them."""

    def __init__(self, binaries, device="emulator", sanitize=False):
        self.compiler = str(Path(binaries) / "pascaline-compile")
        self.tool = str(Path(binaries) / "pascaline")
        self.device, self.sanitize = device, sanitize

    def compile(self, model, output, *options):
        """Compile a file; a Failure unless it works."""
        return self._succeed([self.compiler, str(model), "-o", str(output), *options])

    def run(self, artifact, feeds, folder, outputs):
        """Run a compiled model; returns output name -> array."""
        arguments = []
        for i, (name, array) in enumerate(feeds.items()):
            path = Path(folder) / f"feed_{i}.npy"
            np.save(path, array)
            arguments += ["--input", f"{name}={path}"]
        return self.run_files(artifact, arguments, Path(folder) / "out", outputs)

    def run_files(self, artifact, arguments, folder, outputs):
        """Run with ready --input arguments; returns output name -> array."""
        command = [self.tool, "run", str(artifact), *arguments, "--output-dir", str(folder),
                   "--device", self.device]
        if self.sanitize:
            command.append("--sanitize")
        self._succeed(command)
        return {name: np.load(folder / output_file(name, i)) for i, name in enumerate(outputs)}

    def inspect(self, artifact):
        """What `pascaline inspect --json` says."""
        return json.loads(self._succeed([self.tool, "inspect", str(artifact), "--json"]).stdout)

    def extract_ptx(self, artifact, folder):
        """The PTX files of an artifact."""
        self._succeed([self.tool, "inspect", str(artifact), "--extract-ptx", str(folder)])
        return sorted(Path(folder).glob("*.ptx"))

    def bench(self, artifact, report, *options):
        """What `pascaline bench --json` writes."""
        self._succeed([self.tool, "bench", str(artifact), "--device", self.device,
                       "--json", str(report), *options])
        return json.loads(Path(report).read_text(encoding="utf-8"))

    def _succeed(self, command):
        result = call(command)
        if result.returncode != 0:
            raise Failure(f"{Path(command[0]).name}: {describe_exit(result)}")
        return result


def call(command, timeout=TIMEOUT_S):
    """Run a command; its output as text."""
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=timeout, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{Path(command[0]).name}: no end after {timeout} s") from error
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}; build it first") from error


def describe_exit(result):
    """How a process ended, in a sentence."""
    last = result.stderr.strip().splitlines()[-1:] or ["nothing on stderr"]
    if result.returncode < 0:
        return f"killed by {signal.Signals(-result.returncode).name}: {last[0]}"
    return f"exit {result.returncode}: {last[0]}"


def output_file(name, index):
    """The file in which `pascaline run` leaves an output."""
    plain = (0 < len(name) <= PLAIN_NAME_LENGTH and name[0] not in ".-"
             and all(c.isascii() and (c.isalnum() or c in "_.-") for c in name))
    return f"{name}.npy" if plain else f"output_{index}.npy"


def expect_close(name, got, reference, rtol=1e-4, atol_of_range=1e-5, atol=0.0, exact=None):
    """Type, shape and values; integers exactly unless exact is False."""
    if got.dtype != reference.dtype or got.shape != reference.shape:
        raise Failure(f"{name}: is {got.dtype}{list(got.shape)}, "
                      f"should be {reference.dtype}{list(reference.shape)}")
    if exact or (exact is None and reference.dtype.kind != "f"):
        if not np.array_equal(got, reference, equal_nan=reference.dtype.kind == "f"):
            raise Failure(f"{name}: {np.sum(got != reference)} of {got.size} values differ; "
                          + first_difference(got, reference, got != reference))
        return
    atol += atol_of_range * tolerance.value_range(reference)
    passes, worst = tolerance.close(got, reference, rtol, atol)
    if not passes:
        wide = reference.astype(np.float64)
        wrong = ~np.isclose(got.astype(np.float64), wide, rtol=rtol, atol=atol, equal_nan=True)
        raise Failure(f"{name}: worst error {worst:.3g} of {wrong.sum()} wrong values; "
                      + first_difference(got, reference, wrong))


def first_difference(got, reference, wrong):
    """Where an output first goes wrong."""
    if not wrong.any():
        return "no single value stands out"
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"at {list(index)} is {got[index]!s}, should be {reference[index]!s}"


class Report:
    """Runs tests and prints a line for each one that does not pass."""

    def __init__(self, args):
        self.args, self.tests = args, []

    def run(self, name, function, always=False):
        """Run one test here and now, if it was chosen; whether it did not fail."""
        if not always and not self._is_chosen(name):
            return True
        outcome = _outcome(function)
        self._note(name, *outcome)
        return outcome[0] == "PASS"

    def run_all(self, named, jobs):
        """Run tests of the form (name, function) side by side, reported in order."""
        chosen = [(name, function) for name, function in named if self._is_chosen(name)]
        with ThreadPoolExecutor(jobs) as pool:
            outcomes = pool.map(lambda item: _outcome(item[1]), chosen)
            for (name, _), outcome in zip(chosen, outcomes):
                self._note(name, *outcome)

    def run_methods(self, tests):
        """Run an object's methods of the name test_..., one after the other."""
        for name in dir(tests):
            if name.startswith("test_"):
                self.run(name[5:], getattr(tests, name))

    def _is_chosen(self, name):
        return not self.args.only or any(word in name for word in self.args.only)

    def _note(self, name, code, sentence, seconds):
        self.tests.append({"name": name, "code": code, "output": sentence, "elapsed": seconds})
        if code != "PASS" or self.args.verbose:
            print(f"{code:5s} {name} ({seconds:.1f} s){': ' if sentence else ''}{sentence}",
                  flush=True)

    def finish(self):
        """Write the results, print the counts, and exit."""
        codes = [test["code"] for test in self.tests]
        passed, skipped = codes.count("PASS"), codes.count("SKIPPED")
        failed = len(codes) - passed - skipped
        if self.args.json:
            self.args.json.parent.mkdir(parents=True, exist_ok=True)
            self.args.json.write_text(json.dumps({"tests": self.tests}, indent=1),
                                      encoding="utf-8")
        print(f"{Path(sys.argv[0]).stem}: {passed} passed, {failed} failed, {skipped} skipped")
        sys.exit(1 if failed or not passed else 0)


def _outcome(function):
    start = time.perf_counter()
    try:
        function()
        code, sentence = "PASS", ""
    except Failure as error:
        code, sentence = "FAIL", str(error)
    except Skipped as error:
        code, sentence = "SKIPPED", str(error)
    except Exception as error:  # noqa: BLE001  a fault of the test itself is a failure too
        code, sentence = "FAIL", f"{type(error).__name__}: {error}"
    return code, sentence, time.perf_counter() - start


def arguments(description):
    """The parser that every script here starts from."""
    parser = argparse.ArgumentParser(description=description.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", metavar="DIR",
                        help="where the two commands are (default: build/bin)")
    parser.add_argument("--device", default="emulator", help="as in pascaline run")
    parser.add_argument("--sanitize", action="store_true", help="run under the sanitizer")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="tests whose name has a word")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    parser.add_argument("-v", "--verbose", action="store_true", help="name passing tests too")
    return parser


def product(args):
    """The product that the arguments choose."""
    return Product(args.bin, args.device, args.sanitize)


def scratch():
    """A temporary folder."""
    return tempfile.TemporaryDirectory(prefix="pascaline-")


def assemble(ptxas, ptx):
    """Assemble for sm_61; returns what ptxas says about each kernel's memory."""
    with scratch() as folder:
        result = call([str(ptxas), "-arch=sm_61", "-v", str(ptx), "-o", f"{folder}/out.cubin"])
    if result.returncode != 0:
        raise Failure(f"ptxas refuses {Path(ptx).name}: {describe_exit(result)}")
    return result.stderr


def expect_float_arithmetic(ptx):
    """No instruction of a PTX file computes on halves: sm_61 does so at 1/64 of its float rate."""
    half = HALF_ARITHMETIC.search(Path(ptx).read_text(encoding="utf-8"))
    if half:
        raise Failure(f"{Path(ptx).name}: half arithmetic: {half.group().strip()}")


def find_ptxas():
    """NVIDIA's assembler in the tests' venv, or None."""
    return next((ROOT / "build/venv/lib").glob(
        "python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas"), None)
