"""Forms whose results come from other threads, from addresses, or from where control goes.

Shuffles, votes and barriers by the PTX ISA's pseudo-code; the plans run in kernels.py like all
others, but what is expected of a thread may depend on the operands of its warp or block.
"""

from itertools import product

from plans import BLOCK, Plan

PRESET = 0x5a5a5a5a
UNTOUCHED = 0xdeadbeefdeadbeef  # what outputs hold before a kernel runs
IN_MASK = ["mov.u32 %r90, %laneid;", "shr.u32 %r90, {mask}, %r90;", "and.b32 %r90, %r90, 1;",
           "setp.ne.u32 %p90, %r90, 0;"]


def pattern(lane):
    """A value that says whose it is."""
    return (lane * 0x9e3779b1 + 0x7f4a7c15) & 0xffffffff


def shuffle_tuples():
    """(value, b, c, mask) for every lane of a warp, for many b, c and masks."""
    cs = [0x1f, 0x00, 0x181f, 0x1c1f, 0x1e1f, 0x1800, 0x101f, 0x1000, 0x0f0f, 0xffffe01f]
    masks = [0xffffffff, 0x0000ffff, 0x80000001]
    rows = []
    for b, c, mask in product([0, 1, 2, 7, 16, 31, 33], cs, masks):
        rows += [(pattern(lane), b, c, mask) for lane in range(32)]
    for c in cs:  # a source of its own for each lane
        rows += [(pattern(lane), (5 * lane + 3) & 63, c, 0xffffffff) for lane in range(32)]
    return rows


def shuffle(form):
    """shfl{.sync}."""
    sync, pair = form.has("sync"), "|" in form.written
    mode = next(m for m in ("up", "down", "bfly", "idx") if form.has(m))

    def expected(lane, warp):
        value, b, c, mask = warp[lane]
        if not sync:
            mask = 0xffffffff
        if not mask >> lane & 1:
            return (PRESET, 0)[:1 + pair]
        segment, clamp, b = c >> 8 & 31, c & 31, b & 31
        most = lane & segment | clamp & ~segment
        source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b,
                  "idx": lane & segment | b & ~segment & 31}[mode]
        inside = source >= most if mode == "up" else source <= most
        if not inside:
            source = lane
        if not mask >> source & 1:
            return None  # from a lane that takes no part
        return (warp[source][0], int(inside))[:1 + pair]
    code = ["mov.u32 %r100, 0x5a5a5a5a;", "setp.ne.u32 %p100, 0, 0;"]
    operands = ("%r100|%p100" if pair else "%r100") + ", %r0, %r1, %r2"
    if sync:
        code += [line.format(mask="%r3") for line in IN_MASK]
        code.append(f"@%p90 {form.text} {operands}, %r3;")
    else:
        code.append(f"{form.text} {operands};")
    results = [("%r100", "b32"), ("%p100", "pred")][:1 + pair]
    return [Plan(form, ("b32",) * 4, code, results, expected, "warp")]


def vote_tuples():
    """(predicate, mask) for every lane."""
    rows = []
    for truths, mask in product([0, 0xffffffff, 1, 0x80000000, 0xfffffffe, 0x0000ffff, 0x55555555],
                                [0xffffffff, 0x0000ffff, 0x80000001, 0xfffffffe]):
        rows += [(truths >> lane & 1, mask) for lane in range(32)]
    return rows


def vote(form):
    """vote{.sync} and activemask."""
    guarded = form.has("sync") or form.opcode == "activemask"

    def expected(lane, warp):
        mask = warp[lane][1] if guarded else 0xffffffff
        if not mask >> lane & 1:
            return (0,)
        if form.opcode == "activemask":
            return (mask,)
        taking = [i for i in range(32) if mask >> i & 1]
        truths = [bool(warp[i][0]) for i in taking]
        if form.has("ballot"):
            return (sum(1 << i for i, truth in zip(taking, truths) if truth),)
        return (int({"all": all(truths), "any": any(truths),
                     "uni": all(truths) or not any(truths)}[form.modifiers[-2]]),)
    ballot = form.has("ballot") or form.opcode == "activemask"
    target, kind = ("%r100", "b32") if ballot else ("%p100", "pred")
    code = ["mov.u32 %r100, 0;", "setp.ne.u32 %p100, 0, 0;"]
    if guarded:
        code += [line.format(mask="%r1") for line in IN_MASK]
    operands = target + (", %p0" if form.opcode == "vote" else "") + (
        ", %r1" if form.has("sync") else "")
    code.append(f"{'@%p90 ' if guarded else ''}{form.text} {operands};")
    return [Plan(form, ("pred", "b32"), code, [(target, kind)], expected, "warp")]


