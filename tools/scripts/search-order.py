#!/usr/bin/env python3
"""Search emission orders for a contraction tile (developers only).

  search-order.py --lab build/bin/contraction-lab --score PATH/TO/sass-score
                  [--tile N ...] [--kind packed --kind split ...] [--count 40]

Each order is assembled by ptxas and scored from its SASS; the best are printed
as EmissionOrder initialisers for compiler/kernels/contraction/Tile.cpp. Needs
ptxas and nvdisasm, which users do not have: hence a checked-in table.
"""
import argparse
import json
import os
import random
import subprocess
import tempfile

# Orders that start each line off the diagonal come first.
START = [("rows", 1, 1, 1, 0), ("columns", 1, 1, 1, 0), ("rows", 0, 1, 0, 0)]


def score(args, tile, kind, order):
    lab = subprocess.run([args.lab, str(tile), kind, *map(str, order)],
                         capture_output=True, text=True)
    if lab.returncode:
        raise SystemExit(lab.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.ptx")
        with open(path, "w") as file:
            file.write(lab.stdout)
        run = subprocess.run(["python3", args.score, "--json", path],
                             capture_output=True, text=True)
    if run.returncode == 2:
        raise SystemExit(run.stderr)
    kernels = json.loads(run.stdout)
    kernel = (kernels["kernels"] if isinstance(kernels, dict) else kernels)[0]
    return kernel["bound"] if not kernel["spills"] + kernel["local"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", required=True)
    parser.add_argument("--score", required=True)
    parser.add_argument("--tile", type=int, action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    space = [(outer, first, step, skew, after) for outer in ("rows", "columns")
             for first in range(8) for step in (1, 3, 5, 7)
             for skew in range(8) for after in (0, 4, 8)]
    orders = START + random.Random(1).sample(space, args.count)
    kinds = args.kind or ["packed", "split", "conv3x3"]
    for tile in args.tile or range(8):
        results = []
        for order in orders:
            scores = [score(args, tile, kind, order) for kind in kinds]
            results.append((sum(scores) / len(scores), order, scores))
        results.sort(reverse=True)
        for mean, (outer, *rest), scores in results[:5]:
            text = ", ".join([str(outer == "rows").lower(), *map(str, rest)])
            print(f"tile {tile}  {mean:.4f}  {{{text}}}  {scores}", flush=True)


if __name__ == "__main__":
    main()
