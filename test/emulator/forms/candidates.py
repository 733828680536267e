"""Every instruction form that could be meant: all modifiers of an opcode, in every combination.

Which of them are forms of sm_61 is not said here: acceptance.py asks the emulator and ptxas. A
form is its text ("add.rn.ftz.f32") and the types of its operands, results first; an operand's
type says the register that stands for it: 8 and 16 bits .b16, then .b32, .b64 and .pred.
"""

from itertools import product
from typing import NamedTuple

INTEGERS = ["u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"]
BITS = ["b8", "b16", "b32", "b64"]
FLOATS = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"]
TYPES = INTEGERS + BITS + FLOATS + ["pred"]
ROUNDING = ["", "rn", "rz", "rm", "rp"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu",
               "leu", "gtu", "geu", "num", "nan"]
SIZES = {"8": 8, "16": 16, "32": 32, "64": 64, "16x2": 32, "pred": 1}


class Form(NamedTuple):
    """One candidate: its opcode, its modifiers in order, its operands' types."""
    opcode: str
    modifiers: tuple
    operands: tuple  # results first; "p|q" is a pair of predicates
    written: str = ""  # the operands' text, where registers alone do not do

    @property
    def text(self):
        """The instruction's full name."""
        return ".".join((self.opcode,) + self.modifiers)

    def has(self, modifier):
        """Is it one of the modifiers?"""
        return modifier in self.modifiers


def size(kind):
    """Bits of a type."""
    return SIZES[kind.lstrip("busf")] if kind != "pred" else 1


def flag(name):
    """A modifier that may stand or not."""
    return ["", name]


def forms(opcodes, slots, operands):
    """All combinations of slots; operands(modifiers) gives the types, or None for none."""
    for opcode in opcodes.split():
        for chosen in product(*slots):
            modifiers = tuple(m for m in chosen if m)
            types = operands(chosen)
            if types:
                yield Form(opcode, modifiers, tuple(types))


def same(count):
    """`count` operands of the last type."""
    return lambda chosen: [chosen[-1]] * count


def widened(kind):
    """The type of twice the size, for .wide."""
    return kind[0] + str(2 * size(kind)) if kind in INTEGERS and size(kind) <= 32 else kind


def product_types(count, part):
    """mul and mad: .wide doubles the result and the addend."""
    def types(chosen):
        kind = chosen[-1]
        wide = widened(kind) if chosen[part] == "wide" else kind
        return [wide, kind, kind] + [wide] * (count - 3)
    return types


def arithmetic():
    """Integer and floating-point arithmetic."""
    ftz, sat, carry = flag("ftz"), flag("sat"), flag("cc")
    part = ["", "lo", "hi", "wide"]
    yield from forms("add sub", [ROUNDING, ftz, sat, carry, TYPES], same(3))
    yield from forms("mul", [part, ROUNDING, ftz, sat, TYPES], product_types(3, 0))
    yield from forms("mad", [part, ROUNDING, ftz, sat, carry, TYPES], product_types(4, 0))
    yield from forms("fma", [ROUNDING, ftz, sat, flag("relu"), TYPES], same(4))
    yield from forms("addc subc", [sat, carry, TYPES], same(3))
    yield from forms("madc", [part, carry, TYPES], product_types(4, 0))
    yield from forms("mul24", [part, TYPES], same(3))
    yield from forms("mad24", [part, sat, TYPES], same(4))
    yield from forms("sad", [TYPES], same(4))
    yield from forms("div", [["", "approx", "full"], ROUNDING, ftz, sat, TYPES], same(3))
    yield from forms("rem", [TYPES], same(3))
    yield from forms("abs neg", [ftz, sat, TYPES], same(2))
    yield from forms("min max", [ftz, flag("NaN"), flag("xorsign.abs"), flag("relu"), TYPES],
                     same(3))
    yield from forms("rcp sqrt", [flag("approx"), ROUNDING, ftz, sat, TYPES], same(2))
    yield from forms("rsqrt sin cos lg2 ex2 tanh", [flag("approx"), ftz, sat, TYPES], same(2))
    yield from forms("copysign", [TYPES], same(3))
    words = ["u32", "s32", "b32"]
    yield from forms("dp4a", [words, words], lambda c: ["s32", c[0], c[1], "s32"])
    yield from forms("dp2a", [["", "lo", "hi"], words, words],
                     lambda c: ["s32", c[1], c[2], "s32"])


