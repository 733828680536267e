"""An ONNX model as `check` needs it: names, every tensor's reference value, and cut-out parts.

Needs the packages onnx and onnxruntime.
"""

from __future__ import annotations

from typing import Iterable, Mapping, Optional

import numpy as np

from ._libraries import Error
from ._static_inputs import static_inputs

try:
    import onnx
    import onnxruntime
except ImportError as _missing:
    raise Error(f"check compares with ONNX Runtime, and the package {_missing.name!r} is not "
                "installed; pip install onnx onnxruntime") from _missing

_ULP = 2.0 ** -23
_SMALL = 8  # tensors up to this size (epsilons, scales) are not jittered
# What hands on its first operand's values.
_REARRANGING = ("Cast", "Concat", "Expand", "Flatten", "Gather", "Identity", "Reshape", "Slice",
                "Split", "Squeeze", "Tile", "Transpose", "Unsqueeze")
_MOST_BYTES = 2 ** 31 - 1  # of a protobuf message


class Graph:
    """A model, its nodes under the names that the compiler gives them, and who reads what."""

    def __init__(self, path: str):
        try:
            self.model = onnx.load(path)
        except Exception as error:  # protobuf's and onnx's errors have no common base
            raise Error(f"{path}: onnx cannot read it: {error}") from error
        graph = self.model.graph
        self.nodes = list(graph.node)
        self.labels = [node.name or f"{node.op_type} #{index}"
                       for index, node in enumerate(self.nodes)]
        self.constants = {tensor.name: tensor for tensor in graph.initializer}
        self.inputs = [value for value in graph.input if value.name not in self.constants]
        self.outputs = [value.name for value in graph.output]
        self.maker = {name: index for index, node in enumerate(self.nodes)
                      for name in node.output if name}
        self.readers: dict[str, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for name in _reads(node):
                self.readers.setdefault(name, []).append(index)
        self.order = {name: place for place, name in enumerate(
            name for index in _sorted(self.nodes, self.maker) for name in self.nodes[index].output
            if name)}
        self.fixed = self._fixed()

    def _fixed(self) -> set[str]:
        """Tensors that depend on constants alone."""
        fixed = set(self.constants)
        for name in self.order:
            node = self.nodes[self.maker[name]]
            if all(read in fixed for read in _reads(node)):
                fixed.add(name)
        return fixed

    def where(self, tensor: str) -> tuple[str, str]:
        """The node that makes a tensor: its label and its operator."""
        index = self.maker[tensor]
        return self.labels[index], self.nodes[index].op_type

    def by_label(self) -> dict[str, list[int]]:
        """Nodes of a label; names need not be unique."""
        result: dict[str, list[int]] = {}
        for index, label in enumerate(self.labels):
            result.setdefault(label, []).append(index)
        return result

    def trace(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Every tensor's value as ONNX Runtime computes it, node by node."""
        return _run(self._exposed(self.model), feeds)

    def spreads(self, feeds: Mapping[str, np.ndarray],
                reference: Mapping[str, np.ndarray]) -> dict[str, float]:
        """How far one-ulp changes of inputs and weights move each tensor of floats."""
        from ._tolerance import worst  # pylint: disable=import-outside-toplevel
        spreads: dict[str, float] = {}
        for seed in (1, 2):
            rng = np.random.default_rng(seed)
            model = self._exposed(self.model)
            for tensor in model.graph.initializer:
                if tensor.data_type == onnx.TensorProto.FLOAT:
                    array = onnx.numpy_helper.to_array(tensor)
                    if array.size > _SMALL:
                        tensor.CopyFrom(onnx.numpy_helper.from_array(_jitter(array, rng),
                                                                     tensor.name))
            moved = {name: _jitter(array, rng) if array.dtype == np.float32 else array
                     for name, array in feeds.items()}
            for name, array in _run(model, moved).items():
                expected = reference.get(name)
                if expected is None or expected.dtype.kind != "f" or array.shape != expected.shape:
                    continue
                spread = worst(array, expected)
                if np.isfinite(spread):
                    spreads[name] = max(spreads.get(name, 0.0), spread)
        return spreads

    def _exposed(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """A copy in which every tensor of the graph is an output."""
        clone = onnx.ModelProto()
        clone.CopyFrom(model)
        present = set(self.outputs)
        clone.graph.output.extend(onnx.ValueInfoProto(name=name) for name in self.order
                                  if name not in present)
        return clone

    def cut(self, indices: Iterable[int], values: Mapping[str, np.ndarray],
            outputs: Iterable[str]) -> tuple[bytes, dict[str, np.ndarray]]:
        """These nodes as a model of their own, and its inputs: the reference's values. What
        depends on constants alone stays constant."""
        chosen = sorted(set(indices))
        made = {name for index in chosen for name in self.nodes[index].output}
        read = {name for index in chosen for name in _reads(self.nodes[index])} - made
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        graph = model.graph
        for field in ("node", "initializer", "input", "output", "value_info", "sparse_initializer",
                      "quantization_annotation"):
            graph.ClearField(field)
        graph.node.extend(self.nodes[index] for index in chosen)
        graph.input.extend(_value_info(name, values[name]) for name in sorted(read)
                           if name not in self.constants)
        baked = static_inputs(graph) | (self.fixed & read)
        feeds = {}
        graph.ClearField("input")
        for name in sorted(read):
            if name in self.constants:
                graph.initializer.append(self.constants[name])
            elif name in baked:
                graph.initializer.append(onnx.numpy_helper.from_array(values[name], name))
            else:
                graph.input.append(_value_info(name, values[name]))
                feeds[name] = values[name]
        graph.output.extend(_value_info(name, values[name]) for name in outputs)
        return _serialized(model), feeds


def _reads(node: onnx.NodeProto) -> list[str]:
    """The tensors that a node reads, those of its subgraphs included."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for graph in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
            own = {name for inner in graph.node for name in inner.output}
            own |= {value.name for value in graph.input} | {t.name for t in graph.initializer}
            names += [name for inner in graph.node for name in _reads(inner) if name not in own]
    return names


def _sorted(nodes: list[onnx.NodeProto], maker: Mapping[str, int]) -> list[int]:
    """Nodes in topological order; the model's own order where it is one."""
    done, order = set(), []
    for start in range(len(nodes)):
        pending = [start]
        while pending:
            index = pending[-1]
            if index in done:
                pending.pop()
                continue
            missing = [maker[name] for name in _reads(nodes[index])
                       if name in maker and maker[name] not in done]
            if missing and len(pending) <= len(nodes):
                pending += missing
                continue
            done.add(index)
            order.append(index)
            pending.pop()
    return order


def _value_info(name: str, array: np.ndarray) -> onnx.ValueInfoProto:
    return onnx.helper.make_tensor_value_info(
        name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def _jitter(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    noise = rng.standard_normal(array.shape)
    # An array of rank 0 would become a number, which ONNX Runtime does not take.
    return np.asarray(array.astype(np.float64) * (1 + _ULP * noise), np.float32)


def _serialized(model: onnx.ModelProto) -> bytes:
    if model.ByteSize() > _MOST_BYTES:
        raise Error(f"check takes models up to 2 GiB, and this one has {model.ByteSize()} bytes; "
                    "check a part of it")
    return model.SerializeToString()


def _run(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    content = _serialized(model)
    try:
        session = onnxruntime.InferenceSession(content, options,
                                               providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        values = session.run(None, dict(feeds))
    except Exception as error:  # its exceptions have no common base either
        raise Error(f"ONNX Runtime cannot run this model: {str(error).splitlines()[0]}") from error
    return {name: value for name, value in zip(names, values) if isinstance(value, np.ndarray)}


def make_feeds(graph: Graph, given: Mapping[str, np.ndarray],
               shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, np.ndarray]:
    """The arrays of all inputs: those given, and for the others numbers of a seed. Floats are
    normally distributed; indices of a table are within it; other integers are 0 to 7, bytes and
    truth values whatever they can be."""
    rng = np.random.default_rng(seed)
    feeds = {}
    unknown = (set(given) | set(shapes)) - {value.name for value in graph.inputs}
    if unknown:
        raise Error(f"the model has no input {sorted(unknown)[0]!r}; it has "
                    + ", ".join(value.name for value in graph.inputs))
    for value in graph.inputs:
        if value.name in given:
            feeds[value.name] = np.ascontiguousarray(given[value.name])
            continue
        if value.type.WhichOneof("value") != "tensor_type":
            raise Error(f"input {value.name!r} is no tensor")
        shape = shapes[value.name] if value.name in shapes else _declared_shape(value)
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        feeds[value.name] = _numbers(rng, np.dtype(dtype), shape, _bound(graph, value.name))
    return feeds


def open_inputs(graph: Graph) -> set[str]:
    """Inputs whose shape the model leaves open."""
    return {value.name for value in graph.inputs if None in _dims(value)}


def _dims(value: onnx.ValueInfoProto) -> list[Optional[int]]:
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [None]
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]


def _declared_shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    dims = _dims(value)
    if None in dims:
        raise Error(f"input {value.name!r} has dynamic dimensions; bind them with "
                    f"--shape {value.name}=1x3x224x224, or give --input {value.name}=FILE.npy")
    return tuple(dims)


def _bound(graph: Graph, name: str) -> Optional[int]:
    """The size of the smallest constant table that an input's values index, themselves or picked
    out and rearranged."""
    sizes, pending, seen = [], [name], set()
    while pending:
        tensor = pending.pop()
        if tensor in seen:
            continue
        seen.add(tensor)
        for index in graph.readers.get(tensor, []):
            node = graph.nodes[index]
            if node.op_type in _REARRANGING and node.input[0] == tensor:
                pending.extend(node.output)
            elif (node.op_type == "Gather" and node.input[1] == tensor
                  and node.input[0] in graph.constants):
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                sizes.append(graph.constants[node.input[0]].dims[axis])
    return min(sizes) if sizes else None


def _numbers(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...],
             bound: Optional[int]) -> np.ndarray:
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if bound is not None:
            low, high = 0, bound
        elif dtype.itemsize == 1:
            low, high = info.min, info.max + 1
        else:
            low, high = 0, 8
        return rng.integers(low, high, shape).astype(dtype)
    raise Error(f"numbers of type {dtype} cannot be made up; give --input for it")
