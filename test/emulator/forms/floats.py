"""What floating-point instructions give, by the PTX ISA's text, over exact.py's numbers.

As integers.REFERENCES. A result may also be a Within: an interval for .approx, whose width is
the maximum error that the ISA states beside the instruction.
"""

from decimal import Decimal, getcontext
from fractions import Fraction
from typing import NamedTuple

import exact
from candidates import size

getcontext().prec = 400  # digits: sine's terms grow to 10^136 before they shrink


class Within(NamedTuple):
    """A finite result near `value`: off by at most `absolute`, `relative` or `ulps`."""
    value: Fraction
    absolute: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)
    ulps: int = 0
    flush: bool = False

    def holds(self, bits, kind):
        """Is this result near enough? Overflow may round to infinity, .ftz to zero."""
        got = exact.decode(bits, kind)
        if got[0] == "nan":
            return False
        fraction_bits = exact.FORMATS[kind][1]
        least = 2 - (1 << (exact.FORMATS[kind][0] - 1))  # exponent of the least normal
        magnitude = abs(self.value)
        exponent = max(floor_log2(magnitude), least) if magnitude else least
        if self.flush and magnitude < Fraction(2) ** least * (1 + Fraction(1, 1 << 20)) and (
                got[2] == 0 and got[0] == "num"):
            return True
        allowed = max(self.absolute, self.relative * magnitude,
                      self.ulps * Fraction(2) ** (exponent - fraction_bits),
                      Fraction(2) ** (least - fraction_bits))  # a subnormal's last place
        if got[0] == "inf":
            return magnitude + allowed >= Fraction(2) ** (2 - least) * (
                1 - Fraction(1, 1 << (fraction_bits + 2))) and got[1] == (self.value < 0)
        value = Fraction(got[2]) * Fraction(2) ** got[3] * (-1 if got[1] else 1)
        return abs(value - self.value) <= allowed


def floor_log2(value):
    """The exponent of a positive fraction."""
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def fraction(a):
    """A finite number as a fraction."""
    return Fraction(a[2]) * Fraction(2) ** a[3] * (-1 if a[1] else 1)


def sine(x, quarter):
    """sin(x), or cos(x) with `quarter`, by Taylor's series."""
    term, total, n = (x ** 0 if quarter else x), Decimal(0), 0 if quarter else 1
    while abs(term) > Decimal("1e-60") or n < abs(x):
        total += term
        term *= -x * x / ((n + 1) * (n + 2))
        n += 2
    return total


def rounding(form):
    """The rounding that a form names; to nearest where it names none."""
    return next((m for m in form.modifiers if m in ("rn", "rz", "rm", "rp")), "rn")


def saturated(value):
    """.sat: 0 to 1, NaN and -0 to +0."""
    if value[0] == "nan" or value[1]:
        return ("num", 0, 0, 0)
    one = ("num", 0, 1, 0)
    return one if exact.order(value, one) > 0 else value


def result(form, value, kind, sticky=False):
    """Rounded, flushed and saturated bits."""
    flush = form.has("ftz")
    bits = exact.encode(value, kind, rounding(form), flush, sticky)
    if form.has("sat"):
        bits = exact.encode(saturated(exact.decode(bits, kind)), kind)
    return bits


def halves(function):
    """.f16x2: the function for .f16, twice."""
    def packed(*operands):
        parts = [function(*[o >> at & 0xffff for o in operands])[0] for at in (0, 16)]
        return (parts[0] | parts[1] << 16,)
    return packed


def arithmetic(compute):
    """compute(form, numbers...) gives an exact number; the rest is the same for all."""
    def reference(form):
        kind = form.operands[0]
        scalar = "f16" if kind == "f16x2" else kind

        def value(*operands):
            numbers = [exact.decode(o, scalar, form.has("ftz")) for o in operands]
            return (result(form, compute(form, *numbers), scalar),)
        return halves(value) if kind == "f16x2" else value
    return reference


def plus(form, a, b):
    """add."""
    return exact.add(a, b, rounding(form))


def minus(form, a, b):
    """sub."""
    return exact.add(a, exact.negated(b), rounding(form))


def fused(form, a, b, c):
    """fma, mad."""
    return exact.add(exact.multiply(a, b), c, rounding(form))


def magnitude(form, a):
    """abs."""
    return a if a[0] == "nan" else (a[0], 0) + a[2:]


def lesser(form, a, b):
    """min, max: a NaN gives way; -0 is below +0."""
    if a[0] == "nan" or b[0] == "nan":
        return b if a[0] == "nan" else a
    below = exact.order(a, b)
    if below == 0:
        below = b[1] - a[1]
    return a if (below < 0) == (form.opcode == "min") else b


def divide(form):
    """div.rnd; .approx and .full: 2 ulp, .approx for divisors from 2^-126 to 2^126; beyond
    that it gives zero for finite dividends and NaN for infinities."""
    kind = form.operands[0]
    flush = form.has("ftz")

    def value(p, q):
        a, b = exact.decode(p, kind, flush), exact.decode(q, kind, flush)
        quotient, sticky = exact.divide(a, b)
        if not (form.has("approx") or form.has("full")):
            return (result(form, quotient, kind, sticky),)
        if b[0] == "num" and b[2] and form.has("approx"):
            size_of_b = abs(fraction(b))
            if size_of_b > 1 << 126:
                zero = exact.encode(("num", a[1] ^ b[1], 0, 0), kind)
                return (exact.QUIET[kind] if a[0] in ("inf", "nan") else zero,)
            if size_of_b < Fraction(1, 1 << 126):
                return None
        if quotient[0] != "num" or a[2] == 0 or b[0] == "inf":
            return (result(form, quotient, kind),)
        return (Within(fraction(a) / fraction(b), ulps=2, flush=flush),)
    return value