def barrier_tuples():
    """(value, predicate) for every thread of a block, for many sets of predicates."""
    rows = []
    for number, truths in enumerate([lambda i: 0, lambda i: 1, lambda i: i == 77, lambda i: i != 5,
                                     lambda i: i % 3 == 0]):
        rows += [(pattern(i + 1000 * number), int(truths(i))) for i in range(BLOCK)]
    return rows


def barrier(form):
    """bar and barrier: what other threads wrote before is seen after; .red over the block."""
    counted = form.written.split(", ")
    operands = ("%r80, %r81" if form.written.startswith("%r3, ") else
                form.written.replace("64", str(BLOCK)).replace("%r3", "%r80"))
    code = ["mov.u32 %r80, 2;", f"mov.u32 %r81, {BLOCK};"]
    exchange = ["st.shared.u32 [%scell], %r0;", "xor.b32 %r82, %r300, 64;",
                "mul.wide.u32 %d80, %r82, 16;", "mov.u64 %d81, scell;", "add.u64 %d80, %d80, %d81;"]
    done = ["ld.shared.u32 %r100, [%d80];", "bar.sync 9;"]
    if form.has("red"):
        target, kind = ("%r100", "u32") if form.has("popc") else ("%p100", "pred")
        negated = counted[-1].startswith("!")
        operands = f"{target}, " + ("%r80, %r81, " if len(counted) == 4 else "1, ") + (
            "!" if negated else "") + "%p1"

        def expected(thread, block):
            truths = [bool(row[1]) != negated for row in block]
            return (sum(truths) if form.has("popc") else
                    int(all(truths) if form.has("and") else any(truths)),)
        return [Plan(form, ("b32", "pred"), code + [f"{form.text} {operands};"],
                     [(target, kind)], expected, "block")]
    if form.has("arrive"):  # the first half arrives, the second waits for it
        code += exchange + ["setp.lt.u32 %p90, %r300, 64;", f"@%p90 {form.text} {operands};",
                            f"@!%p90 bar.sync {operands};", "@%p90 mov.b64 %d80, %scell;"] + done
        return [Plan(form, ("b32", "pred"), code, [("%r100", "b32")],
                     lambda thread, block: (block[max(thread, thread ^ 64) ^ 64 if thread >= 64
                                                  else thread][0],), "block")]
    code += exchange + [f"{form.text} {operands};"] + done
    return [Plan(form, ("b32", "pred"), code, [("%r100", "b32")],
                 lambda thread, block: (block[thread ^ 64][0],), "block")]


ADDRESSES = {"global": ("%cell", "%cell"), "shared": ("%scell", "%gcell"),
             "local": ("%lcell", "%glcell"), "const": ("%d85", "%d86")}
CONSTANTS = ["mov.u64 %d85, constants;", "cvta.const.u64 %d86, %d85;"]


def convert_address(form):
    """cvta: to a generic address that loads the same, and back."""
    space = next(s for s in ADDRESSES if form.has(s) or form.has(s + "::cta"))
    own, generic = ADDRESSES[space]
    if form.has("to"):
        code = [f"{form.text} %d100, {generic};", f"sub.u64 %d100, %d100, {own};"]
        return [Plan(form, ("b64",), CONSTANTS + code, [("%d100", "b64")], lambda a: (0,))]
    give = [] if space == "const" else [f"st.{space}.u64 [{own}], %d0;"]
    code = give + [f"{form.text} %d100, {own};", "ld.u64 %d100, [%d100];",
                   f"ld.{space}.u64 %d101, [{own}];", "xor.b64 %d101, %d101, %d100;"]
    results = [("%d101", "b64")] + ([("%d100", "b64")] if give else [])
    return [Plan(form, ("b64",), CONSTANTS + code, results,
                 lambda a: (0, a) if give else (0,))]