def logic():
    """Logic, shifts and bit fields."""
    yield from forms("and or xor", [TYPES], same(3))
    yield from forms("not cnot brev", [TYPES], same(2))
    yield from forms("popc clz", [TYPES], lambda c: ["u32", c[-1]])
    yield from forms("bfind", [flag("shiftamt"), TYPES], lambda c: ["u32", c[-1]])
    yield from forms("shl shr", [TYPES], lambda c: [c[-1], c[-1], "u32"])
    yield from forms("shf", [["", "l", "r"], ["", "clamp", "wrap"], TYPES],
                     lambda c: [c[-1], c[-1], c[-1], "u32"])
    yield from forms("lop3", [["", "or", "and"], TYPES], lambda c: [c[-1]] * 4 + ["lut"])
    yield from forms("prmt", [TYPES, ["", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]],
                     lambda c: [c[0]] * 3 + ["u32"])
    yield from forms("bfe", [TYPES], lambda c: [c[0], c[0], "u32", "u32"])
    yield from forms("bfi", [TYPES], lambda c: [c[0]] * 3 + ["u32", "u32"])
    yield from forms("fns", [TYPES], lambda c: [c[0], c[0], "u32", "s32"])


def comparisons():
    """Comparisons and selections."""
    combine, ftz = ["", "and", "or", "xor"], flag("ftz")
    for combined in combine:
        extra = ["pred"] if combined else []
        for result in ("pred", "p|q"):
            yield from forms("setp", [COMPARISONS, [combined], ftz, TYPES],
                             lambda c, extra=extra, to=result: [to, c[-1], c[-1]] + extra)
        yield from forms("set", [COMPARISONS, [combined], ftz,
                                 ["u32", "s32", "f32", "u16", "s16", "f16", "f16x2", "b32",
                                  "f64", "u64"], TYPES],
                         lambda c, extra=extra: [c[-2], c[-1], c[-1]] + extra)
    yield from forms("selp", [TYPES], lambda c: [c[0]] * 3 + ["pred"])
    yield from forms("slct", [ftz, TYPES, TYPES], lambda c: [c[1]] * 3 + [c[2]])
    properties = ["finite", "infinite", "number", "notanumber", "normal", "subnormal"]
    yield from forms("testp", [properties, TYPES], lambda c: ["pred", c[1]])


def moves():
    """mov and cvt."""
    yield from forms("mov", [TYPES], same(2))
    rounding = ROUNDING + ["rni", "rzi", "rmi", "rpi", "rna"]
    yield from forms("cvt", [rounding, flag("ftz"), flag("sat"), TYPES, TYPES],
                     lambda c: [c[3], c[4]] if "pred" not in c else None)
    yield from forms("cvt", [["rn", "rz"], flag("relu"), flag("satfinite"), FLOATS, ["f32"]],
                     lambda c: [c[3], c[4]] if c[1] or c[2] else None)


def atomics():
    """atom and red on .global, .shared and generic addresses."""
    semantics = [""] + [f"{order}.{scope}" if order and scope else order or scope
                        for order in ("", "relaxed", "acquire", "release", "acq_rel")
                        for scope in ("", "cta", "gpu", "sys") if order or scope]
    types = ["b16", "b32", "b64", "u16", "u32", "u64", "s32", "s64", "f16", "f16x2", "bf16",
             "f32", "f64"]
    for operation in "and or xor exch cas add inc dec min max".split():
        for opcode in ("atom", "red"):
            def operands(chosen, extra=operation == "cas", returns=opcode == "atom"):
                kind = chosen[-1]
                return [kind] * returns + ["[]"] + [kind] * (1 + extra)
            yield from forms(opcode, [semantics, ["", "global", "shared"], [operation],
                                      flag("noftz"), types], operands)


ADDRESS = {"": "[%d9]", "global": "[%d9]", "shared": "[%r9]", "shared::cta": "[%r9]",
           "local": "[%d9]", "const": "[%d9]", "param": "[arg]", "param::entry": "[arg]"}