def upper(bits):
    """The upper half of an .f64."""
    return bits >> 32 << 32


def reciprocal(form):
    """rcp; .approx.f32: 1 ulp; .approx.ftz.f64 reads and writes upper halves, 2^-20 of them."""
    kind = form.operands[0]
    flush, one = form.has("ftz"), ("num", 0, 1, 0)
    gross = kind == "f64" and form.has("approx")

    def value(p):
        a = exact.decode(upper(p) if gross else p, kind, flush)
        quotient, sticky = exact.divide(one, a)
        if not form.has("approx") or quotient[0] != "num" or a[0] == "inf":
            return (result(form, quotient, kind, sticky),)
        if gross:
            return (Within(1 / fraction(a), relative=Fraction(1, 1 << 20), flush=True),)
        return (Within(1 / fraction(a), ulps=1, flush=flush),)
    return value


def square_root(form):
    """sqrt; .approx: a relative error of 2^-23 (two such steps are what is left of 24 bits)."""
    kind = form.operands[0]

    def value(p):
        found, sticky = exact.root(exact.decode(p, kind, form.has("ftz")))
        if not form.has("approx") or found[0] != "num" or found[2] == 0:
            return (result(form, found, kind, sticky),)
        return (Within(fraction(found), relative=Fraction(1, 1 << 23), flush=form.has("ftz")),)
    return value


def special(form, a):
    """rsqrt sin cos lg2 ex2 where the ISA's tables give the result; None elsewhere."""
    zero = a[0] == "num" and a[2] == 0
    name = form.opcode
    if a[0] == "nan" or (a[0] == "inf" and name in ("sin", "cos")):
        return exact.NAN
    if name == "sin":
        return a if zero else None
    if name == "cos":
        return ("num", 0, 1, 0) if zero else None
    if name == "ex2":
        if a[0] == "inf":
            return ("num", 0, 0, 0) if a[1] else a
        return ("num", 0, 1, 0) if zero else None
    if zero:
        return exact.infinity(a[1] if name == "rsqrt" else 1)
    if a[1]:
        return exact.NAN
    if a[0] == "inf":
        return ("num", 0, 0, 0) if name == "rsqrt" else a
    return None


def bounded(form, x, flush):
    """The ISA's error bounds. sin and cos: 2^-20.5 within 2 pi, 2^-14.7 within 100 pi, beyond
    that any value from -1 to 1; lg2: 2^-22 absolute from 0.5 to 2, else 2^-22.6 relative;
    ex2: 2^-22.5 relative; rsqrt: 2^-22.9 relative, .ftz.f64 as rcp."""
    name, v = form.opcode, Decimal(x.numerator) / x.denominator
    bound, power = "relative", "-22.5"
    if name in ("sin", "cos"):
        if abs(v) > 314:  # 100 pi
            return Within(Fraction(0), absolute=Fraction(1))
        bound, power = "absolute", "-20.5" if abs(v) <= Decimal("6.28") else "-14.7"
        v = sine(v, name == "cos")
    elif name == "lg2":
        near = Decimal("0.5") < v < 2
        bound, power = ("absolute", "-22") if near else ("relative", "-22.6")
        v = v.ln() / Decimal(2).ln()
    elif name == "ex2":
        v = 2 ** max(min(v, Decimal(200)), Decimal(-300))  # beyond, as good as infinite or zero
    else:
        v = 1 / v.sqrt()
        power = "-20" if form.operands[0] == "f64" and flush else "-22.9"
    return Within(Fraction(v), flush=flush, **{bound: Fraction(2 ** Decimal(power))})


def transcendental(form):
    """rsqrt sin cos lg2 ex2."""
    kind, flush = form.operands[0], form.has("ftz")

    def value(p):
        a = exact.decode(upper(p) if kind == "f64" and flush else p, kind, flush)
        known = special(form, a)
        if known is not None:
            return (exact.encode(known, kind),)
        return (bounded(form, fraction(a), flush),)
    return value


def copy_sign(form):
    """copysign: a's sign, b's magnitude."""
    top = 1 << (size(form.operands[0]) - 1)
    return lambda a, b: (a & top | b & (top - 1),)


def properties(form):
    """testp."""
    kind = form.operands[1]
    exponent_bits, fraction_bits = exact.FORMATS[kind]

    def value(p):
        a = exact.decode(p, kind)
        finite = a[0] == "num"
        normal = finite and p >> fraction_bits & ((1 << exponent_bits) - 1) != 0
        return (int({"finite": finite, "infinite": a[0] == "inf", "number": a[0] != "nan",
                     "notanumber": a[0] == "nan", "normal": normal,
                     "subnormal": finite and not normal and a[2] != 0}[form.modifiers[0]]),)
    return value


REFERENCES = {
    "add": arithmetic(plus), "sub": arithmetic(minus),
    "mul": arithmetic(lambda form, a, b: exact.multiply(a, b)), "fma": arithmetic(fused),
    "mad": arithmetic(fused), "abs": arithmetic(magnitude),
    "neg": arithmetic(lambda form, a: exact.negated(a)), "min": arithmetic(lesser),
    "max": arithmetic(lesser), "div": divide, "rcp": reciprocal, "sqrt": square_root,
    "rsqrt": transcendental, "sin": transcendental, "cos": transcendental,
    "lg2": transcendental, "ex2": transcendental, "copysign": copy_sign, "testp": properties,
}
