#!/usr/bin/env python3
"""Our emulator beside ONNX Runtime on the same CPU: the second run in one process of each.

    build/venv/bin/python tools/bench-ort.py [MODEL] [--limit RATIO] [--json FILE]

The emulator runs every instruction of the PTX, so it is slower; this says how much. ONNX Runtime
runs with all graph optimisations off, and on all cores, as the emulator does.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "test/models"), str(ROOT / "test/e2e")]

import harness  # noqa: E402  (the path comes first)
from fetch import open_store  # noqa: E402
from modelpack import reference  # noqa: E402
from modelpack.catalogue import find  # noqa: E402


def time_onnxruntime(bundle, manifest):
    """Seconds of the second run."""
    runner = reference.session(bundle / "model.onnx")
    feeds = {entry["name"]: np.load(bundle / entry["file"]) for entry in manifest["inputs"]}
    runner.run(None, feeds)
    start = time.perf_counter()
    runner.run(None, feeds)
    return time.perf_counter() - start


def time_emulator(product, bundle):
    """Seconds of the second run: one warm-up, one iteration."""
    with harness.scratch() as folder:
        artifact = f"{folder}/model.pasc"
        product.compile(bundle / "model.onnx", artifact)
        report = product.bench(artifact, f"{folder}/bench.json", "--warmup", "1",
                               "--iterations", "1")
    if report["kind"] != "emulated":
        raise harness.Failure(f"bench reports {report['kind']} times; the emulator's are wanted")
    return report["total_us"]["median"] / 1e6


def main():
    """Both times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", nargs="?", default="opennsfw_resnet50")
    parser.add_argument("--bin", type=Path, default=ROOT / "build/bin", metavar="DIR")
    parser.add_argument("--limit", type=float, metavar="RATIO", help="fail above this ratio")
    parser.add_argument("--json", type=Path, metavar="FILE")
    args = parser.parse_args()
    bundle, manifest = open_store().bundle(find(args.model))
    try:
        ours = time_emulator(harness.Product(args.bin), bundle)
    except harness.Failure as failure:
        sys.exit(f"bench-ort: {failure}")
    theirs = time_onnxruntime(bundle, manifest)
    ratio = ours / theirs
    print(f"{args.model}, {manifest['gmac']:.2f} GMAC: emulator {ours:.3f} s, "
          f"onnxruntime {theirs:.3f} s, ratio {ratio:.1f}")
    if args.json:
        args.json.write_text(json.dumps({"model": args.model, "emulator_s": ours,
                                         "onnxruntime_s": theirs, "ratio": ratio}) + "\n",
                             encoding="utf-8")
    if args.limit and ratio > args.limit:
        sys.exit(f"bench-ort: the ratio {ratio:.1f} is above {args.limit:g}")


if __name__ == "__main__":
    main()
