#!/usr/bin/env python3
"""The official ONNX node tests through pascaline.backend, with onnx's own tolerances.

A test that the compiler refuses is skipped, with its sentence, if conformance-refused.txt names
it; any other refusal fails, and so does a test that passes although it is named there. `--update`
rewrites that list. Tests run in worker processes: a crash or a hang fails the test it hits, and
the others go on.
"""

import itertools
import multiprocessing
import os
import signal
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx.backend.test.loader import load_model_tests

import harness

REFUSED = Path(__file__).with_name("conformance-refused.txt")
CHUNK = 24
TEST_TIMEOUT_S = 120
sys.path.insert(0, str(harness.ROOT / "runtime/python"))


def check(got, wanted, case):
    """As onnx's own runner compares."""
    if len(got) != len(wanted):
        raise harness.Failure(f"{len(got)} outputs, should be {len(wanted)}")
    for index, (array, reference) in enumerate(zip(got, wanted)):
        if isinstance(reference, onnx.TensorProto):
            reference = onnx.numpy_helper.to_array(reference)
        reference, rtol = np.asarray(reference), case.rtol or 0
        # An operator that is spelled out rounds after each step: two units of a short float.
        name = reference.dtype.name
        rtol = max(rtol, {"float16": 2**-9, "bfloat16": 2**-6}.get(name, 0))
        if name == "bfloat16" and array.dtype == reference.dtype:
            array, reference = array.astype(np.float32), reference.astype(np.float32)
        harness.expect_close(f"output {index}", array, reference, rtol, atol_of_range=0,
                             atol=case.atol or 0)


def run_case(case):
    """("PASS" | "FAIL" | "REFUSED", sentence) of one test."""
    import pascaline.backend  # pylint: disable=import-outside-toplevel
    try:
        model = pascaline.backend.prepare(case.model, "CPU")
        for inputs, outputs in case.data_sets:
            check(model.run(list(inputs)), list(outputs), case)
    except pascaline.Refused as refusal:
        return "REFUSED", str(refusal)
    except harness.Failure as failure:
        return "FAIL", str(failure)
    except Exception as error:  # pylint: disable=broad-except
        return "FAIL", f"{type(error).__name__}: {error}"
    return "PASS", ""


def work(cases, pipe):
    """A worker: the result of each case as soon as it is known."""
    warnings.simplefilter("ignore")
    for case in cases:
        pipe.send(run_case(case))
    pipe.close()


def run_chunk(cases):
    """Results of some cases, in order, whatever happens to the workers."""
    context, results = multiprocessing.get_context("fork"), []
    while len(results) < len(cases):
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=work, args=(cases[len(results):], theirs))
        worker.start()
        theirs.close()
        reason = ""
        try:
            while len(results) < len(cases):
                if not ours.poll(TEST_TIMEOUT_S):
                    reason = f"no end after {TEST_TIMEOUT_S} s"
                    worker.kill()
                    break
                results.append(ours.recv())
        except EOFError:
            pass
        worker.join()
        if len(results) < len(cases):
            code = worker.exitcode
            results.append(("FAIL", reason or (
                f"the worker was killed by {signal.Signals(-code).name}" if code < 0
                else f"the worker ended with exit {code}")))
    return results


def read_list():
    """Names in conformance-refused.txt."""
    if not REFUSED.exists():
        return set()
    lines = REFUSED.read_text(encoding="utf-8").splitlines()
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def write_list(names):
    """The names of refused tests, one a line."""
    REFUSED.write_text("# Tests that the compiler refuses; written by conformance.py --update.\n"
                       + "".join(f"{name}\n" for name in sorted(names)), encoding="utf-8")


def judged(result, listed):
    """A test for the report."""
    code, sentence = result

    def test():
        if code == "FAIL":
            raise harness.Failure(sentence)
        if code == "REFUSED" and not listed:
            raise harness.Failure(f"is refused: {sentence}")
        if code == "REFUSED":
            raise harness.Skipped(sentence)
        if listed:
            raise harness.Failure(f"passes; take it off {REFUSED.name}")
    return test


def main():
    """All node tests."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--update", action="store_true", help=f"rewrite {REFUSED.name}")
    args = parser.parse_args()
    os.environ.setdefault("PASCALINE_LIBRARY_DIR", str(args.bin.resolve().parent / "lib"))
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    cases = [case for case in load_model_tests(kind="node")
             if not args.only or any(word in case.name for word in args.only)]
    start = time.perf_counter()
    chunks = [list(group) for _, group in itertools.groupby(
        cases, lambda case, number=itertools.count(): next(number) // CHUNK)]
    with ThreadPoolExecutor(args.jobs) as pool:
        results = list(itertools.chain.from_iterable(pool.map(run_chunk, chunks)))
    named = {case.name: result for case, result in zip(cases, results)}
    if args.update:
        kept = read_list() - set(named)
        write_list(kept | {name for name, (code, _) in named.items() if code == "REFUSED"})
    listed, report = read_list(), harness.Report(args)
    for name, result in named.items():
        report.run(name, judged(result, name in listed), always=True)
    print(f"conformance: {len(named)} tests in {time.perf_counter() - start:.0f} s")
    report.finish()


if __name__ == "__main__":
    main()
