"""Comparisons, selections, conversions and atomics, by the PTX ISA's text.

As integers.REFERENCES.
"""

import exact
import floats
import integers
from candidates import FLOATS, size
from integers import signed, wrapped

ORDERED = {"eq": (0,), "ne": (-1, 1), "lt": (-1,), "le": (-1, 0), "gt": (1,), "ge": (0, 1),
           "lo": (-1,), "ls": (-1, 0), "hi": (1,), "hs": (0, 1)}


def compared(form, kind, a, b):
    """Does the comparison hold between two bit patterns?"""
    name = form.modifiers[0]
    if kind in FLOATS:
        order = exact.order(exact.decode(a, kind, form.has("ftz")),
                            exact.decode(b, kind, form.has("ftz")))
        if name in ("num", "nan"):
            return (order is None) == (name == "nan")
        if order is None:
            return name.endswith("u")
        return order in ORDERED[name[:2]]
    x, y = signed(a, kind), signed(b, kind)
    return (x > y) - (x < y) in ORDERED[name]


def combined(form, truth, other):
    """The comparison with the predicate operand."""
    if form.has("and"):
        return truth and other
    if form.has("or"):
        return truth or other
    return truth != other if form.has("xor") else truth


def set_predicate(form):
    """setp: the result, and its complement or the second half's."""
    kind = form.operands[1]

    def value(a, b, other=0):
        other = bool(other)
        if kind == "f16x2":
            truths = [compared(form, "f16", a >> at & 0xffff, b >> at & 0xffff)
                      for at in (0, 16)]
        else:
            truth = compared(form, kind, a, b)
            truths = [truth, not truth]
        results = tuple(int(combined(form, truth, other)) for truth in truths)
        return results if form.operands[0] == "p|q" else results[:1]
    return value


def set_value(form):
    """set: all ones or one, in each half for .f16x2."""
    to, kind = form.operands[:2]
    one = {"f32": 0x3f800000, "f16": 0x3c00, "f16x2": 0x3c00}.get(to)

    def value(a, b, other=0):
        other = bool(other)
        if kind != "f16x2":
            truth = combined(form, compared(form, kind, a, b), other)
            return ((one or wrapped(-1, to)) if truth else 0,)
        result = 0
        for at in (0, 16):
            truth = compared(form, "f16", a >> at & 0xffff, b >> at & 0xffff)
            if combined(form, truth, other):
                result |= (one or 0xffff) << at
        return (result,)
    return value


def select(form):
    """selp."""
    return lambda a, b, choice: (a if choice else b,)


def select_by_sign(form):
    """slct: a where c is at least zero; a NaN takes b."""
    kind = form.operands[3]

    def value(a, b, c):
        if kind == "s32":
            return (a if signed(c, kind) >= 0 else b,)
        order = exact.order(exact.decode(c, kind, form.has("ftz")), ("num", 0, 0, 0))
        return (a if order is not None and order >= 0 else b,)
    return value


def convert(form):
    """cvt."""
    to, kind = form.operands[:2]
    mode = form.modifiers[0]
    to_float, from_float = to in FLOATS, kind in FLOATS

    def from_number(a):
        if not to_float:
            if a[0] == "nan":  # the ISA's rule for what a NaN becomes
                wide = kind == "f64" or size(to) == 64
                return 1 << (size(to) - 1) if wide else 0
            if a[0] == "inf":
                number = -(1 << 100) if a[1] else 1 << 100
            else:
                number = exact.integral(a, mode)
            return wrapped(integers.clamped(number, to), to)
        if mode.endswith("i") and a[0] == "num":
            number = exact.integral(a, mode)
            a = ("num", a[1], abs(number), 0)
        flush = form.has("ftz") and to == "f32"
        bits = exact.encode(a, to, floats.rounding(form), flush)
        if form.has("sat"):
            bits = exact.encode(floats.saturated(exact.decode(bits, to)), to)
        return bits

    def value(a):
        if from_float:
            return (from_number(exact.decode(a, kind, form.has("ftz") and kind == "f32")),)
        number = signed(a, kind)
        if to_float:
            return (from_number(exact.number(number)),)
        return (integers.finished(form, number, to),)
    return value


def atomic(form):
    """atom, red: what was there (for atom), and what is there then."""
    kind = form.operands[-1]
    operation = next(m for m in form.modifiers if m in OPERATIONS)

    def value(old, b, c=0):
        new = OPERATIONS[operation](kind, old, b, c)
        return (new,) if form.opcode == "red" else (old, new)
    return value


def added(kind, old, b, c):
    """add: .f32 keeps subnormals in shared memory only; see flushed()."""
    if kind == "f16x2":
        return sum(added("f16", old >> at & 0xffff, b >> at & 0xffff, c) << at for at in (0, 16))
    if kind in FLOATS:
        return exact.encode(exact.add(exact.decode(old, kind), exact.decode(b, kind), "rn"), kind)
    return wrapped(old + b, kind)


def flushed(old, b):
    """atom.add.f32 in device memory: subnormal operands and results become zeros."""
    total = exact.add(exact.decode(old, "f32", True), exact.decode(b, "f32", True), "rn")
    return exact.encode(total, "f32", flush=True)


OPERATIONS = {
    "and": lambda kind, old, b, c: old & b, "or": lambda kind, old, b, c: old | b,
    "xor": lambda kind, old, b, c: old ^ b, "exch": lambda kind, old, b, c: b,
    "cas": lambda kind, old, b, c: c if old == b else old, "add": added,
    "inc": lambda kind, old, b, c: 0 if old >= b else old + 1,
    "dec": lambda kind, old, b, c: b if old == 0 or old > b else old - 1,
    "min": lambda kind, old, b, c: old if signed(old, kind) < signed(b, kind) else b,
    "max": lambda kind, old, b, c: old if signed(old, kind) > signed(b, kind) else b,
}

REFERENCES = {
    "setp": set_predicate, "set": set_value, "selp": select, "slct": select_by_sign,
    "cvt": convert, "atom": atomic, "red": atomic, "mov": lambda form: lambda a: (a,),
}
