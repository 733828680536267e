"""Runs plans on the emulator: many forms a kernel, a thread for each tuple of operands."""

from collections import defaultdict

import numpy as np

import driver
import exact
import values
import warps
from acceptance import HEADER
from candidates import FLOATS, size
from plans import BLOCK, CONSTANT, GARBAGE, register

FORMS_A_KERNEL = 24
SHOWN = 3  # wrong results of a form
ENTRY = """.visible .entry {name}(.param .u64 out, .param .u64 in, .param .u64 cells,
    .param .align 16 .b8 arg[16]) {{
.reg .b16 %h<130>; .reg .b32 %r<400>; .reg .b64 %d<140>; .reg .pred %p<130>;
.reg .b64 %in, %out, %cell, %lcell, %gcell, %glcell, %scell, %scratch;
.shared .align 16 .b8 scell[{shared}];
.local .align 16 .b8 lcell[16];
mov.u32 %r300, %tid.x;
mov.u32 %r301, %ctaid.x;
mad.lo.u32 %r302, %r301, {block}, %r300;
ld.param.u64 %in, [in];
ld.param.u64 %out, [out];
ld.param.u64 %cell, [cells];
mul.wide.u32 %d130, %r302, 8;
add.u64 %in, %in, %d130;
add.u64 %out, %out, %d130;
mul.wide.u32 %d130, %r302, 16;
add.u64 %cell, %cell, %d130;
mul.wide.u32 %d130, %r300, 16;
mov.u64 %scell, scell;
add.u64 %scell, %scell, %d130;
cvta.shared.u64 %gcell, %scell;
mov.u64 %lcell, lcell;
cvta.local.u64 %glcell, %lcell;
"""


def load(sources, threads):
    """PTX that puts the operands into their registers."""
    lines = []
    for i, kind in enumerate(sources):
        lines.append(f"ld.global.u64 %d{i}, [%in+{8 * threads * i}];")
        width = size(kind)
        if kind == "pred":
            lines.append(f"setp.ne.u64 %p{i}, %d{i}, 0;")
        elif width < 64:
            lines.append(f"cvt.u{max(16, width)}.u64 {register(i, kind)}, %d{i};")
    return lines


def store(name, kind, offset):
    """PTX that stores a result, extended by zeros."""
    width = size(kind)
    if kind == "pred":
        widen = f"selp.u64 %scratch, 1, 0, {name};"
    elif width == 64:
        widen = f"mov.b64 %scratch, {name};"
    else:
        widen = f"cvt.u64.u{max(16, width)} %scratch, {name};"
    return [widen, f"st.global.u64 [%out+{offset}], %scratch;"]


def in_register(bits, kind):
    """An 8-bit result is extended to its 16-bit register."""
    return bits | 0xff00 if kind == "s8" and bits & 0x80 else bits


def agree(kind, got, want):
    """Are these the same result? Any NaN is as good as another."""
    if hasattr(want, "holds"):
        return want.holds(got, kind)
    if got == in_register(want, kind):
        return True
    scalars = {"f16x2": ["f16"] * 2}.get(kind, [kind] if kind in FLOATS else [])
    for i, scalar in enumerate(scalars):
        a, b = ((bits >> 16 * i & 0xffff if kind == "f16x2" else bits) for bits in (got, want))
        if a != b and not exact.decode(a, scalar)[0] == exact.decode(b, scalar)[0] == "nan":
            return False
    return bool(scalars)


class Batch:
    """Plans with the same operands; `run` gives plan -> complaints."""

    def __init__(self, opcode, sources, plans):
        self.plans, self.sources = plans, sources
        self.tuples = (warps.TUPLES[opcode]() if opcode in warps.TUPLES else
                       values.tuples(opcode, sources))
        self.threads = -(-len(self.tuples) // BLOCK) * BLOCK
        padding = self.threads - len(self.tuples)
        padded = self.tuples + self.tuples[:1] * padding
        self.inputs = np.array(padded, dtype=np.uint64).T.copy()
        for i, kind in enumerate(sources):
            if kind != "pred" and size(kind) == 8:  # what stands above must not matter
                self.inputs[i] |= np.uint64(GARBAGE & 0xff00)

    def kernels(self, prefix):
        """(name, plans, text) of each kernel."""
        for first in range(0, len(self.plans), FORMS_A_KERNEL):
            chunk = self.plans[first:first + FORMS_A_KERNEL]
            name = f"{prefix}_{first}"
            lines, offset = load(self.sources, self.threads), 0
            for plan in chunk:
                lines += plan.code
                for result, kind in plan.results:
                    lines += store(result, kind, offset)
                    offset += 8 * self.threads
            yield name, chunk, (ENTRY.format(name=name, block=BLOCK, shared=16 * BLOCK) +
                                "\n".join(lines) + "\nret;\n}\n")

    def expected(self, plan, i, operands):
        """What a plan must give in thread i."""
        group = {"warp": 32, "block": BLOCK}.get(plan.where)
        if group is None:
            return plan.expected(*operands)
        first = i // group * group
        return plan.expected(i - first, self.tuples[first:first + group])

    def complaints(self, plans, outputs):
        """What is wrong with the results of one kernel's plans."""
        row, wrong = 0, []
        for plan in plans:
            count = len(plan.results)
            rows = outputs[row:row + count].tolist()
            row += count
            shown = 0
            for i, operands in enumerate(self.tuples):
                want = self.expected(plan, i, operands)
                if want is None:
                    continue
                got = tuple(r[i] for r in rows)
                if got == want or all(agree(kind, g, w) for (_, kind), g, w in
                                      zip(plan.results, got, want)):
                    continue
                shown += 1
                if shown <= SHOWN:
                    wrong.append(f"{plan.form.text} {plan.where} of " +
                                 ", ".join(map(hex, operands)) + " gives " +
                                 ", ".join(map(hex, got)) + ", not " +
                                 ", ".join(hex(w) if isinstance(w, int) else
                                           f"{float(w.value)!r} {w}" for w in want))
        return wrong


def run(device, opcode, plans):
    """Try all plans of an opcode; the complaints."""
    groups = defaultdict(list)
    for plan in plans:
        groups[plan.sources].append(plan)
    batches = [(Batch(opcode, sources, members), f"k{i}")
               for i, (sources, members) in enumerate(groups.items())]
    kernels = [(batch, *kernel) for batch, prefix in batches for kernel in batch.kernels(prefix)]
    constants = ".const .align 16 .b8 constants[16] = {" + ", ".join(map(str, CONSTANT)) + "};\n"
    text = HEADER + constants + "".join(kernel[3] for kernel in kernels)
    module = driver.Module(device, text.encode(), kernels[0][1])
    complaints = []
    try:
        for batch, name, chunk, _ in kernels:
            rows = sum(len(plan.results) for plan in chunk)
            outputs = np.full((rows, batch.threads), warps.UNTOUCHED, dtype=np.uint64)
            cells = batch.inputs[[0, 1 % len(batch.sources)]].T.copy()
            module(batch.threads // BLOCK, BLOCK, outputs, batch.inputs, cells,
                   Bytes(CONSTANT), entry=name)
            complaints += batch.complaints(chunk, outputs)
    finally:
        module.close()
    return complaints


class Bytes:
    """A parameter of bytes, as driver.Module wants them."""

    def __init__(self, text):
        self.text = text

    def tobytes(self):
        """The bytes."""
        return self.text
