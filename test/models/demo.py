#!/usr/bin/env python3
"""The second half of tools/demo.sh: run the compiled model, compare, and print.

    demo.py MODEL FOLDER      FOLDER holds model.pasc

Prints each class with our score beside ONNX Runtime's, the worst error of every output, and the
kernels with their times.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from fetch import ROOT, open_store
from modelpack import tolerance
from modelpack.catalogue import find

TOOL = ROOT / "build/bin/pascaline"


def call(*words):
    """Run our tool; what it prints goes to the terminal."""
    result = subprocess.run([str(word) for word in (TOOL, *words)], check=False)
    if result.returncode != 0:
        sys.exit(f"demo: pascaline {words[0]} ended with exit {result.returncode}")


def run(bundle, manifest, folder):
    """Run on whatever device there is; output name -> array."""
    inputs = [word for entry in manifest["inputs"]
              for word in ("--input", f"{entry['name']}={bundle / entry['file']}")]
    call("run", folder / "model.pasc", *inputs, "--output-dir", folder / "outputs")
    files = {path.name: path for path in (folder / "outputs").iterdir()}
    return {output["name"]: np.load(files.get(f"{output['name']}.npy")
                                    or files[f"output_{i}.npy"])
            for i, output in enumerate(manifest["outputs"])}


def compare(bundle, manifest, got):
    """Print the worst error of every output; whether all are within tolerance."""
    fine = True
    for output in manifest["outputs"]:
        reference = np.load(bundle / output["file"])
        for rule in output["tolerance"]:
            passes, worst = tolerance.check(got[output["name"]], reference, rule)
            fine &= passes
            limit = rule["fp32"]
            print(f"  {output['name']}: worst error {worst:.2g}, "
                  f"{'within' if passes else 'OUTSIDE'} {limit['atol']:.2g} + "
                  f"{limit['rtol']:.2g} x |reference|")
    return fine


def print_scores(bundle, manifest, got):
    """A line for each class."""
    output = manifest["outputs"][0]
    scores, reference = got[output["name"]][0], np.load(bundle / output["file"])[0]
    print("  class            pascaline   ONNX Runtime")
    for label, ours, theirs in zip(manifest["labels"], scores, reference, strict=True):
        print(f"  {label:15s} {ours:10.6f} {theirs:14.6f}")


def main():
    """Run, compare, time."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    bundle, manifest = open_store().bundle(find(name))
    print("demo: running it", flush=True)
    got = run(bundle, manifest, folder)
    print(f"demo: the answer of {name} to a synthetic picture")
    print_scores(bundle, manifest, got)
    print("demo: against ONNX Runtime on the CPU, without graph optimisation")
    fine = compare(bundle, manifest, got)
    print("demo: timing its kernels", flush=True)
    call("bench", folder / "model.pasc", "--iterations", "1", "--warmup", "1", "--json",
         folder / "bench.json")
    if not fine:
        sys.exit("demo: the answer is outside its tolerance")


if __name__ == "__main__":
    main()
