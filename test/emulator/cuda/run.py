"""CUDA C kernels of our own, compiled by NVRTC and run by the emulator, against numpy.

    run.py [--library build/lib/libpascaline-emulator.so] [--only WORD...] [--json FILE]

NVRTC is not our compiler and knows nothing of us, so what it emits checks that the emulator
runs PTX, not our PTX. Every case is one test; driver.py says what a case is.
"""

import sys
from pathlib import Path

import driver

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "e2e"))

import cases_arithmetic  # noqa: E402,F401  (the imports fill driver.CASES)
import cases_collective  # noqa: E402,F401
import cases_control  # noqa: E402,F401
import cases_memory  # noqa: E402,F401
import cases_numeric  # noqa: E402,F401
import cases_product  # noqa: E402,F401
import harness  # noqa: E402


def check(device, compiler, name):
    """Compile, load and run one case; a Failure says in one line what is wrong."""
    source, function = driver.CASES[name]
    try:
        ptx = compiler.ptx('extern "C" {' + source + "}", name + ".cu")
        module = driver.Module(device, ptx, name)
        try:
            function(module)
        finally:
            module.close()
    except (RuntimeError, AssertionError, ValueError) as error:
        raise harness.Failure(" ".join(str(error).split())) from error


def main():
    """Run the chosen cases and report."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--library", type=Path,
                        default=harness.ROOT / "build/lib/libpascaline-emulator.so")
    args = parser.parse_args()
    report = harness.Report(args)
    device, compiler = driver.Device(args.library), driver.Compiler()
    for name in driver.CASES:
        report.run(name, lambda name=name: check(device, compiler, name))
    report.finish()


if __name__ == "__main__":
    main()
