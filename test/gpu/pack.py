#!/usr/bin/env python3
"""Packs compiled models and graphs with their answers, for a machine that has nothing but a GPU.

    pack.py FOLDER [--models NAME...] [--no-ops]

Writes FOLDER/items/<item>/{model.pasc, input_*.npy, output_*.npy, item.json}, the runtime, and
check.py, which needs only Python's standard library.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "test/models"), str(ROOT / "test/e2e")]

import harness  # noqa: E402  (the path comes first)
import onnx  # noqa: E402
import ops  # noqa: E402
from fetch import open_store  # noqa: E402
from modelpack import tolerance  # noqa: E402
from modelpack.catalogue import TESTED, find  # noqa: E402

RUNTIME = ["bin/pascaline", "lib/libpascaline.so*", "lib/libpascaline-emulator.so*"]


def pack_model(name, product, store, folder):
    """One model of the catalogue."""
    bundle, manifest = store.bundle(find(name))
    folder.mkdir(parents=True)
    product.compile(bundle / "model.onnx", folder / "model.pasc")
    inputs, outputs = [], []
    for entry in manifest["inputs"]:
        shutil.copy(bundle / entry["file"], folder)
        inputs.append([entry["name"], entry["file"]])
    for i, entry in enumerate(manifest["outputs"]):
        shutil.copy(bundle / entry["file"], folder)
        [rule] = entry["tolerance"]
        outputs.append({"got": harness.output_file(entry["name"], i), "want": entry["file"],
                        "exact": bool(rule.get("exact")), **rule.get("fp32", {})})
    write_item(folder, name, inputs, outputs)


def pack_case(case, product, folder):
    """One case of ops.py; whether the compiler supports it."""
    expected = case.expected()
    with harness.scratch() as scratch:
        onnx.save(case.model, f"{scratch}/model.onnx")
        try:
            product.compile(f"{scratch}/model.onnx", f"{scratch}/model.pasc")
        except harness.Failure:
            return False
        folder.mkdir(parents=True)
        shutil.copy(f"{scratch}/model.pasc", folder)
    inputs, outputs = [], []
    for i, (name, array) in enumerate(case.feeds.items()):
        np.save(folder / f"input_{i}.npy", array)
        inputs.append([name, f"input_{i}.npy"])
    for i, name in enumerate(case.outputs):
        array = expected[name]
        np.save(folder / f"output_{i}.npy", array)
        outputs.append({"got": harness.output_file(name, i), "want": f"output_{i}.npy",
                        **limits(array, **case.compare)})
    write_item(folder, case.name, inputs, outputs)
    return True


def limits(array, rtol=1e-4, atol_of_range=1e-5, atol=0.0, exact=None):
    """harness.expect_close's arguments as numbers."""
    if array.dtype.kind != "f":
        return {"exact": True}
    return {"exact": bool(exact), "rtol": rtol,
            "atol": atol + atol_of_range * tolerance.value_range(array)}


def write_item(folder, name, inputs, outputs):
    """What check.py reads."""
    text = json.dumps({"name": name, "inputs": inputs, "outputs": outputs}, indent=1)
    (folder / "item.json").write_text(text + "\n", encoding="utf-8")


def pack_runtime(folder):
    """The tool, the libraries, and the checker."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in RUNTIME:
        for source in (ROOT / "build").glob(pattern):
            target = folder / source.relative_to(ROOT / "build")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target, follow_symlinks=False)
    shutil.copy(HERE / "check.py", folder)


def main():
    """Everything that compiles."""
    parser = harness.arguments(__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", nargs="*", default=TESTED, metavar="NAME")
    parser.add_argument("--no-ops", action="store_true", help="models only")
    args = parser.parse_args()
    product, store = harness.product(args), open_store()
    shutil.rmtree(args.folder, ignore_errors=True)
    pack_runtime(args.folder)
    for name in args.models:
        pack_model(name, product, store, args.folder / "items" / name)
        print(f"pack: {name}", flush=True)
    count = 0
    cases = [] if args.no_ops else [case for family in ops.FAMILIES for case in family.cases()]
    for case in cases:
        if not args.only or any(word in case.name for word in args.only):
            folder = args.folder / "items" / case.name.replace("/", "-")
            count += pack_case(case, product, folder)
    print(f"pack: {len(args.models)} models, {count} of {len(cases)} small graphs in {args.folder}")


if __name__ == "__main__":
    main()
