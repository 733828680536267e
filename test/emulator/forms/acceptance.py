"""Which forms the emulator takes, and which ptxas takes for sm_61."""

import ctypes
import importlib.util
import re
import subprocess
import tempfile
from pathlib import Path

from candidates import size

HEADER = ".version 8.7\n.target sm_61\n.address_size 64\n"
KERNEL = (".visible .entry k(.param .align 16 .b8 arg[32]) {"
          "\n.reg .b16 %h<16>;\n.reg .b32 %r<16>;\n.reg .b64 %d<16>;\n.reg .pred %p<16>;\n"
          ".shared .align 16 .b8 cell[16];\ntable: .branchtargets there;\nthere:\n")
PREFIX = {1: "%p", 8: "%h", 16: "%h", 32: "%r", 64: "%d"}
ENDS_HERE = "no_such_instruction"


def instruction(form):
    """The form as a statement over registers that nothing sets."""
    if form.written or not form.operands:
        return f"{form.text} {form.written};"
    operands = []
    for number, kind in enumerate(form.operands):
        if kind == "lut":
            operands.append("0x96")
        elif kind == "[]":
            operands.append("[%d9]" if not form.has("shared") else "[%r9]")
        elif kind == "p|q":
            operands.append("%p1|%p2")
        else:
            operands.append(f"{PREFIX[size(kind)]}{number + 3}")
    return f"{form.text} {', '.join(operands)};"


class Emulator:
    """Asks by loading modules that cannot be loaded: the log tells how far it came."""

    def __init__(self, device):
        self.library, self.log = device.library, ctypes.create_string_buffer(1024)
        self.options = (ctypes.c_int * 2)(5, 6)
        self.values = (ctypes.c_void_p * 2)(ctypes.addressof(self.log), len(self.log))
        self.module = ctypes.c_void_p()

    def refusal(self, statement):
        """Why a statement is refused; None where it is taken."""
        text = (HEADER + KERNEL + statement + "\n" + ENDS_HERE + ";\n}\n")
        self.values[1] = len(self.log)  # the call replaces it by what it wrote
        self.library.cuModuleLoadDataEx(ctypes.byref(self.module), text.encode(), 2, self.options,
                                        self.values)
        said = self.log.value.decode()
        if not said:
            raise RuntimeError(f"no log for {statement}")
        return None if ENDS_HERE in said else said


class Assembler:
    """ptxas, from its Python package."""

    def __init__(self):
        spec = importlib.util.find_spec("nvidia.cuda_nvcc")
        if spec is None:
            raise RuntimeError("nvidia-cuda-nvcc-cu12 is not installed; run tools/setup.sh")
        self.path = Path(next(iter(spec.submodule_search_locations))) / "bin/ptxas"

    def refusals(self, statements):
        """Number of a statement -> why it is refused."""
        # -O0 is faster, but lacks what vote.sync needs before sm_70.
        votes = {n for n, statement in enumerate(statements) if statement.startswith("vote.sync")}
        others = set(range(len(statements))) - votes
        return (self._refusals(statements, sorted(others), "-O0") |
                self._refusals(statements, sorted(votes), "-O3"))

    def _refusals(self, statements, chosen, option):
        refused = {}
        for _ in range(len(chosen) + 1):
            left = [n for n in chosen if n not in refused]
            first = (HEADER + KERNEL).count("\n") + 1
            body = "\n".join(statements[n] for n in left)
            found = self._errors(HEADER + KERNEL + body + "\n}\n", option)
            if not found:
                return refused
            for line, why in found.items():
                refused[left[line - first]] = why
        raise RuntimeError("ptxas finds ever new errors")

    def _errors(self, text, option):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "forms.ptx"
            path.write_text(text)
            done = subprocess.run([str(self.path), "-arch=sm_61", option, str(path), "-o",
                                   str(Path(folder) / "cubin")],
                                  capture_output=True, text=True, check=False)
        errors = {}
        for line, why in re.findall(r"line (\d+); (?:error|fatal) *: (.*)", done.stderr):
            errors.setdefault(int(line), why)
        for line in re.findall(r"32-bit address on line '(\d+)'", done.stderr):
            errors.setdefault(int(line), "a 32-bit address")
        if done.returncode and not errors:
            raise RuntimeError(f"ptxas: {done.returncode} {done.stderr[-500:]}")
        return errors
