"""Small ONNX graphs and their reference answers."""

import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from harness import reference

IR_VERSION = 8


def node_graph(nodes, inputs, outputs, weights=None, opset=17):
    """A model of nodes; inputs and weights are name -> array, outputs a list of names.

    Output types and shapes are those that ONNX infers.
    """
    values = [helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in inputs.items()]
    results = [onnx.ValueInfoProto(name=name) for name in outputs]
    initializers = [numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
                    for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "test", values, results, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)],
                              ir_version=IR_VERSION)
    return onnx.shape_inference.infer_shapes(model, data_prop=True)


def reference_outputs(model, feeds):
    """Output name -> array by ONNX Runtime, or by ONNX's own evaluator where it has no kernel."""
    try:
        return reference.run(model, feeds)
    except reference.ort.capi.onnxruntime_pybind11_state.NotImplemented:
        return evaluate(model, feeds)


def evaluate(model, feeds):
    """Output name -> array by ONNX's own evaluator, which is slow and keeps to the letter."""
    evaluator = ReferenceEvaluator(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = evaluator.run(None, feeds)
    return {value.name: np.asarray(result)
            for value, result in zip(model.graph.output, results, strict=True)}
