"""Binary floating point in integers: no rounding happens here but the one that is asked for.

A number is (kind, sign, magnitude, exponent): kind "nan", "inf" or "num", and a num is
(-1)^sign * magnitude * 2^exponent. `sticky` says that a little more than the magnitude was meant.
Nothing of the emulator, and none of the host's arithmetic, is used.
"""

from math import isqrt

FORMATS = {"f16": (5, 10), "f32": (8, 23), "f64": (11, 52)}
NAN = ("nan", 0, 0, 0)
QUIET = {"f16": 0x7fff, "f32": 0x7fffffff, "f64": 0x7ff8000000000000}


def infinity(sign):
    """An infinity."""
    return ("inf", sign, 0, 0)


def number(value):
    """An integer as a number."""
    return ("num", int(value < 0), abs(value), 0)


def decode(bits, kind, flush=False):
    """The number that bits stand for; .ftz makes a subnormal a zero of its sign."""
    exponent_bits, fraction_bits = FORMATS[kind]
    fraction = bits & ((1 << fraction_bits) - 1)
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    sign = bits >> (fraction_bits + exponent_bits) & 1
    if exponent == (1 << exponent_bits) - 1:
        return NAN if fraction else infinity(sign)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == 0:
        return ("num", sign, 0 if flush else fraction, 1 - bias - fraction_bits)
    return ("num", sign, fraction | 1 << fraction_bits, exponent - bias - fraction_bits)


def shifted(magnitude, exponent, place, sticky=False):
    """A magnitude in units of 2^place: the whole part and how the rest compares with a half
    (-2 nothing, -1 below, 0 exactly, 1 above)."""
    shift = place - exponent
    if shift <= 0:
        return magnitude << -shift, -1 if sticky else -2
    whole, rest = magnitude >> shift, magnitude & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    if rest == 0 and not sticky:
        return whole, -2
    if rest == half:
        return whole, 1 if sticky else 0
    return whole, 1 if rest > half else -1


def away(whole, rest, sign, rounding):
    """Does the rest take the magnitude one up?"""
    if rest == -2 or rounding == "rz":
        return False
    if rounding == "rn":
        return rest > 0 or (rest == 0 and whole & 1 == 1)
    return (rounding == "rm") == (sign == 1)


def encode(value, kind, rounding="rn", flush=False, sticky=False):
    """The bits of a number, rounded to the format."""
    exponent_bits, fraction_bits = FORMATS[kind]
    what, sign, magnitude, exponent = value
    top = (1 << exponent_bits) - 1
    signed = sign << (exponent_bits + fraction_bits)
    if what == "nan":
        return QUIET[kind]
    if what == "inf":
        return signed | top << fraction_bits
    if magnitude == 0:
        return signed
    bias = (1 << (exponent_bits - 1)) - 1
    least = 1 - bias - fraction_bits
    place = max(exponent + magnitude.bit_length() - 1 - fraction_bits, least)
    whole, rest = shifted(magnitude, exponent, place, sticky)
    whole += away(whole, rest, sign, rounding)
    if whole >> (fraction_bits + 1):
        whole, place = whole >> 1, place + 1
    if whole < 1 << fraction_bits:  # subnormal
        return signed if flush else signed | whole
    biased = place - least + 1
    if biased >= top:
        grows = rounding == "rn" or (rounding == "rm") == (sign == 1) and rounding != "rz"
        return signed | ((top << fraction_bits) if grows else (top << fraction_bits) - 1)
    return signed | biased << fraction_bits | (whole & ((1 << fraction_bits) - 1))


def negated(a):
    """-a."""
    return a if a[0] == "nan" else (a[0], 1 - a[1], a[2], a[3])


def add(a, b, rounding):
    """a + b, exactly; the rounding decides the sign of an exact zero."""
    if a[0] == "nan" or b[0] == "nan":
        return NAN
    if a[0] == "inf" or b[0] == "inf":
        if a[0] == b[0] and a[1] != b[1]:
            return NAN
        return a if a[0] == "inf" else b
    exponent = min(a[3], b[3])
    total = sum((-n[2] if n[1] else n[2]) << (n[3] - exponent) for n in (a, b))
    if total == 0:
        sign = a[1] if a[1] == b[1] else int(rounding == "rm")
        return ("num", sign, 0, 0)
    return ("num", int(total < 0), abs(total), exponent)


def multiply(a, b):
    """a * b, exactly."""
    if a[0] == "nan" or b[0] == "nan":
        return NAN
    sign = a[1] ^ b[1]
    if a[0] == "inf" or b[0] == "inf":
        zero = any(n[0] == "num" and n[2] == 0 for n in (a, b))
        return NAN if zero else infinity(sign)
    return ("num", sign, a[2] * b[2], a[3] + b[3])


def divide(a, b):
    """a / b to 200 bits, and whether there is a rest."""
    if a[0] == "nan" or b[0] == "nan" or (a[0] == b[0] == "inf"):
        return NAN, False
    sign = a[1] ^ b[1]
    if a[0] == "inf":
        return infinity(sign), False
    if b[0] == "inf":
        return ("num", sign, 0, 0), False
    if b[2] == 0:
        return (NAN if a[2] == 0 else infinity(sign)), False
    quotient, rest = divmod(a[2] << 200, b[2])
    return ("num", sign, quotient, a[3] - b[3] - 200), rest != 0


def root(a):
    """The square root to 100 bits and more, and whether there is a rest."""
    if a[0] == "nan" or (a[1] and (a[0] == "inf" or a[2])):
        return NAN, False
    if a[0] == "inf" or a[2] == 0:
        return a, False
    magnitude, exponent = a[2] << 200, a[3] - 200
    if exponent & 1:
        magnitude, exponent = magnitude << 1, exponent - 1
    whole = isqrt(magnitude)
    return ("num", 0, whole, exponent // 2), whole * whole != magnitude


def order(a, b):
    """-1, 0 or 1 as a is below, equal to or above b; None where one is a NaN."""
    if a[0] == "nan" or b[0] == "nan":
        return None
    if a[0] == "inf" or b[0] == "inf":
        ranks = [(-1 if n[1] else 1) if n[0] == "inf" else 0 for n in (a, b)]
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])
    exponent = min(a[3], b[3])
    x, y = ((-n[2] if n[1] else n[2]) << (n[3] - exponent) for n in (a, b))
    return (x > y) - (x < y)


def integral(a, rounding):
    """A finite number as an integer: rni, rzi, rmi, rpi."""
    whole, rest = shifted(a[2], a[3], 0)
    whole += away(whole, rest, a[1], rounding[:2])
    return -whole if a[1] else whole
