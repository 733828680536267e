"""How close a compiler's outputs must come to the reference.

Rules are derived from measurements, then written to the manifest:

fp32    |got - ref| <= atol + rtol * |ref|, with rtol 1e-3 and atol 1e-4 of the output's range,
        widened to 10 x the spread that mere rounding causes. A NaN or an infinity must be
        where the reference has it.
fp16    where tensors are stored as half: cosine >= 0.999 and max |got - ref| <= 1e-2 of the
        range.
exact   bool and integer outputs are equal.
"""

import math

import numpy as np

RTOL, ATOL_OF_RANGE, FP32_MARGIN = 1e-3, 1e-4, 10
FP16_MAX_OF_RANGE, FP16_MIN_COSINE = 1e-2, 0.999


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
        return close_half(got, reference)
    return close(got, reference, **rule["fp32"])


def close_half(got, reference):
    """(passes, worst error) of an output computed from tensors that were stored as half."""
    worst = _worst(got, reference)
    flat, expected = (a.astype(np.float64).ravel() for a in (got, reference))
    lengths = np.linalg.norm(flat) * np.linalg.norm(expected)
    alike = lengths == 0 or flat @ expected / lengths >= FP16_MIN_COSINE
    return bool(alike and worst <= FP16_MAX_OF_RANGE * value_range(reference)), worst


def close(got, reference, rtol, atol):
    """(passes, worst error): floats within bounds, the special values in the same places."""
    got, reference = got.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(reference)
    if not np.array_equal(got[~finite], reference[~finite], equal_nan=True):
        return False, math.inf
    error = np.abs(got[finite] - reference[finite])
    worst = float(error.max(initial=0.0))
    bound = atol + rtol * np.abs(reference[finite])
    return bool((error <= bound).all()), worst  # a NaN in got compares false


def derive(reference, runs, parts=None):
    """The rules of one output.

    runs are harmless variations of the reference run; parts maps a label to (axis, start, stop)
    for outputs that mix units.
    """
    if reference.dtype.kind != "f":
        return [{"part": "all", "exact": True}]
    regions = parts or {"all": (None, None, None)}
    return [_rule(label, region, reference, runs) for label, region in regions.items()]


def _rule(label, region, reference, runs):
    axis, start, stop = region
    rule = {"part": label}
    if axis is not None:
        rule.update(axis=axis, start=start, stop=stop)
    expected = part(reference, rule)
    spread = max((_worst(part(r, rule), expected) for r in runs), default=0.0)
    scale = value_range(expected)
    rule.update(range=scale, measured_spread=spread)
    rule["fp32"] = {"rtol": RTOL, "atol": max(ATOL_OF_RANGE * scale, FP32_MARGIN * spread)}
    return rule


def _worst(got, expected):
    difference = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    return float(difference.max(initial=0.0))


def value_range(array):
    """Largest minus smallest finite value, or the magnitude if there is only one value."""
    values = array[np.isfinite(array)].astype(np.float64)
    if values.size == 0:
        return 1.0
    return float(np.ptp(values) or np.abs(values).max() or 1.0)
