"""Writes one model, its inputs and its reference outputs to a folder, and describes them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

from . import graph, reference, tolerance
from .archives import version_of


@dataclass(frozen=True)
class Spec:
    """One model: where it comes from and how to feed it."""

    name: str
    kind: str
    licence: str
    load: Callable  # Archives -> ModelProto
    feeds: Callable  # Archives -> {input name: array}
    package: str | None = None
    member: str | None = None
    parts: dict = field(default_factory=dict)  # output name -> {label: (axis, start, stop)}
    labels: Callable | None = None  # Archives -> [class name]


class Store:
    """A folder of finished bundles: <name>/model.onnx, input_*.npy, output_*.npy, manifest.json.

    A bundle is built once and kept until its recipe changes: the pinned package, this code, or
    the versions of onnx, onnxruntime and numpy.
    """

    def __init__(self, folder, archives):
        self.folder, self.archives = Path(folder), archives

    def bundle(self, spec):
        """(folder, manifest) of a model, which is built if it is not there."""
        folder = self.folder / spec.name
        recipe = self._recipe(spec)
        try:
            manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
            if manifest["recipe"] == recipe:
                return folder, manifest
        except (OSError, ValueError, KeyError):
            pass
        manifest = {"recipe": recipe, **build(spec, self.archives, folder)}
        text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
        (folder / "manifest.json").write_text(text, encoding="utf-8")
        return folder, manifest

    def _recipe(self, spec):
        digest = hashlib.sha256()
        for source in sorted(Path(__file__).parent.glob("*.py")):
            digest.update(source.read_bytes())
        versions = onnx.__version__, reference.ort.__version__, np.__version__
        pin = self.archives.pins[spec.package] if spec.package else ""
        digest.update(repr((spec.name, pin, versions)).encode())
        return digest.hexdigest()


def build(spec, archives, folder):
    """Write the bundle and return its description."""
    if spec.package:
        archives.download([spec.package])
    model, feeds, outputs, added = prepare(spec.load(archives), spec.feeds(archives))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.json").unlink(missing_ok=True)  # what follows is not finished
    onnx.save(model, folder / "model.onnx")
    entry = {"name": spec.name, "kind": spec.kind, "licence": spec.licence}
    if spec.package:
        entry["package"] = f"{spec.package}=={version_of(archives.pins[spec.package])}"
        entry["member"] = spec.member
    if spec.labels:
        entry["labels"] = spec.labels(archives)
    entry.update(_describe(model, feeds, folder / "model.onnx"))
    entry["added_outputs"] = added
    entry["inputs"] = _save_arrays(feeds, folder, "input")
    entry["outputs"] = _save_arrays(outputs, folder, "output")
    runs = reference.variations(model, feeds, outputs)
    entry["is_half"] = reference.uses_half(model)
    half = (reference.computed_in_float if entry["is_half"] else reference.stored_as_half)(
        model, feeds)
    for output in entry["outputs"]:
        name = output["name"]
        output["tolerance"] = tolerance.derive(outputs[name], runs[name], half[name],
                                             spec.parts.get(name), entry["is_half"])
    return entry


def prepare(model, feeds):
    """Static shapes and exposed logits: (model, feeds, reference outputs, added names)."""
    model = graph.freeze_inputs(model, feeds)
    added = graph.expose_logits(model)
    feeds = reference.typed_feeds(model, feeds)
    outputs = reference.run(model, feeds)
    graph.freeze_outputs(model, outputs)
    return model, feeds, outputs, added


def _describe(model, feeds, path):
    traced = reference.trace(model, feeds)
    shapes = {name: np.shape(array) for name, array in traced.items()}
    ops = graph.op_counts(model)
    return {"bytes": path.stat().st_size,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "opset": graph.opsets(model), "nodes": sum(ops.values()), "ops": ops,
            "gmac": graph.count_macs(model, shapes) / 1e9}


def _save_arrays(arrays, folder, stem):
    entries = []
    for i, (name, array) in enumerate(arrays.items()):
        file = f"{stem}_{i}.npy"
        np.save(folder / file, array)
        entries.append({"name": name, "file": file, "dtype": str(array.dtype),
                        "shape": list(array.shape)})
    return entries
