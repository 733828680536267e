"""How close a compiler's outputs must come to the reference.

Rules are derived from measurements, then written to the manifest: how far rounding moves an output,
and how far storing every tensor as half does. Where the latter run's cosine is below 0.99 there is
no fp16 rule: such an output needs float somewhere.
The bounds and the comparison are the package's, pascaline._tolerance, which says them.
"""

import math
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "runtime/python"))

from pascaline._tolerance import (  # noqa: E402  (the path comes first)
    RTOL, absolute, close, close_half, cosine, value_range, worst)

HOPELESS_COSINE = 0.99


def part(array, rule):
    """The part of an output that a rule covers (outputs may mix units, e.g. boxes and scores)."""
    if rule.get("axis") is None:
        return array
    return np.take(array, range(rule["start"], rule["stop"]), axis=rule["axis"])


def check(got, reference, rule, precision="fp32"):
    """(passes, worst error) of an output under one rule."""
    got, reference = part(np.asarray(got), rule), part(np.asarray(reference), rule)
    if got.shape != reference.shape or got.dtype != reference.dtype:
        return False, math.inf
    if rule.get("exact"):
        return bool(np.array_equal(got, reference)), float(np.sum(got != reference))
    if precision == "fp16":
        return close_half(got, reference, **rule["fp16"])
    return close(got, reference, **rule["fp32"])


def derive(reference, runs, half, parts=None, is_half=False):
    """The rules of one output.

    runs are harmless variations of the reference run, half one whose tensors are stored as half;
    is_half says that the graph's own are (then half has them as float, and there is no fp32 rule).
    parts maps a label to (axis, start, stop) for outputs that mix units.
    """
    if reference.dtype.kind != "f":
        return [{"part": "all", "exact": True}]
    regions = parts or {"all": (None, None, None)}
    return [_rule(label, region, reference, runs, half, is_half)
            for label, region in regions.items()]


def _rule(label, region, reference, runs, half, is_half):
    axis, start, stop = region
    rule = {"part": label}
    if axis is not None:
        rule.update(axis=axis, start=start, stop=stop)
    expected = part(reference, rule)
    spread = max((worst(part(r, rule), expected) for r in runs), default=0.0)
    scale = value_range(expected)
    rule.update(range=scale, measured_spread=spread)
    if not is_half:
        rule["fp32"] = {"rtol": RTOL, "atol": absolute(expected, spread)}
    stored = part(half, rule)
    if cosine(stored, expected) >= HOPELESS_COSINE:
        rule["fp16"] = {"stored_error": worst(stored, expected),
                        "stored_cosine": cosine(stored, expected)}
    return rule
