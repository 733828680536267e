"""Operators that only move data, and the shape arithmetic that must fold away."""

import itertools

import numpy as np

from .table import Table, booleans, const, i64, integers

EXACT = {"exact": True}


def cases():
    """All cases of the family."""
    table = Table("movement")
    _transposes(table)
    _slices(table)
    _joins(table)
    _pads(table)
    _gathers(table)
    _shapes(table)
    return table.cases


def _transposes(table):
    for perm in itertools.permutations(range(3)):
        table.node(f"transpose-{''.join(map(str, perm))}", "Transpose", (3, 33, 5), perm=perm,
                   compare=EXACT)
    table.node("transpose-default", "Transpose", (3, 33, 5), compare=EXACT)
    table.node("transpose-large", "Transpose", (65, 130), compare=EXACT)
    table.node("transpose-nchw-nhwc", "Transpose", (2, 3, 17, 19), perm=[0, 2, 3, 1], compare=EXACT)
    table.node("transpose-5d", "Transpose", (2, 3, 4, 5, 6), perm=[4, 2, 0, 3, 1], compare=EXACT)
    table.node("transpose-6d", "Transpose", (2, 3, 2, 3, 2, 3), perm=[0, 4, 2, 5, 1, 3],
               compare=EXACT)
    for dtype in (np.float16, np.int8, np.int64):
        table.node(f"transpose-{np.dtype(dtype).name}", "Transpose",
                   integers(-99, 99, 7, 40, dtype=dtype), compare=EXACT)
    table.node("transpose-bool", "Transpose", booleans(7, 40), compare=EXACT)
    table.graph("transpose-twice", "t = Transpose <perm = [1, 0]> (x)\n y = Transpose <perm = [1, 0]> (t)",
                x=(7, 9), compare=EXACT)
    table.graph("channel-shuffle", "a = Reshape(x, s)\n t = Transpose <perm = [0, 2, 1, 3, 4]> (a)\n"
                "y = Reshape(t, r)", x=(1, 12, 5, 5), s=i64(1, 3, 4, 5, 5), r=i64(1, 12, 5, 5),
                compare=EXACT)
    table.node("depth-to-space-dcr", "DepthToSpace", (1, 12, 3, 4), blocksize=2, compare=EXACT)
    table.node("depth-to-space-crd", "DepthToSpace", (1, 12, 3, 4), blocksize=2, mode="CRD",
               compare=EXACT)
    table.node("space-to-depth", "SpaceToDepth", (1, 3, 6, 4), blocksize=2, compare=EXACT)


def _slices(table):
    big = 2 ** 63 - 1
    for name, starts, ends, axes, steps in [
            ("plain", [1], [4], [0], [1]), ("two-axes", [1, 2], [4, 6], [0, 1], [1, 1]),
            ("negative", [-3], [-1], [1], [1]), ("to-the-end", [2], [big], [0], [1]),
            ("step-2", [0], [big], [1], [2]), ("step-3-offset", [1], [8], [1], [3]),
            ("reversed", [-1], [-big - 1], [1], [-1]), ("reversed-step", [7], [0], [1], [-2]),
            ("clamped", [-100], [100], [0], [1]), ("empty", [3], [3], [0], [1]),
            ("negative-axis", [1], [3], [-1], [1])]:
        table.node(f"slice-{name}", "Slice", (6, 9), i64(*starts), i64(*ends), i64(*axes),
                   i64(*steps), compare=EXACT)
    table.node("slice-defaults", "Slice", (6, 9), i64(1, 2), i64(5, 6), compare=EXACT)
    table.node("slice-opset-9", "Slice", (6, 9), opset=9, starts=[1], ends=[4], axes=[1],
               compare=EXACT)
    table.graph("slice-then-relu", "s = Slice(x, b, e)\n y = Relu(s)", x=(6, 9), b=i64(1), e=i64(5),
                compare=EXACT)
    table.node("split-equal", "Split", (6, 9), axis=1, outputs=3, opset=13, compare=EXACT)
    table.node("split-sizes", "Split", (6, 9), i64(2, 3, 4), axis=1, outputs=3, compare=EXACT)
    table.node("split-one", "Split", (6, 9), i64(9), axis=1, compare=EXACT)
    table.node("split-opset-11", "Split", (6, 9), axis=0, split=[1, 5], outputs=2, opset=11,
               compare=EXACT)
    table.node("split-uneven-18", "Split", (7, 9), axis=0, num_outputs=3, outputs=3, opset=18,
               compare=EXACT)


