"""How a form is tried: PTX that runs it on a thread's operands, and what must come out.

A thread has operand i in %h<i>, %r<i> or %d<i> by its size, or in %p<i>; 16 bytes of its own in
each of .global, .shared and .local memory, of which the first hold its operands 0 and 1; and 16 bytes that the host chose in .const and .param.
"""

from typing import Callable, NamedTuple

import choices
import floats
import integers
from candidates import FLOATS, Form, size

BLOCK = 128
CONSTANT = bytes((37 * i + 129) & 0xff for i in range(16))  # in .const and .param
CELLS = {"global": "%cell", "shared": "%scell", "local": "%lcell", "generic": "%gcell"}
GARBAGE = 0xa5a5a5a5a5a5a5a5  # above operands narrower than their register


class Plan(NamedTuple):
    """One way to try a form."""
    form: Form
    sources: tuple  # types of the operands
    code: list  # PTX
    results: list  # (register, type)
    expected: Callable  # operands -> results, or None where they are open
    where: str = ""


def register(number, kind):
    """The register of operand `number`."""
    return {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%d"}[size(kind)] + str(number)


def reference(form):
    """The form's independent reference, or None."""
    if form.opcode in choices.REFERENCES:
        return choices.REFERENCES[form.opcode](form)
    kind = form.operands[1] if form.opcode == "testp" else form.operands[0]
    table = floats.REFERENCES if kind in FLOATS else integers.REFERENCES
    return table[form.opcode](form) if form.opcode in table else None


def value_plan(form):
    """A form over registers alone."""
    expected = reference(form)
    if expected is None:
        return []
    to, sources = form.operands[0], form.operands[1:]
    if form.opcode == "lop3":
        code, results = [], []
        for table in range(256):
            target = f"%r{100 + table}"
            code.append(f"{form.text} {target}, %r0, %r1, %r2, {table};")
            results.append((target, "b32"))
        return [Plan(form, sources[:3], code, results, expected)]
    names = [register(i, kind) for i, kind in enumerate(sources)]
    if to == "p|q":
        code = [f"{form.text} %p100|%p101, {', '.join(names)};"]
        return [Plan(form, sources, code, [("%p100", "pred"), ("%p101", "pred")], expected)]
    target = register(100, to)
    code = [f"{form.text} {target}, {', '.join(names)};"]
    results = [(target, to)]
    chained = form.opcode in ("addc", "subc", "madc")
    if chained or form.has("cc"):
        if chained:  # any operand but zero sets the carry; of a difference, the borrow
            sources += ("u32",)
            code.insert(0, f"add.cc.u32 %r90, {register(len(sources) - 1, 'u32')}, -1;"
                        if form.opcode != "subc" else
                        f"sub.cc.u32 %r90, 0, {register(len(sources) - 1, 'u32')};")
        code.append(("subc" if form.opcode.startswith("sub") else "addc") + ".u32 %r101, 0, 0;")
        results.append(("%r101", "u32"))
        if form.opcode.startswith("sub"):
            code.append("neg.s32 %r101, %r101;")
    plain = Plan(form, sources, code, results, expected)
    if form.opcode != "cvt" or to in FLOATS or sources[0] in FLOATS:
        return [plain]

    def through_wide(a):  # what stands above the source does not matter, the result is extended
        low = a & ((1 << size(sources[0])) - 1)
        return (extended(expected(low)[0], to, 64),)
    return [plain, Plan(form, ("u64",), [f"{form.text} %d100, %d0;"], [("%d100", "u64")],
                        through_wide, "in 64-bit registers")]


def atomic_plan(form):
    """atom and red on the thread's cell."""
    kind = form.operands[-1]
    width = f"b{size(kind)}"
    spaces = [s for s in ("global", "shared") if form.has(s)] or ["global", "shared"]
    plans = []
    for space in spaces:
        generic = not form.has(space)
        base = "%gcell" if generic and space == "shared" else CELLS[space]
        count = form.operands.count(kind) - (form.opcode == "atom")
        operands = [register(1 + i, kind) for i in range(count)]
        target = [register(100, kind)] if form.opcode == "atom" else []
        code = [f"st.{space}.{width} [{CELLS[space]}], {register(0, kind)};",
                f"{form.text} {', '.join(target + [f'[{base}]'] + operands)};",
                f"ld.{space}.{width} {register(101, kind)}, [{CELLS[space]}];"]
        expected = reference(form)
        if form.has("add") and kind == "f32" and space == "global":
            def expected(old, b, returns=form.opcode == "atom"):
                new = choices.flushed(old, b)
                return (old, new) if returns else (new,)
        results = [(register(100, kind), kind)] if target else []
        plans.append(Plan(form, (kind,) * (1 + count), code,
                          results + [(register(101, kind), kind)], expected, space))
    return plans


def elements(low, high, kind, count):
    """The first elements of 16 bytes in memory."""
    both, width = high << 64 | low, size(kind)
    return [both >> width * i & ((1 << width) - 1) for i in range(count)]


def extended(bits, kind, held):
    """What a register holds that is as large as the type or larger."""
    return integers.signed(bits, kind) & ((1 << held) - 1)


def memory_plan(form):
    """ld, ldu and st: bytes of the thread's cell, or of what the host gave."""
    kind, held, space, count = form.operands
    held, count = int(held), int(count)
    given = {"const": "constants", "param": "arg", "param::entry": "arg"}.get(space)
    plain = space.split("::")[0]
    names = [register(100 + i, f"b{held}") for i in range(count)]
    plans = []
    uniform = form.opcode == "ldu" or form.has("nc")  # of what no thread writes
    for where in ([plain] if space else ["global"] if uniform else ["global", "shared", "local"]):
        base = given or (CELLS[where] if space else {"global": "%cell", "shared": "%gcell",
                                                      "local": "%glcell"}[where])
        value = "{" + ", ".join(names) + "}" if form.has("v2") or form.has("v4") else names[0]
        operands = [f"[{base}]", value] if form.opcode == "st" else [value, f"[{base}]"]
        run = f"{form.text} {', '.join(operands)};"
        if form.opcode == "st":
            code = [f"st.{where}.v2.u64 [{CELLS[where]}], {{%d2, %d3}};"]
            for i in range(count):  # element i: what the register held can take of operand i & 1
                code.append(f"mov.b64 %d{110 + i}, %d{i & 1};" if held == 64 else
                            f"cvt.u{held}.u64 {names[i]}, %d{i & 1};")
            if held == 64:
                run = run.replace("%d10", "%d11")
            code += [run, f"ld.{where}.v2.u64 {{%d120, %d121}}, [{CELLS[where]}];"]

            def expected(a, b, low, high):
                after, width = high << 64 | low, size(kind)
                for i in range(count):
                    mask = ((1 << width) - 1) << width * i
                    after = after & ~mask | ((b if i & 1 else a) << width * i) & mask
                return after & ((1 << 64) - 1), after >> 64
            plans.append(Plan(form, ("u64",) * 4, code,
                              [("%d120", "u64"), ("%d121", "u64")], expected, where))
            continue
        code = [] if given or uniform else [f"st.{where}.v2.u64 [{CELLS[where]}], {{%d0, %d1}};"]

        def expected(low, high, fixed=given is not None):
            if fixed:
                low, high = (int.from_bytes(CONSTANT[at:at + 8], "little") for at in (0, 8))
            return tuple(extended(e, kind, held) for e in elements(low, high, kind, count))
        plans.append(Plan(form, ("u64", "u64"), code + [run],
                          [(name, f"b{held}") for name in names], expected, where))
    return plans


def plans(form):
    """All ways to try a form; none where this file has no reference for it."""
    if not form.operands:
        return []
    if form.opcode in ("ld", "ldu", "st"):
        return memory_plan(form)
    if form.opcode in ("atom", "red"):
        return atomic_plan(form)
    return value_plan(form)
