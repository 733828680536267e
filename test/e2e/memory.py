#!/usr/bin/env python3
"""The memory plan on small graphs of known families: answers stay right, the arena is within
1.05 of the largest sum of live bytes and of what ONNX's own order needs, and smaller than that
where a family is known to gain from another order, from slices or from results in place.
"""

import json
from pathlib import Path

import numpy as np
from onnx import helper

import graphs
import harness
from harness import Failure

SEED = 20260202
NEAR = 1.05   # arena over its lower bound

# family -> the most that its arena may be of what ONNX's order needs, in float and in half
GAINS = {"branches": (0.30, 0.30), "inception": (0.80, 0.80), "densenet": (0.80, 0.55),
         "unet": (1.00, 1.00), "transformer": (1.00, 1.00), "in_place": (0.55, 1.00)}


class Net:
    """Nodes in the order they are written, with weights made as they are asked for."""

    def __init__(self):
        self.rng = np.random.default_rng(SEED)
        self.nodes, self.weights = [], {}

    def op(self, kind, *inputs, **attributes):
        """Adds a node; its result."""
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=name, **attributes))
        return name

    def weight(self, *shape):
        """A constant of small numbers."""
        name = f"w{len(self.weights)}"
        scale = np.float32(1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1))
        self.weights[name] = self.rng.standard_normal(shape, np.float32) * scale
        return name

    def conv(self, x, channels, to, kernel=1, stride=1):
        """A convolution that keeps or divides the extents, and a relu."""
        pad = kernel // 2
        y = self.op("Conv", x, self.weight(to, channels, kernel, kernel), self.weight(to),
                    kernel_shape=[kernel, kernel], pads=[pad] * 4, strides=[stride, stride])
        return self.op("Relu", y)

    def linear(self, x, rows, columns):
        """x times a matrix plus a bias."""
        return self.op("Add", self.op("MatMul", x, self.weight(rows, columns)),
                       self.weight(columns))


def branches(net):
    """All wide tensors first, as exporters sort by level; then each is made small."""
    wide = [net.conv("x", 8, 64) for _ in range(4)]
    narrow = [net.conv(value, 64, 4, stride=2) for value in wide]
    total = narrow[0]
    for value in narrow[1:]:
        total = net.op("Add", total, value)
    return total


def inception(net):
    """Two blocks of four branches that a concat joins."""
    value, channels = "x", 8
    for _ in range(2):
        one = net.conv(value, channels, 16)
        three = net.conv(net.conv(value, channels, 8), 8, 16, 3)
        five = net.conv(net.conv(value, channels, 4), 4, 8, 5)
        pool = net.conv(net.op("MaxPool", value, kernel_shape=[3, 3], pads=[1] * 4), channels, 8)
        value, channels = net.op("Concat", one, three, five, pool, axis=1), 48
    return net.conv(value, channels, 4)


def densenet(net):
    """A dense block: every layer reads all before it, joined anew each time."""
    parts, growth = [net.conv("x", 8, 16)], 16
    for _ in range(5):
        joined = net.op("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        parts.append(net.conv(joined, growth * len(parts), growth, 3))
    return net.conv(net.op("Concat", *parts, axis=1), growth * len(parts), 4)


def unet(net):
    """Down and up again, with skips that are joined."""
    skips, value, channels = [], net.conv("x", 8, 16, 3), 16
    for _ in range(2):
        skips.append((value, channels))
        value = net.conv(net.op("MaxPool", value, kernel_shape=[2, 2], strides=[2, 2]),
                         channels, channels * 2, 3)
        channels *= 2
    for skip, width in reversed(skips):
        up = net.op("ConvTranspose", value, net.weight(channels, width, 2, 2),
                    kernel_shape=[2, 2], strides=[2, 2])
        value, channels = net.conv(net.op("Concat", up, skip, axis=1), 2 * width, width, 3), width
    return net.conv(value, channels, 4)


def transformer(net):
    """Two layers of one head: three projections, attention, feed-forward, norms."""
    value = net.op("Reshape", "x", "tokens")
    net.weights["tokens"] = np.array([1, 128, 64], np.int64)
    for _ in range(2):
        query, key, content = (net.linear(value, 64, 64) for _ in range(3))
        scores = net.op("MatMul", query, net.op("Transpose", key, perm=[0, 2, 1]))
        mixed = net.op("MatMul", net.op("Softmax", scores, axis=-1), content)
        value = net.op("LayerNormalization", net.op("Add", value, net.linear(mixed, 64, 64)),
                       net.weight(64), net.weight(64), axis=-1)
        hidden = net.op("Relu", net.linear(value, 64, 256))
        value = net.op("LayerNormalization", net.op("Add", value, net.linear(hidden, 256, 64)),
                       net.weight(64), net.weight(64), axis=-1)
    return value


def in_place(net):
    """Pointwise kernels in a row: sums over all elements keep them apart."""
    value = net.op("Exp", "x")
    for _ in range(3):
        mean = net.op("ReduceMean", value, axes=[1, 2, 3], keepdims=1)
        value = net.op("Tanh", net.op("Sub", value, mean))
    return net.op("ReduceMax", value, axes=[1], keepdims=1)


class Plans:
    """Each family once in float and once in half."""

    def __init__(self, product):
        self.product = product

    def check(self, family, precision):
        """Compile, look at the plan, run."""
        net = Net()
        result = globals()[family](net)
        feeds = {"x": net.rng.standard_normal((1, 8, 32, 32), np.float32)}
        model = graphs.node_graph(net.nodes, feeds, [result], net.weights)
        with harness.scratch() as folder:
            path = Path(folder)
            (path / "model.onnx").write_bytes(model.SerializeToString())
            self.product.compile(path / "model.onnx", path / "model.pasc", "--precision",
                                 precision, "--report", path / "report.json")
            memory = self.product.inspect(path / "model.pasc")["memory"]
            report = json.loads((path / "report.json").read_text(encoding="utf-8"))
            got = self.product.run(path / "model.pasc", feeds, folder, [result])
        self.judge(family, precision, memory)
        reported = report["programs"][0]["memory"]
        for key in ("arena", "lower_bound", "onnx_order"):
            if memory[key] != reported[key]:
                raise Failure(f"{key} is {memory[key]} in inspect and {reported[key]} in the "
                              "report")
        tolerances = {} if precision == "fp32" else {"rtol": 2e-2, "atol_of_range": 1e-2}
        harness.expect_close(result, got[result], graphs.reference_outputs(model, feeds)[result],
                             **tolerances)

    @staticmethod
    def judge(family, precision, memory):
        """The bars."""
        arena, bound, order = memory["arena"], memory["lower_bound"], memory["onnx_order"]
        print(f"     {family} {precision}: arena {arena}, lower bound {bound}, ONNX's order "
              f"{order}, {arena / order:.2f} of it", flush=True)
        if arena > NEAR * bound:
            raise Failure(f"the arena of {arena} is more than {NEAR} times the {bound} that live")
        most = GAINS[family][precision == "fp16"]
        if arena > most * order:
            raise Failure(f"the arena of {arena} is more than {most} of the {order} that ONNX's "
                          "order needs")


def main():
    """All families in both precisions."""
    args = harness.arguments(__doc__).parse_args()
    report = harness.Report(args)
    plans = Plans(harness.product(args))
    report.run_all([(f"{family} {precision}", lambda f=family, p=precision: plans.check(f, p))
                    for family in GAINS for precision in ("fp32", "fp16")], args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
