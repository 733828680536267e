"""python -m pascaline: the commands of the Python package."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from typing import Optional, Sequence

import numpy as np

from . import _tolerance
from ._libraries import Error

_DONE, _REFUSED, _WRONG_USAGE = 0, 1, 2
_RULE = f"""\
A tensor of floats passes under fp32 where |got - reference| <= atol + rtol * |reference| in every
element, with rtol {_tolerance.RTOL:g} and atol {_tolerance.ATOL_OF_RANGE:g} of the reference's
range, or {_tolerance.FP32_MARGIN} x what one-ulp changes of inputs and weights move it by, if that
is more; NaN and infinities must be where the reference has them. Under fp16, and for tensors that
are half in the model: a cosine of {_tolerance.FP16_MIN_COSINE:g} at least and no difference above
{_tolerance.FP16_MAX_OF_RANGE:g} of the range, or no difference above 2^-10 of the largest number,
which is what two roundings to half make. Other tensors must be equal. The exit status is 0
where all pass, 1 where one does not or the check cannot be made, 2 for wrong usage."""


def _shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, equals, sizes = text.rpartition("=")
    try:
        if not equals:
            raise ValueError
        return name, tuple(int(size) for size in sizes.split("x")) if sizes else ()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text}: write NAME=1x3x224x224, or NAME= for a scalar")


def _file(text: str) -> tuple[str, str]:
    name, equals, path = text.rpartition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text}: write NAME=FILE.npy")
    return name, path


def _load(path: str) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise Error(f"{path}: cannot be read as .npy: {error}") from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m pascaline", allow_abbrev=False)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check", allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter,
        help="compare every tensor of a run with ONNX Runtime's",
        description="Compares every tensor of a model's run with ONNX Runtime's, and names the "
                    "first node that differs.", epilog=textwrap.fill(_RULE, 99))
    check.set_defaults(command=_check)
    check.add_argument("model", metavar="MODEL.onnx")
    check.add_argument("--input", action="append", default=[], type=_file,
                       metavar="NAME=FILE.npy", help="an input's values; others are made up")
    check.add_argument("--seed", type=int, default=1, metavar="N",
                       help="of the values that are made up (default 1): floats normally "
                            "distributed, indices of a constant table within it, other integers 0 "
                            "to 7, bytes over their whole range")
    check.add_argument("--shape", action="append", default=[], type=_shape,
                       metavar="NAME=1x3x224x224", help="bind an input's dimensions")
    check.add_argument("--precision", choices=["fp32", "fp16"], default="fp32")
    check.add_argument("--device", default="auto", help="auto, gpu, gpu:N or emulator")
    check.add_argument("--skip-pass", action="append", default=[], metavar="NAME",
                       help="compile without an optional pass")
    check.add_argument("--bisect-passes", action="store_true",
                       help="name the pass with which the first difference appears")
    check.add_argument("--worst", type=int, default=10, metavar="N",
                       help="how many tensors the table shows (default 10)")
    check.add_argument("--json", action="store_true", help="print JSON instead of the table")
    return parser


def _check(args: argparse.Namespace) -> int:
    from ._check import Checker  # pylint: disable=import-outside-toplevel
    from ._onnx_graph import Graph, make_feeds, open_inputs  # pylint: disable=import-outside-toplevel
    graph = Graph(args.model)
    given = {name: _load(path) for name, path in args.input}
    feeds = make_feeds(graph, given, dict(args.shape), args.seed)
    shapes = {name: feeds[name].shape for name in open_inputs(graph)}
    checker = Checker(args.model, graph, feeds, shapes, precision=args.precision,
                      device=args.device, skip_passes=args.skip_pass, say=_progress)
    result = checker.run()
    if args.bisect_passes and not result.passes:
        checker.bisect(result)
    _progress("")
    print(json.dumps(_as_json(args, result), indent=1) if args.json
          else _as_text(args, result))
    return _DONE if result.passes else _REFUSED


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _as_json(args: argparse.Namespace, result) -> dict:
    def verdict(each):
        return {"tensor": each.tensor, "node": each.node, "op": each.op, "passes": each.passes,
                "error": _number(each.error), "of_range": _number(each.of_range),
                "where": each.where}
    kernel = result.kernel
    return {"model": args.model, "precision": args.precision, "device": result.device,
            "passes": result.passes, "compared": len(result.verdicts),
            "not_compared": result.skipped, "launches": result.launches,
            "first": result.first and verdict(result.first),
            "symptom": result.symptom and verdict(result.symptom),
            "kernel": kernel and {"name": kernel.kernel, "nodes": list(kernel.nodes)},
            "reason": result.reason, "pass": result.wrong_pass,
            "tensors": [verdict(each) for each in result.verdicts]}


def _number(value: float):
    """JSON has no NaN and no infinity."""
    return value if np.isfinite(value) else str(value)


def _as_text(args: argparse.Namespace, result) -> str:
    in_plan = sum(each.where == "plan" for each in result.verdicts)
    lines = [f"{args.model}, {args.precision}, {result.device}",
             f"{len(result.verdicts)} tensors compared, {in_plan} of them as the {result.launches} "
             "launches of the plan leave them, the others with kernels broken up"]
    if result.skipped:
        lines.append(f"{len(result.skipped)} tensors are of types that are not compared")
    worst = sorted(result.verdicts, key=lambda each: (each.passes, -_sortable(each.of_range)))
    lines.append(f"{'':4s} {'of range':>9s} {'error':>9s}  node (operator): tensor")
    for each in worst[:max(args.worst, 0)]:
        lines.append(f"{'' if each.passes else 'BAD':4s} {each.of_range:9.2e} {each.error:9.2e}  "
                     f"{each.node} ({each.op}): {each.tensor}")
    first = result.first
    if first is None:
        return "\n".join([*lines, "every tensor is within its tolerance"])
    bad = sum(not each.passes for each in result.verdicts)
    lines.append(f"{bad} tensors differ; the first is {first.tensor} of node \"{first.node}\" "
                 f"({first.op}): largest error {first.error:.3g}, {first.of_range:.3g} of its range")
    if result.kernel:
        lines.append(f"kernel {result.kernel.kernel}: {', '.join(result.kernel.nodes)}")
    lines.append(result.reason)
    if args.bisect_passes:
        lines.append(f"the pass with which it appears: {result.wrong_pass}" if result.wrong_pass
                     else "it is there without any optional pass: the fault is in the import, in "
                          "kernel generation or below")
    return "\n".join(lines)


def _sortable(value: float) -> float:
    return float("inf") if np.isnan(value) else value


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs a command; its exit status."""
    args = _parser().parse_args(arguments)
    try:
        return args.command(args)
    except Error as error:
        _progress("")
        print(f"pascaline: {error}", file=sys.stderr)
        return _REFUSED


if __name__ == "__main__":
    sys.exit(main())