def _joins(table):
    for axis in (0, 1, 2, -1):
        shapes = [[3, 4, 5] for _ in range(3)]
        for i, shape in enumerate(shapes):
            shape[axis] = i + 1
        table.node(f"concat-axis-{axis}", "Concat", *map(tuple, shapes), axis=axis, compare=EXACT)
    table.node("concat-one", "Concat", (3, 4), axis=0, compare=EXACT)
    table.node("concat-weight", "Concat", (3, 4), const(3, 2), axis=1, compare=EXACT)
    table.node("concat-empty", "Concat", (3, 4), (3, 0), axis=1, compare=EXACT)
    table.node("concat-int64", "Concat", integers(-9, 9, 3, 4), integers(-9, 9, 2, 4), axis=0)
    table.graph("concat-same-twice", "y = Concat <axis = 0> (x, x)", x=(3, 4), compare=EXACT)
    table.graph("concat-of-results", "a = Relu(x)\n b = Neg(x)\n c = Concat <axis = 1> (a, b, x)\n"
                "y = Exp(c)", x=(1, 3, 5, 5))
    table.graph("split-concat", "a, b = Split <axis = 1> (x)\n y = Concat <axis = 1> (b, a)",
                x=(2, 6, 5), opset=13, compare=EXACT)
    table.node("concat-27", "Concat", *[(5, 4)] * 27, axis=1, compare=EXACT)
    table.node("tile", "Tile", (2, 3), i64(2, 3), compare=EXACT)
    table.node("expand", "Expand", (3, 1), i64(2, 3, 4), compare=EXACT)
    table.node("expand-keeps", "Expand", (3, 4), i64(1, 1), compare=EXACT)


def _pads(table):
    for mode in ("constant", "reflect", "edge"):
        table.node(f"pad-{mode}", "Pad", (1, 2, 5, 6), i64(0, 0, 1, 2, 0, 0, 3, 1), mode=mode,
                   compare=EXACT)
        table.node(f"pad-{mode}-1d", "Pad", (9,), i64(2, 3), mode=mode, compare=EXACT)
    table.node("pad-value", "Pad", (3, 4), i64(1, 0, 0, 2), const(np.float32(-1.5)), compare=EXACT)
    table.node("pad-negative", "Pad", (5, 6), i64(-1, 1, 0, -2), compare=EXACT)
    table.node("pad-axes", "Pad", (3, 4, 5), i64(1, 2), None, i64(1), opset=18, compare=EXACT)
    table.node("pad-wrap", "Pad", (3, 4), i64(1, 2, 1, 2), mode="wrap", opset=19, compare=EXACT)
    table.node("pad-opset-2", "Pad", (3, 4), pads=[1, 0, 0, 2], value=2.0, opset=10, compare=EXACT)
    table.node("pad-nothing", "Pad", (3, 4), i64(0, 0, 0, 0), compare=EXACT)


