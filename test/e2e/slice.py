#!/usr/bin/env python3
"""The thinnest way through everything: relu(x w + b) compiled, run, and compared with ONNX Runtime."""

import numpy as np
import onnx
from onnx import helper

import graphs
import harness


def model(rows, inner, columns, rng):
    """(model, feeds) of relu(x w + b)."""
    weights = {"w": rng.standard_normal((inner, columns), np.float32),
               "b": rng.standard_normal(columns, np.float32)}
    feeds = {"x": rng.standard_normal((rows, inner), np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["product"], name="matmul"),
             helper.make_node("Add", ["product", "b"], ["sum"], name="add"),
             helper.make_node("Relu", ["sum"], ["y"], name="relu")]
    return graphs.node_graph(nodes, feeds, ["y"], weights), feeds


def main():
    """A size that fills tiles, sizes that do not, and one row."""
    args = harness.arguments(__doc__).parse_args()
    product, report = harness.product(args), harness.Report(args)
    for rows, inner, columns in [(128, 64, 128), (5, 7, 3), (1, 300, 130), (129, 1, 65)]:
        def test(rows=rows, inner=inner, columns=columns):
            proto, feeds = model(rows, inner, columns, np.random.default_rng(rows))
            expected = graphs.reference_outputs(proto, feeds)
            with harness.scratch() as folder:
                onnx.save(proto, f"{folder}/model.onnx")
                product.compile(f"{folder}/model.onnx", f"{folder}/model.pasc")
                got = product.run(f"{folder}/model.pasc", feeds, folder, ["y"])
            harness.expect_close("y", got["y"], expected["y"])
        report.run(f"slice-{rows}x{inner}x{columns}", test)
    report.finish()


if __name__ == "__main__":
    main()
