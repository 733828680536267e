"""Runs models with ONNX Runtime and measures how far harmless changes move the outputs."""

import warnings

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from . import graph

EXACT = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
OPTIMISED = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
ULP = 2.0 ** -23
HALF_MAX, HALF_BOUNDS = 65504.0, ("half/lowest", "half/highest")
SMALL_PARAMETER = 8  # tensors up to this size (epsilons, scales) are left alone by the probes

ort.set_default_logger_severity(4)


def session(model, level=EXACT):
    """A CPU inference session; model is a ModelProto or a path."""
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else str(model)
    return ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run(model, feeds, level=EXACT):
    """Output name -> array."""
    runner = session(model, level)
    names = [output.name for output in runner.get_outputs()]
    return dict(zip(names, runner.run(None, feeds), strict=True))


def typed_feeds(model, feeds):
    """The feeds in graph order with the dtypes the graph asks for."""
    dtypes = {value.name: helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
              for value in model.graph.input}
    return {name: np.asarray(feeds[name], dtype, order="C") for name, dtype in dtypes.items()}


def trace(model, feeds):
    """Name -> array of every top-level tensor, inputs included."""
    values = run(graph.expose_everything(model), feeds)
    return {**values, **feeds}


def variations(model, feeds, reference):
    """Outputs of runs that differ from the reference only by harmless rounding.

    They are ORT's fused kernels, and weights and inputs moved by about one ulp.
    """
    runs = _optimised_run(model, feeds)
    for seed in (1, 2):
        runs.append(run(_jitter_weights(model, seed), _jitter_feeds(feeds, seed)))
    return {name: [r[name] for r in runs if r[name].shape == array.shape]
            for name, array in reference.items()}


def _optimised_run(model, feeds):
    try:
        return [run(model, feeds, OPTIMISED)]
    except ort.capi.onnxruntime_pybind11_state.Fail as error:
        warnings.warn(f"onnxruntime cannot optimise {model.graph.name}: {error}", stacklevel=2)
        return []


def _is_jitterable(array):
    return array.dtype == np.float32 and array.size > SMALL_PARAMETER


def _jitter(array, rng):
    noise = rng.standard_normal(array.shape)
    return (array.astype(np.float64) * (1 + ULP * noise)).astype(np.float32)


def _jitter_feeds(feeds, seed):
    rng = np.random.default_rng(seed)
    return {k: _jitter(v, rng) if _is_jitterable(v) else v for k, v in feeds.items()}


def _jitter_weights(model, seed):
    rng = np.random.default_rng(seed)
    model = graph.copy(model)
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = numpy_helper.to_array(tensor)
            if _is_jitterable(array):
                tensor.CopyFrom(numpy_helper.from_array(_jitter(array, rng), tensor.name))
    return model


def stored_as_half(model, feeds):
    """Outputs when weights and what lies between the nodes are stored as half.

    Arithmetic, inputs and outputs stay float, and what half cannot hold becomes its largest value.
    It says how much of an error is the storage's.
    """
    values = trace(model, feeds)
    model = graph.copy(model)
    for tensor in model.graph.initializer:
        # Vectors are scales, shifts and variances, which are folded before anything is stored.
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) > 1:
            array = np.clip(numpy_helper.to_array(tensor), -HALF_MAX, HALF_MAX)
            tensor.CopyFrom(numpy_helper.from_array(
                array.astype(np.float16).astype(np.float32), tensor.name))
    results = {output.name for output in model.graph.output}
    nodes = []
    for node in list(model.graph.node):
        nodes.append(node)
        for i, name in enumerate(node.output):
            array = values.get(name)
            if (array is None or array.dtype != np.float32 or name in results
                    or node.op_type == "Constant"):
                continue
            node.output[i], clipped, half = (f"{name}/{what}" for what in ("float", "in", "half"))
            nodes.append(_clip(model, node.output[i], clipped))
            nodes.append(helper.make_node("Cast", [clipped], [half], to=TensorProto.FLOAT16))
            nodes.append(helper.make_node("Cast", [half], [name], to=TensorProto.FLOAT))
    model.graph.initializer.extend(numpy_helper.from_array(np.float32(bound), name)
                                   for name, bound in zip(HALF_BOUNDS, (-HALF_MAX, HALF_MAX)))
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return run(model, feeds)


def _clip(model, source, result):
    """A node that brings a float tensor into half's range; how it is said depends on the opset."""
    if graph.opsets(model).get("ai.onnx", 0) < 11:
        return helper.make_node("Clip", [source], [result], min=-HALF_MAX, max=HALF_MAX)
    return helper.make_node("Clip", [source, *HALF_BOUNDS], [result])


def uses_half(model):
    """Whether tensors of the graph are half already."""
    return any(tensor.data_type == TensorProto.FLOAT16 for tensor in model.graph.initializer)


def computed_in_float(model, feeds):
    """Outputs of a graph of half tensors when every one is float instead."""
    model = graph.copy(model)
    del model.graph.value_info[:]
    for tensor in model.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT16:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for node in model.graph.node:
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
            if attribute.t.data_type == TensorProto.FLOAT16:
                array = numpy_helper.to_array(attribute.t).astype(np.float32)
                attribute.t.CopyFrom(numpy_helper.from_array(array, attribute.t.name))
    return run(model, feeds)
