"""How close a tensor must come to its reference. The project's model tests and `check` share it.

fp32    |got - ref| <= atol + rtol * |ref|, with rtol 1e-3 and atol 1e-4 of the tensor's range,
        widened to 10 x the spread that mere rounding causes. A NaN or an infinity must be where
        the reference has it.
fp16    where tensors are stored as half: cosine >= 0.999 and max |got - ref| <= 1e-2 of the
        range; widened, where a reference run with all tensors stored as half was made, to 3 x
        its error and its cosine's distance from 1.
exact   bool and integer tensors are equal.
"""

from __future__ import annotations

import numpy as np

RTOL, ATOL_OF_RANGE, FP32_MARGIN = 1e-3, 1e-4, 10
FP16_MAX_OF_RANGE, FP16_MIN_COSINE, FP16_MARGIN = 1e-2, 0.999, 3


def close(got: np.ndarray, reference: np.ndarray, rtol: float, atol: float) -> tuple[bool, float]:
    """(passes, worst error): floats within bounds, the special values in the same places."""
    got, reference = got.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(reference)
    if not np.array_equal(got[~finite], reference[~finite], equal_nan=True):
        return False, float("inf")
    error = np.abs(got[finite] - reference[finite])
    worst = float(error.max(initial=0.0))
    bound = atol + rtol * np.abs(reference[finite])
    return bool((error <= bound).all()), worst  # a NaN in got compares false


def close_half(got: np.ndarray, reference: np.ndarray, stored_error: float = 0.0,
               stored_cosine: float = 1.0) -> tuple[bool, float]:
    """(passes, worst error) of a tensor computed from tensors that were stored as half. The last
    two are the reference run's that did nothing else."""
    error = worst(got, reference)
    bound = max(FP16_MAX_OF_RANGE * value_range(reference), FP16_MARGIN * stored_error)
    least = min(FP16_MIN_COSINE, 1 - FP16_MARGIN * (1 - stored_cosine))
    return bool(cosine(got, reference) >= least and error <= bound), error


def cosine(got: np.ndarray, reference: np.ndarray) -> float:
    """Of the angle between two tensors; 1 where one is all zeros."""
    flat, expected = (a.astype(np.float64).ravel() for a in (got, reference))
    lengths = np.linalg.norm(flat) * np.linalg.norm(expected)
    return 1.0 if lengths == 0 else float(flat @ expected / lengths)


def absolute(reference: np.ndarray, spread: float = 0.0) -> float:
    """fp32's absolute bound; `spread` is what harmless rounding moves the tensor by."""
    return max(ATOL_OF_RANGE * value_range(reference), FP32_MARGIN * spread)


def worst(got: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference; NaN where one is."""
    difference = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    return float(difference.max(initial=0.0))


def value_range(array: np.ndarray) -> float:
    """Largest minus smallest finite value, or the magnitude if there is only one value."""
    values = array[np.isfinite(array)].astype(np.float64)
    if values.size == 0:
        return 1.0
    return float(np.ptp(values) or np.abs(values).max() or 1.0)
