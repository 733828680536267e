"""Every instruction form that the emulator takes, against values computed without it.

    run.py [--library build/lib/libpascaline-emulator.so] [--only OPCODE...] [--json FILE]

candidates.py combines all modifiers of each opcode; acceptance.py asks the emulator and ptxas
which of these are forms of sm_61. One test an opcode: what ptxas refuses, the emulator must
refuse; what ptxas takes and the emulator refuses must stand in UNSUPPORTED, and nothing else may;
each form that the emulator takes must have a reference (integers.py, floats.py, choices.py,
plans.py, warps.py, in unbounded integers and fractions) and agree with it at the edges of its
types (values.py): to the bit, or for .approx within the error that the ISA states.
"""

import ctypes
import os
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "e2e"), str(HERE.parent / "cuda")]

import acceptance  # noqa: E402  (the paths come first)
import candidates  # noqa: E402
import driver  # noqa: E402
import harness  # noqa: E402
import kernels  # noqa: E402
import plans  # noqa: E402
import warps  # noqa: E402

# Forms of ptxas that the emulator refuses; docs/emulator.md lists them too.
UNSUPPORTED = {
    "addc": ["addc.u16", "addc.s16", "addc.sat.s32"],
    "subc": ["subc.u16", "subc.s16", "subc.sat.s32"],
    "madc": ["madc.lo.u16", "madc.lo.s16", "madc.hi.u16", "madc.hi.s16"],
    "rcp": ["rcp.rn.ftz.f64", "rcp.rz.ftz.f64", "rcp.rm.ftz.f64", "rcp.rp.ftz.f64"],
    "vote": ["vote.pred"],
    "isspacep": [f"isspacep.{space} of a 32-bit address"
                 for space in ("global", "shared", "shared::cta", "local", "const")],
    "fns": ["fns.b32"],
}
SHOWN = 5


def name_of(form):
    """What UNSUPPORTED calls a form."""
    narrow = form.opcode == "isspacep" and "%r" in form.written
    return form.text + (" of a 32-bit address" if narrow else "")


def some(sentences):
    """A few of many, and how many there are."""
    return f"{len(sentences)}: " + "; ".join(sentences[:SHOWN])


def check_acceptance(opcode, taken, refused, assembler):
    """The emulator and ptxas agree about an opcode's forms."""
    theirs = {form: why for form, why in assembler.items() if form.opcode == opcode}
    wrong = [f"{form.text} is taken, ptxas says: {theirs[form]}" for form in taken
             if form in theirs]
    if wrong:
        raise harness.Failure(some(wrong))
    missing = {name_of(form) for form in refused if form not in theirs}
    listed = set(UNSUPPORTED.get(opcode, []))
    if missing != listed:
        raise harness.Failure(f"refused though ptxas takes them, and not listed: "
                              f"{sorted(missing - listed)}; listed and not so: "
                              f"{sorted(listed - missing)}")


def check_traps(device, form):
    """trap and brkpt end the launch with an error."""
    text = acceptance.HEADER + ".visible .entry k() { " + form.text + "; ret; }\n"
    module = driver.Module(device, text.encode(), "k")
    try:
        module(1, 1)
    except RuntimeError:
        return
    finally:
        module.close()
    raise harness.Failure(f"{form.text} lets the kernel go on")


def check_values(device, opcode, taken):
    """Every form that is taken has a reference and agrees with it."""
    ways, unverified = [], []
    for form in taken:
        if opcode in ("trap", "brkpt"):
            check_traps(device, form)
            continue
        found = plans.plans(form) or warps.plans(form)
        ways += found
        if not found:
            unverified.append(form.text)
    if unverified:
        raise harness.Failure("taken and not verified, " + some(unverified))
    wrong = kernels.run(device, opcode, ways) if ways else []
    if wrong:
        raise harness.Failure("wrong results, " + some(wrong))


def check(device, opcode, taken, refused, assembler):
    """One opcode."""
    try:
        check_acceptance(opcode, taken, refused, assembler)
        check_values(device, opcode, taken)
    except RuntimeError as error:
        raise harness.Failure(" ".join(str(error).split())[:500]) from error


def main():
    """Run the chosen opcodes and report."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--library", type=Path,
                        default=harness.ROOT / "build/lib/libpascaline-emulator.so")
    args = parser.parse_args()
    report = harness.Report(args)
    os.environ.setdefault("PASCALINE_EMULATOR_CACHE", "off")
    device = driver.Device(args.library)
    context = ctypes.c_void_p()
    device.call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
    emulator = acceptance.Emulator(device)
    everything = list(candidates.candidates())
    statements = [acceptance.instruction(form) for form in everything]
    assembler = {everything[number]: why
                 for number, why in acceptance.Assembler().refusals(statements).items()}
    taken, refused = defaultdict(list), defaultdict(list)
    for form, statement in zip(everything, statements):
        where = taken if emulator.refusal(statement) is None else refused
        where[form.opcode].append(form)
    for opcode in sorted({form.opcode for form in everything}):
        report.run(opcode, lambda opcode=opcode: check(device, opcode, taken[opcode],
                                                       refused[opcode], assembler))
    report.run("all_opcodes", lambda: check_opcodes(everything))
    print(f"forms: {sum(map(len, taken.values()))} taken of {len(everything)} candidates")
    report.finish()


def check_opcodes(everything):
    """Nothing that the emulator's table names is left out."""
    table = (harness.ROOT / "runtime/emulator/translate/Opcodes.cpp").read_text()
    names = {line.split('"')[1] for line in table.splitlines()
             if line.startswith('    {"') and "emitUnsupported" not in line}
    elsewhere = {"call", "tex"}  # test/emulator/cuda and DriverTextureTest.cpp
    left = names - {form.opcode for form in everything} - elsewhere
    if not names or left:
        raise harness.Failure(f"no candidates for {sorted(left)} of {len(names)} opcodes")


if __name__ == "__main__":
    main()
