#!/usr/bin/env python3
"""Random graphs of branches, slices, concats, views and layers, compared with ONNX Runtime.

What fusion, layouts and the memory plan do depends on who reads whom, and when: no list of cases
covers that. Each number makes one model (the same on every machine), compiled in float or half,
every third for several batches at once, and run under the emulator's sanitizer. Its values are
kept small and its functions smooth, so that half's rounding stays rounding and a wrong element
is far outside the tolerance. `--first N --graphs 1 --keep DIR` runs one alone and leaves its files.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

import mutate  # noqa: F401  (sets the path for the next)
import graphs
import harness

GRAPHS = 60
MOST_ELEMENTS = 6000
OPSET = 17
BATCHES = [1, 2, 3, 5]
# Of the range of an output, beside as much of the value.
TOLERANCE = {"fp32": 2e-4, "fp16": 4e-2}


class Graph:
    """A model that grows by one random node at a time, and the values that it has so far.

    A batched graph never looks at axis 0, which is open, so every batch gives a valid model.
    """

    def __init__(self, number):
        self.number = number
        self.rng = np.random.default_rng([20260303, number])
        self.batched = number % 3 == 0
        self.nodes, self.weights, self.values = [], {}, []  # values: (name, shape)
        self.inputs = []
        for index in range(self.pick([1, 1, 2, 3])):
            self.inputs.append((f"x{index}", self.first_shape()))
        self.values += self.inputs
        wanted = int(self.rng.integers(4, 22))
        for _ in range(6 * wanted):
            if len(self.nodes) >= wanted:
                break
            self.grow()
        read = {name for node in self.nodes for name in node.input}
        ends = [name for name, _ in self.values if name not in read]
        also = [name for name, _ in self.values if name in read and self.rng.random() < 0.15]
        made = {name for node in self.nodes for name in node.output}
        self.outputs = [name for name in ends + also if name in made]

    def pick(self, items):
        """One of a list."""
        return items[int(self.rng.integers(len(items)))]

    def first_shape(self):
        """A shape for an input; those of one rank fit each other now and then."""
        rank = self.pick([4, 4, 4, 3, 2])
        sizes = {4: [4, 6, 8], 3: [4, 8, 12], 2: [8, 16, 48]}[rank]
        return (2, *(self.pick(sizes) for _ in range(rank - 1)))

    def weight(self, *shape):
        """A constant whose contraction over all but its first extent keeps values small."""
        name = f"w{len(self.weights)}"
        scale = 1 / np.sqrt(max(1, np.prod(shape[1:])))
        self.weights[name] = (self.rng.standard_normal(shape) * scale).astype(np.float32)
        return name

    def integers(self, values):
        """A constant of int64."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.array(values, np.int64)
        return name

    def node(self, kind, inputs, *shapes, **attributes):
        """Adds a node with results of these shapes; False if one is too large or empty."""
        if any(np.prod(shape) > MOST_ELEMENTS or 0 in shape for shape in shapes):
            return False
        names = [f"{kind.lower()}{len(self.nodes)}_{i}" for i in range(len(shapes))]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        self.values += zip(names, map(tuple, shapes), strict=True)
        return True

    def value(self, least_rank=1):
        """A value, the later ones more often; no name if none has so many axes."""
        fit = [value for value in self.values if len(value[1]) >= least_rank]
        return self.late(fit)

    def image(self):
        """A value of rank 4; no name if there is none."""
        return self.late([value for value in self.values if len(value[1]) == 4])

    def late(self, fit):
        """One of the values, the later ones more often."""
        if not fit:
            return None, ()
        return fit[-1 - min(int(self.rng.exponential(2.5)), len(fit) - 1)]

    def axis(self, shape):
        """An axis that may be cut, joined or reduced; None if there is none."""
        first = 1 if self.batched else 0
        return int(self.rng.integers(first, len(shape))) if len(shape) > first else None

    def alias(self, axis, shape):
        """The axis, at times counted from behind."""
        return axis - len(shape) if self.rng.random() < 0.3 else axis

    def grow(self):
        """Tries to add one node; whether it did."""
        kinds = [self.unary, self.unary, self.binary, self.binary, self.binary, self.concat,
                 self.concat, self.slice, self.slice, self.split, self.split, self.reshape,
                 self.reshape, self.squeeze, self.transpose, self.transpose, self.conv, self.conv,
                 self.matmul, self.linear, self.reduce, self.softmax, self.pad, self.pool,
                 self.gather, self.expand, self.norm, self.shuffle, self.up, self.up, self.select]
        return self.pick(kinds)()

    def unary(self):
        name, shape = self.value()
        kind = self.pick(["Relu", "Tanh", "Sigmoid", "Neg", "Abs", "LeakyRelu", "Identity",
                          "HardSwish", "Elu", "Softplus"])
        return self.node(kind, [name], shape)

    def binary(self):
        name, shape = self.value()
        others = [other for other in self.values if self.fits(other[1], shape)]
        other = self.pick(others)[0]
        if self.rng.random() < 0.2:
            own = [extent if self.rng.random() < 0.5 else 1 for extent in shape]
            other = self.weight(*([1] if self.batched else own[:1]), *own[1:])
        pair = [name, other] if self.rng.random() < 0.5 else [other, name]
        kind = self.pick(["Add", "Sub", "Mul", "Max", "Min"])
        if kind != "Mul":
            return self.node(kind, pair, shape)
        # A product of values that may have grown: bounded first.
        return self.node("Tanh", [name], shape) and self.node(
            "Mul", [self.values[-1][0], other], shape)

    def fits(self, shape, wide):
        """Whether one shape broadcasts to another, without the batch landing elsewhere."""
        if len(shape) > len(wide) or (self.batched and len(shape) != len(wide)):
            return False
        return all(a in (1, b) for a, b in zip(shape[::-1], wide[::-1], strict=False))

    def concat(self):
        name, shape = self.value()
        axis = self.axis(shape)
        if axis is None:
            return False
        def rest(other):
            return (*other[:axis], *other[axis + 1:])
        fit = [v for v in self.values if len(v[1]) == len(shape) and rest(v[1]) == rest(shape)]
        parts = [(name, shape)] + [self.pick(fit) for _ in range(self.pick([1, 1, 2, 3]))]
        self.rng.shuffle(order := np.arange(len(parts)))
        total = (*shape[:axis], sum(part[1][axis] for part in parts), *shape[axis + 1:])
        return self.node("Concat", [parts[i][0] for i in order], total,
                         axis=self.alias(axis, shape))

    def slice(self):
        name, shape = self.value()
        starts, ends, axes, steps, result = [], [], [], [], list(shape)
        for axis in range(1 if self.batched else 0, len(shape)):
            if self.rng.random() < 0.5:
                continue
            step = self.pick([1, 1, 1, 2, 3, -1, -2])
            first, last = sorted(self.rng.integers(0, shape[axis] + 1, 2))
            if step < 0:  # from last - 1 down to first
                start, end = int(last) - 1, int(first) - 1 - shape[axis]
                if last == 0:
                    continue
            else:
                start, end = int(first), int(last)
            axes.append(axis), starts.append(start), ends.append(end), steps.append(step)
            result[axis] = -(-int(last - first) // abs(step))
        if not axes:
            return False
        return self.node("Slice", [name, *map(self.integers, (starts, ends, axes, steps))], result)

    def split(self):
        name, shape = self.value()
        axis = self.axis(shape)
        if axis is None or shape[axis] < 2:
            return False
        cuts = np.unique(self.rng.integers(1, shape[axis], self.pick([1, 2])))
        sizes = np.diff([0, *cuts, shape[axis]]).tolist()
        shapes = [(*shape[:axis], size, *shape[axis + 1:]) for size in sizes]
        return self.node("Split", [name, self.integers(sizes)], *shapes,
                         axis=self.alias(axis, shape))

    def reshape(self):
        name, shape = self.value()
        fixed = 1 if self.batched else 0
        left, result = int(np.prod(shape[fixed:])), []
        for _ in range(self.pick([0, 1, 2, 3])):
            factor = self.pick([f for f in (1, 2, 3, 4, 6, 8, left) if left % f == 0])
            result.append(factor)
            left //= factor
        result.append(left)
        target = [0] * fixed + list(result)
        if self.rng.random() < 0.4:
            target[int(self.rng.integers(fixed, len(target)))] = -1
        return self.node("Reshape", [name, self.integers(target)], (*shape[:fixed], *result))

    def squeeze(self):
        name, shape = self.value()
        ones = [i for i in range(1 if self.batched else 0, len(shape)) if shape[i] == 1]
        if ones and len(shape) > 1 and self.rng.random() < 0.7:
            axis = self.pick(ones)
            return self.node("Squeeze", [name, self.integers([axis])],
                             (*shape[:axis], *shape[axis + 1:]))
        if len(shape) > 4:
            return False
        axis = int(self.rng.integers(1 if self.batched else 0, len(shape) + 1))
        return self.node("Unsqueeze", [name, self.integers([axis])],
                         (*shape[:axis], 1, *shape[axis:]))

    def transpose(self):
        name, shape = self.value(2)
        if not name:
            return False
        fixed = 1 if self.batched else 0
        perm = [*range(fixed), *(fixed + self.rng.permutation(len(shape) - fixed)).tolist()]
        return self.node("Transpose", [name], [shape[i] for i in perm], perm=perm)

    def conv(self):
        name, shape = self.image()
        if not name:
            return False
        batch, channels, height, width = shape
        kernel, stride = self.pick([1, 3, 3, 2]), self.pick([1, 1, 2])
        groups = self.pick([1, 1, 1, channels, 2 if channels % 2 == 0 else 1])
        to = groups * self.pick([1, 2, 4] if groups > 1 else [3, 4, 6, 8])
        pads = [int(p) for p in self.rng.integers(0, 2, 4)] if kernel == 3 else [0] * 4
        high = (height + pads[0] + pads[2] - kernel) // stride + 1
        wide = (width + pads[1] + pads[3] - kernel) // stride + 1
        if min(high, wide) < 1:
            return False
        inputs = [name, self.weight(to, channels // groups, kernel, kernel)]
        if self.rng.random() < 0.6:
            inputs.append(self.weight(to))
        return self.node("Conv", inputs, (batch, to, high, wide), kernel_shape=[kernel] * 2,
                         pads=pads, strides=[stride] * 2, group=groups)

    def matmul(self):
        """A value times its own transpose, scaled: two readers of one value, one of them permuted."""
        name, shape = self.value(3)
        if not name:
            return False
        perm = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
        if not self.node("Transpose", [name], [shape[i] for i in perm], perm=perm):
            return False
        other = self.values[-1][0]
        self.weights[scale := f"w{len(self.weights)}"] = np.float32(1 / shape[-1])
        product = (*shape[:-1], shape[-2])
        return self.node("MatMul", [name, other], product) and self.node(
            "Mul", [self.values[-1][0], scale], product)

    def linear(self):
        name, shape = self.value(2)
        if not name:
            return False
        to = self.pick([3, 4, 8, 16, 33])
        self.weights[f"w{len(self.weights)}"] = self.weights.pop(self.weight(to, shape[-1])).T
        return self.node("MatMul", [name, f"w{len(self.weights) - 1}"], (*shape[:-1], to))

    def reduce(self):
        name, shape = self.value(2)
        if not name:
            return False
        free = list(range(1 if self.batched else 0, len(shape)))
        axes = sorted(self.rng.permutation(free)[:self.pick([1, 1, 2, len(free)])].tolist())
        keep = int(self.rng.random() < 0.6)
        result = [1 if i in axes else extent for i, extent in enumerate(shape)
                  if keep or i not in axes]
        if not result:
            return False
        return self.node(self.pick(["ReduceMean", "ReduceMax", "ReduceMin"]), [name], result,
                         axes=axes, keepdims=keep)

    def softmax(self):
        name, shape = self.value()
        axis = self.axis(shape)
        return axis is not None and self.node("Softmax", [name], shape,
                                              axis=self.alias(axis, shape))

    def pad(self):
        name, shape = self.value(2)
        if not name:
            return False
        pads = self.rng.integers(0, 3, (2, len(shape)))
        pads[:, 0] *= not self.batched
        pads[:, self.rng.random(len(shape)) < 0.5] = 0
        mode = self.pick(["constant", "constant", "edge", "reflect"])
        if mode == "reflect":
            pads = np.minimum(pads, np.array(shape) - 1)
        return self.node("Pad", [name, self.integers(pads.reshape(-1))],
                         [e + int(p) for e, p in zip(shape, pads.sum(0), strict=True)], mode=mode)

    def pool(self):
        name, shape = self.image()
        if not name:
            return False
        batch, channels, height, width = shape
        if self.rng.random() < 0.3:
            return self.node("GlobalAveragePool", [name], (batch, channels, 1, 1))
        stride = self.pick([1, 2])
        high, wide = (height - 2) // stride + 1, (width - 2) // stride + 1
        if min(high, wide) < 1:
            return False
        return self.node(self.pick(["MaxPool", "AveragePool"]), [name],
                         (batch, channels, high, wide), kernel_shape=[2, 2], strides=[stride] * 2)

    def gather(self):
        name, shape = self.value()
        axis = self.axis(shape)
        if axis is None:
            return False
        indices = self.rng.integers(-shape[axis], shape[axis], self.pick([1, 2, 5])).tolist()
        return self.node("Gather", [name, self.integers(indices)],
                         (*shape[:axis], len(indices), *shape[axis + 1:]), axis=axis)

    def expand(self):
        name, shape = self.value()
        result, times = list(shape), [1] * len(shape)
        for axis in range(1 if self.batched else 0, len(shape)):
            times[axis] = self.pick([1, 1, 2, 3])
            result[axis] *= times[axis]
        if self.rng.random() < 0.5:
            return self.node("Tile", [name, self.integers(times)], result)
        result = [s if s > 1 or (self.batched and i == 0) else self.pick([1, 4])
                  for i, s in enumerate(shape)]
        target = [1 if self.batched and i == 0 else e for i, e in enumerate(result)]
        return self.node("Expand", [name, self.integers(target)], result)

    def norm(self):
        """Normalisations with an epsilon that keeps rounding from growing in flat values."""
        name, shape = self.value(3)
        if not name:
            return False
        kind = self.pick(["LayerNormalization", "InstanceNormalization", "BatchNormalization"])
        if kind == "LayerNormalization":
            weights = [self.weight(shape[-1]), self.weight(shape[-1])]
            return self.node(kind, [name, *weights], shape, axis=-1, epsilon=0.5)
        weights = [self.weight(shape[1]), self.weight(shape[1])]
        if kind == "BatchNormalization":
            mean, spread = self.weight(shape[1]), self.weight(shape[1])
            self.weights[spread] = np.abs(self.weights[spread]) + np.float32(0.5)
            weights += [mean, spread]
        return self.node(kind, [name, *weights], shape, epsilon=0.5)

    def shuffle(self):
        """Channels moved to space or back."""
        name, shape = self.image()
        if not name:
            return False
        batch, channels, height, width = shape
        if channels % 4 == 0 and self.rng.random() < 0.5:
            return self.node("DepthToSpace", [name], (batch, channels // 4, height * 2, width * 2),
                             blocksize=2, mode=self.pick(["DCR", "CRD"]))
        if height % 2 or width % 2:
            return False
        return self.node("SpaceToDepth", [name], (batch, channels * 4, height // 2, width // 2),
                         blocksize=2)

    def up(self):
        """An image made larger, by a transposed convolution or by repeating pixels."""
        name, shape = self.image()
        if not name:
            return False
        batch, channels, height, width = shape
        if self.rng.random() < 0.5:
            scales = f"w{len(self.weights)}"
            self.weights[scales] = np.array([1, 1, 2, 2], np.float32)
            return self.node("Resize", [name, "", scales], (batch, channels, 2 * height, 2 * width),
                             mode="nearest", nearest_mode="floor",
                             coordinate_transformation_mode="asymmetric")
        to, kernel = self.pick([2, 3, 8]), self.pick([2, 3])
        weight = self.weight(channels, to, kernel, kernel)
        shape = (batch, to, 2 * (height - 1) + kernel, 2 * (width - 1) + kernel)
        return self.node("ConvTranspose", [name, weight], shape, kernel_shape=[kernel] * 2,
                         strides=[2, 2])

    def select(self):
        """A choice by a constant mask, so that rounding cannot change it."""
        name, shape = self.value()
        other = self.pick([v for v in self.values if self.fits(v[1], shape)])[0]
        mask = f"w{len(self.weights)}"
        self.weights[mask] = self.rng.random((1 if self.batched else shape[0], *shape[1:])) < 0.5
        return self.node("Where", [mask, name, other], shape)

    def model(self):
        """The ONNX model; the batch is open in a batched one."""
        def described(name, shape):
            return helper.make_tensor_value_info(
                name, onnx.TensorProto.FLOAT, ["n", *shape[1:]] if self.batched else shape)
        shapes = dict(self.values)
        graph = helper.make_graph(
            self.nodes, f"random{self.number}", [described(*value) for value in self.inputs],
            [described(name, shapes[name]) for name in self.outputs],
            [numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
             for name, array in self.weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)],
                                 ir_version=graphs.IR_VERSION)

    def feeds(self, batch):
        """Inputs for one batch."""
        rng = np.random.default_rng([self.number, batch])
        return {name: rng.standard_normal((batch, *shape[1:]), np.float32)
                for name, shape in self.inputs}


def check(number, product, keep):
    """Makes, compiles, runs and compares one graph."""
    graph = Graph(number)
    model, precision = graph.model(), ["fp32", "fp16"][number % 2]
    batches = [2]
    if graph.batched:
        batches = graph.rng.permutation(BATCHES)[:graph.pick([2, 3])].tolist()
    options = ["--precision", precision]
    for name, shape in graph.inputs if graph.batched else []:
        sets = ["x".join(map(str, (batch, *shape[1:]))) for batch in batches]
        options += ["--shape", f"{name}=" + ",".join(sets)]
    expected = {batch: graphs.reference_outputs(model, graph.feeds(batch)) for batch in batches}
    with harness.scratch() as scratch:
        folder = keep / str(number) if keep else Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        onnx.save(model, folder / "model.onnx")
        artifact = folder / "model.pasc"
        product.compile(folder / "model.onnx", artifact, *options)
        for batch in batches:
            got = product.run(artifact, graph.feeds(batch), folder, graph.outputs)
            for name in graph.outputs:
                tolerance = TOLERANCE[precision]
                harness.expect_close(f"batch {batch}, {name}", got[name], expected[batch][name],
                                     rtol=tolerance, atol_of_range=tolerance, atol=tolerance / 100)


def main():
    parser = harness.arguments(__doc__)
    parser.add_argument("--graphs", type=int, default=GRAPHS, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first graph's number")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave models and files here")
    args = parser.parse_args()
    args.sanitize = args.device == "emulator"
    product, report = harness.product(args), harness.Report(args)
    report.run_all([(f"graph-{number}", lambda number=number: check(number, product, args.keep))
                    for number in range(args.first, args.first + args.graphs)], args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
