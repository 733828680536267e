"""What the emulator costs on this machine: loading with and without its cache
of machine code, and GFLOP a second of CPU time on a model's kernels.

    tools/emulator-speed.py MODEL.pasc [--pascaline build/bin/pascaline]

CPU time, not wall time, so that a busy machine gives the same numbers. The
GFLOP of a run are those that `pascaline bench` counts.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile


def cpu_seconds(command, environment):
    """User and system time of a command and its threads."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime - before.ru_utime +
            after.ru_stime - before.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--pascaline", default="build/bin/pascaline")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, PASCALINE_EMULATOR_CACHE=folder + "/c")
        report = folder + "/bench.json"

        def bench(iterations):
            return cpu_seconds(
                [options.pascaline, "bench", options.model, "--device",
                 "emulator", "--warmup", "0", "--iterations", str(iterations),
                 "--json", report], environment)

        cold, warm, more = bench(1), bench(1), bench(11)
        with open(report) as file:
            kernels = json.load(file)["kernels"]
    run = (more - warm) / 10
    flop = sum(kernel.get("flops", 0) for kernel in kernels)
    print(f"load: {cold - run:.2f} s of CPU cold, {warm - run:.2f} s cached "
          f"({(cold - run) / (warm - run):.1f} times)")
    print(f"run: {run:.3f} s of CPU, {flop * 1e-9:.2f} GFLOP, "
          f"{flop * 1e-9 / run:.1f} GFLOP/s a core")


main()
