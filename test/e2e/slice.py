#!/usr/bin/env python3
"""The thinnest way through everything, relu(x w + b), and the shapes a model file may come in.

Sizes that fill tiles and sizes that do not; dimensions bound by --shape, weights in another file,
nodes out of order, defaults that are inputs, names that are no file names.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import graphs
import harness


def build(rows, inner, columns, output="y"):
    """(model, feeds) of relu(x w + b)."""
    rng = np.random.default_rng(rows)
    weights = {"w": rng.standard_normal((inner, columns), np.float32),
               "b": rng.standard_normal(columns, np.float32)}
    feeds = {"x": rng.standard_normal((rows, inner), np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
             helper.make_node("Add", ["product", "b"], ["sum"], name="add"),
             helper.make_node("Relu", ["sum"], [output], name="relu")]
    return graphs.node_graph(nodes, feeds, [output], weights), feeds


def convolution(batch, height, width):
    """(model, feeds): a convolution, its mean over the picture, and a matmul; only channels are
    fixed."""
    rng = np.random.default_rng(batch * height)
    weights = np.random.default_rng(0)
    constants = [numpy_helper.from_array(weights.standard_normal(shape, np.float32), name)
                 for name, shape in [("w", (8, 4, 3, 3)), ("v", (8, 5))]]
    nodes = [helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
             helper.make_node("GlobalAveragePool", ["c"], ["p"], name="mean"),
             helper.make_node("Flatten", ["p"], ["f"], name="flat"),
             helper.make_node("MatMul", ["f", "v"], ["y"], name="matmul")]
    values = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 4, "h", "w"]),
              helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 5])]
    graph = helper.make_graph(nodes, "convolution", values[:1], values[1:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return model, {"x": rng.standard_normal((batch, 4, height, width), np.float32)}


class Slice:
    """The tests."""

    def __init__(self, product):
        self.product = product

    def tests(self):
        """(name, function) of all tests."""
        for sizes in [(128, 64, 128), (5, 7, 3), (1, 300, 130), (129, 1, 65)]:
            yield f"slice/{'x'.join(map(str, sizes))}", lambda s=sizes: self.check(*build(*s))
        yield "slice/dynamic-dimension", self.dynamic
        yield "slice/shape-sets", self.shape_sets
        yield "slice/external-data", self.external_data
        yield "slice/unsorted-nodes", self.unsorted
        yield "slice/default-input", self.default_input
        yield "slice/default-input-made-an-input", self.default_made_input
        yield "slice/stale-value-info", self.stale_value_info
        for output in ["a/b:0", "..", "-o", "x" * 300, "ü", "a b", ".hidden"]:
            yield f"slice/output-named-{output[:8]}", lambda o=output: self.check(
                *build(5, 7, 3, o))

    def check(self, model, feeds, options=(), reference_model=None, save=onnx.save):
        """Compile with options, run, compare."""
        expected = graphs.reference_outputs(reference_model or model, feeds)
        [output] = expected
        with harness.scratch() as folder:
            save(model, f"{folder}/model.onnx")
            self.product.compile(f"{folder}/model.onnx", f"{folder}/model.pasc", *options)
            got = self.product.run(f"{folder}/model.pasc", feeds, folder, [output])
        harness.expect_close(output, got[output], expected[output])

    def dynamic(self):
        """A named and an unnamed dimension, bound on the command line."""
        model, feeds = build(5, 7, 3)
        dimensions = model.graph.input[0].type.tensor_type.shape.dim
        dimensions[0].dim_param = "batch"
        dimensions[1].ClearField("dim_value")
        del model.graph.value_info[:]
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "batch"
        self.check(model, feeds, ["--shape", "x=5x7"])

    def shape_sets(self):
        """One artifact for several shapes: each run's inputs choose, the weights are there once."""
        sizes = [(1, 8, 12), (3, 8, 12), (2, 20, 20)]
        model, _ = convolution(*sizes[0])
        with harness.scratch() as folder:
            onnx.save(model, f"{folder}/m.onnx")
            shapes = [f"{batch}x4x{height}x{width}" for batch, height, width in sizes]
            for name, chosen in [("one", shapes[:1]), ("all", shapes)]:
                self.product.compile(f"{folder}/m.onnx", f"{folder}/{name}.pasc",
                                     "--shape", f"x={','.join(chosen)}")
            for size in sizes:
                _, feeds = convolution(*size)
                got = self.product.run(f"{folder}/all.pasc", feeds, folder, ["y"])
                harness.expect_close("y", got["y"], graphs.reference_outputs(model, feeds)["y"])
            one, every = (self.product.inspect(f"{folder}/{name}.pasc") for name in ("one", "all"))
            if every["memory"]["weights"] != one["memory"]["weights"]:
                raise harness.Failure(f"three shape sets have {every['memory']['weights']} bytes of "
                                      f"weights, one has {one['memory']['weights']}")
            _, feeds = convolution(2, 8, 12)
            try:
                self.product.run(f"{folder}/all.pasc", feeds, folder, ["y"])
            except harness.Failure as error:
                if "and not for x 2x4x8x12" in str(error):
                    return
                raise
            raise harness.Failure("a shape that the model is not compiled for is run")

    def external_data(self):
        """Weights in a file beside the model."""
        model, feeds = build(5, 7, 3)
        self.check(model, feeds, reference_model=build(5, 7, 3)[0],
                   save=lambda m, path: onnx.save(m, path, save_as_external_data=True,
                                                  location="weights.bin", size_threshold=0))

    def unsorted(self):
        """A node before the one that it reads."""
        model, feeds = build(5, 7, 3)
        shuffled = onnx.ModelProto()
        shuffled.CopyFrom(model)
        del shuffled.graph.node[:]
        shuffled.graph.node.extend(reversed(model.graph.node))
        self.check(shuffled, feeds, reference_model=model)

    def default_input(self):
        """An initializer that is a graph input too is a constant."""
        model, feeds = build(5, 7, 3)
        model.graph.input.append(helper.make_tensor_value_info("w", 1, [7, 3]))
        self.check(model, feeds)

    def default_made_input(self):
        """... unless --shape names it."""
        model, feeds = build(5, 7, 3)
        model.graph.input.append(helper.make_tensor_value_info("w", 1, [7, 3]))
        feeds = {**feeds, "w": np.random.default_rng(4).standard_normal((7, 3), np.float32)}
        self.check(model, feeds, ["--shape", "w=7x3"])

    def stale_value_info(self):
        """Types of inner values that an exporter wrote wrongly do not matter."""
        model, feeds = build(5, 7, 3)
        del model.graph.value_info[:]
        model.graph.value_info.append(helper.make_tensor_value_info("sum", 1, [None, 3]))
        self.check(model, feeds)


def main():
    """All of them."""
    args = harness.arguments(__doc__).parse_args()
    report = harness.Report(args)
    report.run_all(list(Slice(harness.product(args)).tests()), args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