def _gathers(table):
    for axis in (0, 1, -1):
        table.node(f"gather-axis-{axis}", "Gather", (5, 6, 5), integers(0, 5, 3, 2), axis=axis,
                   compare=EXACT)
    table.node("gather-constant", "Gather", (5, 6), i64(3, 0, 3), axis=1, compare=EXACT)
    table.node("gather-scalar", "Gather", (5, 6), const(np.int64(2)), axis=0, compare=EXACT)
    table.node("gather-negative", "Gather", (5, 6), np.array([-1, 0, -5]), axis=0, compare=EXACT)
    table.node("gather-int32-indices", "Gather", (5, 6), integers(0, 5, 4, dtype=np.int32),
               compare=EXACT)
    table.node("gather-table", "Gather", const(1000, 32), integers(0, 1000, 20, 4), compare=EXACT)
    table.node("gather-int64-data", "Gather", integers(-9, 9, 5, 6), integers(0, 5, 4))
    table.graph("embedding-bag", "r = Gather(w, i)\n y = ReduceSum <keepdims = 0> (r, a)",
                w=const(50, 16), i=integers(0, 50, 7, 4), a=i64(1))
    table.graph("gather-column-gather", "i = Gather <axis = 1> (s, k)\n y = Gather(w, i)",
                s=integers(0, 50, 7, 3, 4), k=const(np.int64(1)), w=const(50, 16), compare=EXACT)
    table.node("gather-elements", "GatherElements", (5, 6), integers(0, 5, 3, 6), axis=0,
               compare=EXACT)
    table.node("gather-nd", "GatherND", (5, 6, 4), integers(0, 5, 3, 2), compare=EXACT)
    table.node("scatter-elements", "ScatterElements", (5, 6), np.array([[0, 2], [4, 1]]), (2, 2),
               axis=1, compare=EXACT)
    table.node("scatter-nd", "ScatterND", (5, 6), np.array([[0], [3]]), (2, 6), compare=EXACT)


def _shapes(table):
    x = (2, 3, 4, 5)
    for name, shape in [("flat", (-1,)), ("zero-copies", (0, -1)), ("more", (2, 3, 2, 2, 5))]:
        table.node(f"reshape-{name}", "Reshape", x, i64(*shape), compare=EXACT)
    for axis in (0, 1, 3, 4, -1):
        table.node(f"flatten-{axis}", "Flatten", x, axis=axis, compare=EXACT)
    table.node("squeeze", "Squeeze", (1, 3, 1, 5), i64(0, 2), compare=EXACT)
    table.node("squeeze-all", "Squeeze", (1, 3, 1, 5), compare=EXACT)
    table.node("squeeze-opset-11", "Squeeze", (1, 3, 1, 5), axes=[0], opset=11, compare=EXACT)
    table.node("unsqueeze", "Unsqueeze", (3, 5), i64(0, -1), compare=EXACT)
    table.node("unsqueeze-opset-11", "Unsqueeze", (3, 5), axes=[1, 2], opset=11, compare=EXACT)
    table.node("shape", "Shape", x)
    table.node("shape-part", "Shape", x, start=1, end=-1)
    table.node("size", "Size", x)
    table.node("constant-of-shape", "ConstantOfShape", i64(2, 3), compare=EXACT)
    table.node("range", "Range", const(np.int64(1)), const(np.int64(10)), const(np.int64(3)))
    table.graph("batch-flatten", "s = Shape(x)\n n = Gather(s, zero)\n u = Unsqueeze(n, zeros)\n"
                "c = Concat <axis = 0> (u, rest)\n y = Reshape(x, c)", x=x, zero=const(np.int64(0)),
                zeros=i64(0), rest=i64(-1), compare=EXACT)
    table.graph("shape-product", "s = Shape(x)\n a = Slice(s, b, e)\n p = ReduceProd <keepdims = 1> (a)\n"
                "c = Concat <axis = 0> (p, rest)\n y = Reshape(x, c)", x=x, b=i64(0), e=i64(2),
                rest=i64(-1), compare=EXACT)
    table.graph("shape-div-cast", "s = Shape(x)\n f = Cast <to = 1> (s)\n h = Mul(f, half)\n"
                "t = Cast <to = 7> (h)\n c = Slice(t, b, e)\n k = Mul(c, minus)\n j = Add(k, k)\n"
                "r = Neg(j)\n y = Reshape(x, r)", x=(4, 6), half=const(np.float32(0.5)),
                b=i64(0), e=i64(2), minus=i64(-1, -1), compare=EXACT)
    table.graph("shape-is-output", "s = Shape(x)\n y = Relu(x)", outputs=("s", "y"), x=x)
    table.graph("constant-is-output", "y = Relu(x)\n z = Neg(w)", outputs=("y", "z"), x=(5,),
                w=const(2, 3))
    table.graph("dropout-identity", "d = Dropout(x)\n y = Relu(d)", x=(4, 5), compare=EXACT)
    table.graph("eye", "e = EyeLike <k = 1> (x)\n y = Add(x, e)", x=(4, 5))
