"""Models of f16 as they are shipped: stored as half, computed as float, rounded once a node.

The reference rounds to half after each node too, so an answer is off by an ulp or two of half.
Every case's PTX is searched for arithmetic on halves, which sm_61 does at 1/64 of its float rate.
"""

import numpy as np

from .table import Table, const, i64, normal

CLOSE = {"rtol": 2e-3, "atol_of_range": 1e-3}


def half(*shape):
    """Standard normal halves."""
    return normal(*shape, dtype=np.float16)


def cases():
    """All cases of the family."""
    table = Table("half")

    def node(name, *args, **kwargs):
        table.node(name, *args, compare=CLOSE, **kwargs)

    def graph(name, text, **kwargs):
        table.graph(name, text, compare=CLOSE, **kwargs)

    for name, shape, kernel, options in [
            ("3x3", (1, 8, 9, 9), (4, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
            ("1x1", (2, 16, 5, 7), (8, 16, 1, 1), {}),
            ("depthwise", (1, 8, 9, 9), (8, 1, 3, 3), {"group": 8}),
            ("strided", (1, 3, 33, 35), (5, 3, 5, 5), {"strides": [2, 2]})]:
        node(f"conv-{name}", "Conv", half(*shape), const(half(*kernel)),
             const(half(kernel[0])), **options)
    for m, k, n in [(33, 65, 70), (1, 64, 100), (128, 64, 128), (7, 300, 1)]:
        node(f"matmul-{m}x{k}x{n}", "MatMul", half(m, k), half(k, n))
        node(f"matmul-{m}x{k}x{n}-weight", "MatMul", half(m, k), const(half(k, n)))
    node("gemm", "Gemm", half(9, 20), const(half(30, 20)), const(half(30)), transB=1, alpha=0.5)
    node("max-pool", "MaxPool", half(1, 3, 9, 9), kernel_shape=[3, 3], strides=[2, 2])
    node("average-pool", "AveragePool", half(1, 3, 9, 9), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    node("global-average-pool", "GlobalAveragePool", half(2, 3, 9, 9))
    node("reduce-mean", "ReduceMean", lambda rng: (rng.standard_normal((5, 900)) * 300).astype(
        np.float16), axes=[1])
    node("reduce-sum-near-the-largest-half", "ReduceSum", const(np.full((3, 600), 109.0, np.float16)),
         i64(1))
    node("reduce-max", "ReduceMax", half(5, 90), axes=[1])
    node("softmax", "Softmax", half(5, 90), axis=-1)
    node("layer-norm", "LayerNormalization", half(5, 64), const(half(64)), const(half(64)))
    node("batch-norm", "BatchNormalization", half(2, 4, 5, 5), const(half(4)), const(half(4)),
         const(half(4)), const(lambda rng: rng.uniform(0.5, 2, 4).astype(np.float16)))
    node("resize-linear", "Resize", half(1, 2, 4, 5), None,
         const(np.array([1, 1, 2, 2], np.float32)), mode="linear")
    node("resize-nearest", "Resize", half(1, 2, 4, 5), None,
         const(np.array([1, 1, 2, 2], np.float32)), mode="nearest")
    node("gather", "Gather", half(5, 3), i64(0, 4, 2))
    node("concat", "Concat", half(5, 3), half(5, 4), axis=1)
    node("transpose", "Transpose", half(5, 3, 4), perm=[2, 0, 1])
    node("pad", "Pad", half(5, 3), i64(1, 0, 0, 2))
    for op in ["Relu", "Sigmoid", "Tanh", "Exp", "Sqrt", "Abs", "Neg", "Floor", "Erf"]:
        node(op.lower(), op, lambda rng: np.abs(rng.standard_normal(300)).astype(np.float16))
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min"]:
        node(op.lower(), op, half(7, 9), half(7, 9))
    graph("gelu", "a = Mul(x, x)\n b = Tanh(a)\n c = Add(b, x)\n y = Mul(c, x)", x=half(5, 77))
    # A cast beside a contraction is part of its loads and stores.
    graph("cast-matmul-cast", "h = Cast <to = 1> (x)\n m = MatMul(h, w)\n y = Cast <to = 10> (m)",
          x=half(33, 65), w=const(65, 70), launches=1)
    graph("cast-twice-matmul", "h = Cast <to = 1> (x)\n g = Cast <to = 1> (w)\n y = MatMul(h, g)",
          x=half(33, 65), w=half(65, 70), launches=1)
    graph("cast-matvec", "h = Cast <to = 1> (x)\n y = MatMul(h, w)", x=half(1, 65),
          w=const(65, 70), launches=1)
    graph("cast-conv-relu-cast",
          "h = Cast <to = 1> (x)\n c = Conv(h, w)\n r = Relu(c)\n y = Cast <to = 10> (r)",
          x=half(1, 8, 9, 9), w=const(4, 8, 3, 3), launches=1)
    graph("cast-depthwise", "h = Cast <to = 1> (x)\n y = Conv <group = 8> (h, w)",
          x=half(1, 8, 9, 9), w=const(8, 1, 3, 3), launches=1)
    graph("cast-read-twice", "h = Cast <to = 1> (x)\n m = MatMul(h, w)\n v = MatMul(h, u)\n"
          "y = Add(m, v)", x=half(33, 65), w=const(65, 70), u=const(65, 70), launches=2)
    return table.cases