def is_space(form):
    """isspacep of an address of every space."""
    asked = form.modifiers[0].split("::")[0]
    code, results, wanted = list(CONSTANTS), [], []
    for number, (space, (_, generic)) in enumerate(ADDRESSES.items()):
        code.append(f"{form.text} %p{100 + number}, {generic};")
        results.append((f"%p{100 + number}", "pred"))
        wanted.append(int(space == asked))
    return [Plan(form, ("b64",), code, results, lambda a: tuple(wanted))]


def unchanged(form):
    """Fences and hints: memory and registers are as they were."""
    operands = {"prefetch": "[%cell]" if not form.has("local") else "[%lcell]",
                "prefetchu": "[%cell]", "pmevent": "3"}.get(form.opcode, "")
    code = ["st.global.u64 [%cell], %d0;", f"{form.text} {operands};",
            "ld.global.u64 %d100, [%cell];"]
    return [Plan(form, ("b64",), code, [("%d100", "b64")], lambda a: (a,))]


def branch(form):
    """bra and brx.idx, taken by some threads (or, with .uni, by all)."""
    label = f"L{abs(hash(form.text)) % 10**8}"
    if form.opcode == "bra":
        guard, taken = ("", lambda a: True) if form.has("uni") else ("@%p0 ", bool)
        code = ["setp.ne.u32 %p0, %r0, 0;", "mov.u32 %r100, 1;", f"{guard}{form.text} {label};",
                "mov.u32 %r100, 2;", f"{label}:"]
        return [Plan(form, ("u32",), code, [("%r100", "u32")], lambda a: (1 if taken(a) else 2,))]
    index = ["and.b32 %r90, %r0, 3;"] if not form.has("uni") else ["mov.u32 %r90, 2;"]
    code = index + [f"{label}T: .branchtargets {label}A, {label}B, {label}C, {label}B;",
                    f"{form.text} %r90, {label}T;"]
    for number, name in enumerate("ABC"):
        code += [f"{label}{name}: mov.u32 %r100, {number};", f"bra {label}E;"]
    return [Plan(form, ("u32",), code + [f"{label}E:"], [("%r100", "u32")],
                 lambda a: (2 if form.has("uni") else (0, 1, 2, 1)[a & 3],))]


def end(form):
    """ret and exit, at first by threads with an odd operand, in the end by all."""
    code = ["and.b32 %r90, %r0, 1;", "setp.ne.u32 %p90, %r90, 0;", f"@%p90 {form.text};",
            "mov.u32 %r100, 7;"]
    return [Plan(form, ("u32",), code, [("%r100", "u32")],
                 lambda a: (UNTOUCHED if a & 1 else 7,))]


PLANS = {"shfl": shuffle, "vote": vote, "activemask": vote, "bar": barrier, "barrier": barrier,
         "cvta": convert_address, "isspacep": is_space, "membar": unchanged,
         "prefetch": unchanged, "prefetchu": unchanged, "pmevent": unchanged, "bra": branch,
         "brx": branch, "ret": end, "exit": end}
TUPLES = {"shfl": shuffle_tuples, "vote": vote_tuples, "activemask": vote_tuples,
          "bar": barrier_tuples, "barrier": barrier_tuples}


def warp_barrier(form):
    """bar.warp.sync: what the warp's lanes wrote before is seen after."""
    code = ["st.shared.u32 [%scell], %r0;", "xor.b32 %r82, %r300, 31;",
            "mul.wide.u32 %d80, %r82, 16;", "mov.u64 %d81, scell;", "add.u64 %d80, %d80, %d81;",
            "mov.u32 %r90, -1;", f"{form.text} %r90;", "ld.shared.u32 %r100, [%d80];", "bar.sync 9;"]
    return [Plan(form, ("b32", "pred"), code, [("%r100", "b32")],
                 lambda thread, block: (block[thread ^ 31][0],), "block")]


def plans(form):
    """All ways to try a form; none where it is not this file's."""
    if form.opcode == "bar" and form.has("warp"):
        return warp_barrier(form)
    return PLANS[form.opcode](form) if form.opcode in PLANS else []
