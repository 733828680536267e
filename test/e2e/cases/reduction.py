"""Reductions, softmax, argmax and normalisation."""

import numpy as np

from .table import Table, booleans, const, i64, integers, uniform

REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
              "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"]


def cases():
    """All cases of the family."""
    table = Table("reduction")
    for op in REDUCTIONS:
        _reduce(table, op)
    _sums(table)
    _softmax(table)
    _norms(table)
    _argmax(table)
    return table.cases


def _reduce(table, op):
    """Axes as an input from opset 18 on (13 for ReduceSum), an attribute before."""
    label = op.lower()
    data = uniform(0.5, 1.5, 3, 4, 5) if op in ("ReduceProd", "ReduceLogSum") else (3, 4, 5)
    for name, axes in [("last", (-1,)), ("first", (0,)), ("middle", (1,)), ("two", (0, 2)),
                       ("all", (0, 1, 2))]:
        table.node(f"{label}-{name}", op, data, i64(*axes), opset=18)
    table.node(f"{label}-dropped", op, data, i64(1), opset=18, keepdims=0)
    table.node(f"{label}-no-axes", op, data, opset=18, keepdims=0)
    table.node(f"{label}-opset-11", op, data, opset=11, axes=[1, 2], keepdims=0)


def _sums(table):
    for rows, columns in [(1, 1), (1, 1000), (1000, 1), (7, 33), (3, 4097), (300, 64)]:
        table.node(f"sum-{rows}x{columns}-rows", "ReduceSum", (rows, columns), i64(1))
        table.node(f"sum-{rows}x{columns}-columns", "ReduceSum", (rows, columns), i64(0))
    table.node("mean-large", "ReduceMean", uniform(0, 1, 100000), keepdims=0)
    # ONNX Runtime sums int64 in double, which loses the last bits of these.
    table.node("sum-int64", "ReduceSum", integers(-2 ** 60, 2 ** 60, 4, 5), i64(1), letter=True)
    table.node("sum-int32", "ReduceSum", integers(-9, 9, 4, 5, dtype=np.int32), i64(1))
    table.node("max-int8", "ReduceMax", integers(-128, 128, 4, 5, dtype=np.int8), axes=[1])
    table.node("max-nan", "ReduceMax", np.array([[1, np.nan, 3], [np.inf, 2, -np.inf]], np.float32),
               axes=[1], letter=True)
    table.node("sum-empty-axis", "ReduceSum", (3, 0), i64(1))
    table.node("sum-noop", "ReduceSum", (3, 4), noop_with_empty_axes=1)
    table.graph("of-pointwise", "m = Mul(x, x)\n s = ReduceSum(m, a)\n y = Sqrt(s)", x=(7, 33),
                a=i64(1))
    table.graph("then-pointwise", "m = ReduceMean <axes = [1]> (x)\n y = Sub(x, m)", x=(7, 33))
    table.node("cumsum", "CumSum", (4, 50), i64(1))


def _softmax(table):
    for op in ["Softmax", "LogSoftmax"]:
        label = op.lower()
        for axis in (-1, 0, 1, 2):
            table.node(f"{label}-axis-{axis}", op, (3, 4, 5), axis=axis, opset=13)
        for axis in (0, 1, 2):
            table.node(f"{label}-opset-11-axis-{axis}", op, (3, 4, 5), axis=axis, opset=11)
        table.node(f"{label}-opset-11-default", op, (3, 4, 5), opset=11)
        for rows, columns in [(1, 1), (1, 2), (2, 1000), (300, 7), (3, 5000)]:
            table.node(f"{label}-{rows}x{columns}", op, (rows, columns))
        table.node(f"{label}-large-values", op,
                   np.array([[1000, 1001, 999], [-1000, -1001, -2000]], np.float32))
        table.node(f"{label}-minus-infinity", op, np.array([[0, -np.inf, 1]], np.float32))
    table.graph("softmax-scaled-masked", "s = Mul(x, k)\n m = Add(s, b)\n y = Softmax(m)",
                x=(2, 3, 9, 9), b=(1, 1, 9, 9), k=const(np.float32(0.125)))


def _norms(table):
    table.node("layernorm", "LayerNormalization", (2, 7, 48), const((48,)), const((48,)))
    table.node("layernorm-axis-1", "LayerNormalization", (2, 7, 8), const(7, 8), axis=1)
    table.node("instancenorm", "InstanceNormalization", (2, 3, 7, 9), const((3,)), const((3,)))
    table.node("groupnorm", "GroupNormalization", (2, 6, 5, 5), const((6,)), const((6,)),
               num_groups=3, opset=21)
    table.node("lp-normalization", "LpNormalization", (4, 9), axis=1, p=2)
    table.node("lrn", "LRN", (2, 9, 5, 5), size=5)
    table.graph("layernorm-by-hand", "m = ReduceMean <axes = [-1]> (x)\n d = Sub(x, m)\n"
                "q = Mul(d, d)\n v = ReduceMean <axes = [-1]> (q)\n e = Add(v, eps)\n"
                "r = Sqrt(e)\n y = Div(d, r)", x=(2, 7, 48), eps=const(np.float32(1e-5)))


def _argmax(table):
    for op in ["ArgMax", "ArgMin"]:
        label = op.lower()
        table.node(f"{label}", op, (5, 9), axis=1)
        table.node(f"{label}-first-of-ties", op, integers(0, 3, 5, 9, dtype=np.int32), axis=1)
        table.node(f"{label}-last-of-ties", op, integers(0, 3, 5, 9, dtype=np.int32), axis=1,
                   select_last_index=1)
        table.node(f"{label}-axis-0-dropped", op, (5, 9), axis=0, keepdims=0)
    table.node("topk", "TopK", (5, 9), i64(3), outputs=2)
    table.graph("any", "c = Cast <to = 6> (x)\n r = ReduceMax <axes = [1]> (c)\n y = Cast <to = 9> (r)",
                x=booleans(5, 9))
