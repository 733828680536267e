#!/usr/bin/env python3
"""Every operator in small graphs: compiled, run, and compared with ONNX Runtime.

A case that the compiler refuses as unsupported is skipped, with its sentence, if unsupported.txt
names it; any other refusal fails. A case that passes although it is named there fails too: take
it off the list. So what is supported can only grow unnoticed, never shrink.
"""

import fnmatch
from pathlib import Path

import onnx

import harness
from cases import (contraction, convolution, half, layout, movement, pointwise, pooling,
                   reduction)

FAMILIES = [contraction, convolution, pooling, pointwise, reduction, movement, layout, half]
UNSUPPORTED = Path(__file__).parent / "unsupported.txt"
REFUSALS = ("not supported", "unsupported")


def read_patterns(path):
    """The patterns of case names in a file; # begins a comment."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def run_case(case, product, ptxas):
    """Compile, assemble, run and compare one case."""
    expected = case.expected()
    with harness.scratch() as folder:
        model, artifact = f"{folder}/model.onnx", f"{folder}/model.pasc"
        onnx.save(case.model, model)
        compile_supported(product, model, artifact)
        for ptx in product.extract_ptx(artifact, f"{folder}/ptx"):
            harness.expect_float_arithmetic(ptx)
            if ptxas:
                harness.assemble(ptxas, ptx)
        if case.launches is not None:
            expect_launches(product.inspect(artifact)["primary_launches"], case.launches)
        got = product.run(artifact, case.feeds, folder, case.outputs)
    for name in case.outputs:
        harness.expect_close(name, got[name], expected[name], **case.compare)


def expect_launches(count, most):
    """No more launches than allowed."""
    if count > most:
        raise harness.Failure(f"takes {count} launches a run; at most {most} are allowed")


def compile_supported(product, model, artifact):
    """Compile; a refusal for want of support is Skipped."""
    try:
        product.compile(model, artifact)
    except harness.Failure as failure:
        if any(words in str(failure) for words in REFUSALS):
            raise harness.Skipped(str(failure)) from failure
        raise


def checked(case, product, ptxas, patterns):
    """A test that holds a case to unsupported.txt."""
    listed = any(fnmatch.fnmatchcase(case.name, pattern) for pattern in patterns)

    def test():
        try:
            run_case(case, product, ptxas)
        except harness.Skipped as refusal:
            if not listed:
                raise harness.Failure(f"is refused: {refusal}") from refusal
            raise
        if listed:
            raise harness.Failure("passes; take it off unsupported.txt")
    return test


def main():
    """All families."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--no-ptxas", action="store_true", help="do not assemble the PTX")
    args = parser.parse_args()
    product, report = harness.product(args), harness.Report(args)
    ptxas = None if args.no_ptxas else harness.find_ptxas()
    patterns = read_patterns(UNSUPPORTED)
    cases = [case for family in FAMILIES for case in family.cases()]
    report.run_all([(case.name, checked(case, product, ptxas, patterns)) for case in cases],
                   args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
