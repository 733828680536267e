"""MatMul and Gemm: every transpose, broadcast batches, sizes around the tiles, epilogues."""

import itertools

import numpy as np

from .table import Table, const, integers

# Around the edges of tiles, of vectors of four, and of the depth of one step.
SIZES = [(1, 1, 1), (1, 64, 1000), (2, 3, 5), (3, 256, 2), (4, 4, 4), (17, 9, 33), (63, 64, 65),
         (64, 1, 64), (127, 31, 129), (128, 128, 128), (200, 72, 136), (256, 500, 1)]
BATCHES = [((2, 5, 7), (2, 7, 3)), ((2, 5, 7), (7, 3)), ((5, 7), (2, 7, 3)),
           ((1, 5, 7), (4, 7, 3)), ((3, 1, 5, 7), (1, 2, 7, 3)), ((2, 3, 5, 7), (3, 7, 3)),
           ((2, 3, 70, 33), (2, 3, 33, 66)), ((7,), (7, 3)), ((5, 7), (7,)), ((7,), (7,)),
           ((7,), (2, 7, 3)), ((2, 5, 7), (7,))]


def cases():
    """All cases of the family."""
    table = Table("contraction")
    for m, k, n in SIZES:
        table.node(f"matmul-{m}x{k}x{n}", "MatMul", (m, k), (k, n))
        table.node(f"matmul-{m}x{k}x{n}-weight", "MatMul", (m, k), const(k, n))
    for a, b in BATCHES:
        table.node(f"matmul-{_text(a)}-by-{_text(b)}", "MatMul", a, b)
        table.node(f"matmul-{_text(a)}-by-{_text(b)}-weight", "MatMul", a, const(*b)
                   if len(b) > 1 else const(b))
    for trans_a, trans_b in itertools.product((0, 1), repeat=2):
        a = (40, 70) if trans_a else (70, 40)
        b = (90, 40) if trans_b else (40, 90)
        where = {"transA": trans_a, "transB": trans_b}
        label = f"gemm-a{trans_a}b{trans_b}"
        table.node(label, "Gemm", a, b, **where)
        table.node(f"{label}-bias", "Gemm", a, b, (90,), **where)
        table.node(f"{label}-weights", "Gemm", a, const(*b), const((90,)), alpha=0.5, beta=2.0,
                   **where)
    for shape in [(), (1,), (1, 1), (6, 1), (1, 5), (6, 5)]:
        table.node(f"gemm-c-{_text(shape)}", "Gemm", (6, 4), (4, 5), shape, beta=0.25)
    table.node("gemm-beta-0", "Gemm", (6, 4), (4, 5), (5,), beta=0.0)
    table.node("gemm-alpha-0", "Gemm", (6, 4), (4, 5), (5,), alpha=0.0)
    table.node("matmul-int32", "MatMul", integers(-9, 9, 5, 7, dtype=np.int32),
               integers(-9, 9, 7, 3, dtype=np.int32))
    table.node("matmul-int64", "MatMul", integers(-9, 9, 5, 7), integers(-9, 9, 7, 3))
    table.node("matmul-empty-k", "MatMul", (3, 0), (0, 4))
    table.node("matmul-inf-nan", "MatMul",
               np.array([[1, np.inf], [np.nan, 0], [0, 2]], np.float32), (2, 3))
    _fused(table)
    return table.cases


def _fused(table):
    table.graph("matmul-bias-relu", "m = MatMul(x, w)\n s = Add(m, b)\n y = Relu(s)",
                x=(33, 65), w=const(65, 70), b=const((70,)))
    table.graph("matmul-bias-left-tanh", "m = MatMul(x, w)\n s = Add(b, m)\n y = Tanh(s)",
                x=(33, 65), w=const(65, 70), b=const((70,)))
    table.graph("matmul-residual", "m = MatMul(x, w)\n s = Add(m, r)\n y = Relu(s)",
                x=(33, 65), w=const(65, 70), r=(33, 70))
    table.graph("matmul-residual-row", "m = MatMul(x, w)\n y = Mul(m, r)",
                x=(33, 65), w=const(65, 70), r=(33, 1))
    table.graph("matmul-two-uses", "m = MatMul(x, w)\n a = Relu(m)\n y = Sub(a, m)",
                x=(9, 12), w=const(12, 20))
    table.graph("matmul-also-output", "m = MatMul(x, w)\n y = Relu(m)", outputs=("m", "y"),
                x=(9, 12), w=const(12, 20))
    table.graph("matmul-of-transpose", "t = Transpose <perm = [0, 2, 1]> (x)\n y = MatMul(x, t)",
                x=(4, 27, 32))
    table.graph("matmul-transpose-after", "m = MatMul(x, w)\n y = Transpose <perm = [1, 0]> (m)",
                x=(9, 12), w=const(12, 20))
    table.graph("matmul-chain", "a = MatMul(x, v)\n b = Relu(a)\n c = MatMul(b, w)\n y = Sigmoid(c)",
                x=(3, 13), v=const(13, 64), w=const(64, 1))
    table.graph("matmul-square-of-itself", "a = MatMul(x, x)\n y = MatMul(a, x)", x=(24, 24))
    table.graph("gemm-relu-gemm", "a = Gemm <transB = 1> (x, v, b)\n r = Relu(a)\n"
                "y = Gemm <transB = 1> (r, w, c)", x=(7, 30), v=const(50, 30), b=const((50,)),
                w=const(10, 50), c=const((10,)))
    table.graph("matmul-gelu", "m = MatMul(x, w)\n h = Mul(m, half)\n d = Div(m, root)\n"
                "e = Erf(d)\n p = Add(e, one)\n y = Mul(h, p)", x=(20, 40), w=const(40, 60),
                half=const(np.float32(0.5)), root=const(np.float32(2 ** 0.5)),
                one=const(np.float32(1)))
    table.graph("reshape-matmul-reshape", "a = Reshape(x, s)\n m = MatMul(a, w)\n"
                "y = Reshape(m, t)", x=(2, 3, 8), w=const(8, 5),
                s=const(np.array([6, 8])), t=const(np.array([2, 3, 5])))


def _text(shape):
    return "x".join(map(str, shape)) or "scalar"