def memory():
    """ld and st: values of every type, alone and as vectors."""
    spaces = list(ADDRESS)
    orders = ["", "weak", "volatile", "relaxed.gpu", "acquire.gpu", "release.gpu"]
    hints = ["", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "nc", "ca.nc", "cg.nc", "cs.nc",
             "L1::evict_last", "L2::128B", "L1::no_allocate.L2::64B"]
    for opcode in ("ld", "st", "ldu"):
        for order, space, hint, vector, kind in product(orders, spaces, hints, ["", "v2", "v4"],
                                                        TYPES):
            if kind == "pred" or (order and hint):
                continue
            modifiers = tuple(m for m in (order, space, hint, vector, kind) if m)
            count = int(vector[1]) if vector else 1
            for held in sorted({max(16, size(kind)), 32, 64}):
                if held < size(kind) or (held > max(16, size(kind)) and hint):
                    continue
                names = [{16: "%h", 32: "%r", 64: "%d"}[held] + str(3 + i) for i in range(count)]
                value = "{" + ", ".join(names) + "}" if vector else names[0]
                pair = [ADDRESS[space], value]
                yield Form(opcode, modifiers, (kind, str(held), space, str(count)),
                           ", ".join(pair if opcode == "st" else pair[::-1]))


def written(opcodes, slots, operands):
    """Combinations whose operands are given as text."""
    for opcode in opcodes.split():
        for chosen in product(*slots):
            yield Form(opcode, tuple(m for m in chosen if m), (), operands)


def collectives():
    """Shuffles, votes, barriers."""
    modes, kinds = ["", "up", "down", "bfly", "idx"], ["b32", "u32", "s32", "f32", "b64"]
    votes, results = ["", "all", "any", "uni", "ballot"], ["pred", "b32", "u32"]
    for value in ("%r3", "%r3|%p3"):
        yield from written("shfl", [modes, kinds], value + ", %r4, %r5, %r6")
        yield from written("shfl", [["sync"], modes, kinds], value + ", %r4, %r5, %r6, %r7")
    for value in ("%p3", "%r3"):
        yield from written("vote", [votes, results], value + ", %p4")
        yield from written("vote", [["sync"], votes, results], value + ", %p4, %r7")
    yield from written("match", [["any", "all"], ["sync"], ["b32", "b64"]], "%r3, %r4, %r7")
    yield from written("redux", [["sync"], ["add", "min", "and"], ["u32", "s32", "b32"]],
                       "%r3, %r4, %r7")
    yield from written("activemask", [kinds], "%r3")
    yield from written("bar", [["warp"], ["", "sync"]], "%r7")
    scope, aligned = flag("cta"), flag("aligned")
    for operands in ("0", "%r3", "1, 64", "%r3, %r4"):
        yield from written("bar barrier", [scope, ["", "sync", "arrive"], aligned], operands)
    for operands in ("1, %p4", "%r4, 64, %p4", "1, !%p4"):
        for to in ("%p3", "%r3"):
            yield from written("bar barrier", [scope, ["red"], ["", "popc", "and", "or"], aligned,
                                               ["u32", "pred"]], f"{to}, {operands}")


def others():
    """What computes no value: control, fences, hints, and conversions of addresses."""
    spaces = list(ADDRESS) + ["param::func", "shared::cluster"]
    for opcode in ("exit", "ret", "trap", "brkpt"):
        yield from written(opcode, [flag("uni")], "")
    yield from written("bra", [flag("uni")], "there")
    yield from written("brx", [flag("idx"), flag("uni")], "%r3, table")
    yield from written("nanosleep", [["", "u32", "b32"]], "%r3")
    yield from written("pmevent", [flag("mask")], "3")
    scopes = ["", "cta", "gl", "gpu", "sys", "cluster"]
    yield from written("membar fence", [["", "sc", "acq_rel"], scopes], "")
    yield from written("prefetch", [["", "global", "local", "shared", "const"],
                                    ["", "L1", "L2", "L2::evict_last"]], "[%d9]")
    yield from written("prefetchu", [["", "L1", "L2"]], "[%d9]")
    for name in ("%d3, %d4", "%r3, %r4"):
        yield from written("cvta", [flag("to"), spaces, ["u32", "u64", "b64", "s64"]], name)
    yield from written("isspacep", [spaces], "%p3, %d4")
    yield from written("isspacep", [spaces], "%p3, %r4")


def candidates():
    """Every candidate."""
    for family in (arithmetic, logic, comparisons, moves, atomics, memory, collectives, others):
        yield from family()
