"""Models as channels-last frameworks export them: transposes around what wants channels first.

A case's `launches` is what the same model takes without a transpose.
"""

import numpy as np

from .table import Table, const, i64

FIRST = "Transpose <perm = [0, 3, 1, 2]>"  # channels first: what Conv wants
LAST = "Transpose <perm = [0, 2, 3, 1]>"


def cases():
    """All of them."""
    table = Table("layout")
    _convolutions(table)
    _joins(table)
    _reductions(table)
    _blocks(table)
    _packed(table)
    return table.cases


def _conv(x, w, y, attributes="pads = [1,1,1,1]"):
    """A convolution between its two transposes."""
    return (f"{y}_i = {FIRST} ({x})\n {y}_c = Conv <{attributes}> ({y}_i, {w})\n"
            f"{y} = {LAST} ({y}_c)\n")


def _convolutions(table):
    weights = {"w": const(8, 3, 3, 3), "v": const(16, 8, 3, 3), "b": const(8)}
    table.graph("conv-bias-relu-conv", _conv("x", "w", "a") + "c = Add(a, b)\n r = Relu(c)\n"
                + _conv("r", "v", "y"), launches=2, x=(1, 12, 12, 3), **weights)
    table.graph("channels-first-inside", _conv("x", "w", "a") + "r = Relu(a)\n"
                + f"{_conv('r', 'v', 'd')} y = {FIRST} (d)", launches=2, x=(1, 12, 12, 3), **weights)
    table.graph("pad-conv", "p = Pad(x, q)\n" + _conv("p", "w", "y", "strides = [2,2]"),
                launches=1, x=(1, 12, 12, 3), q=i64(0, 0, 0, 0, 0, 1, 1, 0), **weights)
    table.graph("depthwise", _conv("x", "w", "a", "group = 8, pads = [1,1,1,1]")
                + "s = Sigmoid(a)\n m = Mul(a, s)\n" + _conv("m", "v", "y"), launches=2,
                x=(2, 9, 7, 8), w=const(8, 1, 3, 3), v=const(16, 8, 3, 3))
    table.graph("max-pool", _conv("x", "w", "a") + f"p = {FIRST} (a)\n"
                "m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (p)\n"
                f"l = {LAST} (m)\n" + _conv("l", "v", "y"), launches=3, x=(1, 12, 12, 3), **weights)
    table.graph("flatten", _conv("x", "w", "a") + "f = Reshape(a, s)\n y = MatMul(f, m)",
                launches=2, x=(1, 6, 6, 3), s=i64(1, -1), m=const(288, 10), w=const(8, 3, 3, 3))


def _joins(table):
    weights = {"w": const(8, 3, 3, 3), "v": const(8, 8, 3, 3)}
    table.graph("residual", _conv("x", "w", "a") + "r = Relu(a)\n" + _conv("r", "v", "d")
                + "e = Add(d, r)\n y = Relu(e)", launches=2, x=(1, 12, 12, 3), **weights)
    table.graph("residual-of-input", _conv("x", "v", "a") + "d = Add(a, x)\n r = Relu(d)\n"
                + _conv("r", "v", "y"), launches=2, x=(1, 12, 12, 8), v=const(8, 8, 3, 3))
    table.graph("concat", _conv("x", "w", "a") + _conv("x", "u", "d")
                + "e = Concat <axis = 3> (a, d)\n r = Relu(e)\n" + _conv("r", "t", "y"),
                launches=4, x=(1, 12, 12, 3), u=const(5, 3, 3, 3), t=const(4, 13, 3, 3), **weights)
    table.graph("split", _conv("x", "w", "a") + "d, e = Split <axis = 3> (a, s)\n"
                "g = Sigmoid(e)\n m = Mul(d, g)\n" + _conv("m", "u", "y"), launches=3, s=i64(4, 4),
                x=(1, 12, 12, 3), u=const(6, 4, 3, 3), **weights)
    table.graph("two-readers", _conv("x", "w", "a") + "r = Relu(a)\n" + _conv("r", "v", "d")
                + "y = Sigmoid(d)\n z = ReduceMean <axes = [1, 2], keepdims = 0> (r)",
                outputs=("y", "z"), launches=3, x=(1, 12, 12, 3), **weights)
    table.graph("gather-channels", _conv("x", "w", "a") + "g = Gather <axis = 3> (a, i)\n"
                + _conv("g", "v", "y"), launches=3, x=(1, 12, 12, 3),
                i=i64(7, 0, 6, 1, 2, 5, 4, 3), **weights)
    for axis, sizes in [("channels-last", [1, 2, 2, 1])]:
        table.graph(f"resize-{axis}", _conv("x", "w", "a") + 's = Resize <mode = "nearest", '
                    'coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> '
                    "(a, , z)\n" + _conv("s", "v", "y"), launches=4, x=(1, 6, 6, 3),
                    z=const(np.array(sizes, np.float32)), **weights)
    table.graph("shuffle", _conv("x", "w", "a") + "s = Reshape(a, i)\n"
                "t = Transpose <perm = [0, 1, 2, 4, 3]> (s)\n u = Reshape(t, j)\n r = Relu(u)\n"
                + _conv("r", "v", "y"), x=(1, 12, 12, 3), i=i64(1, 12, 12, 2, 4),
                j=i64(1, 12, 12, 8), **weights)


def _reductions(table):
    weights = {"w": const(8, 3, 3, 3)}
    table.graph("softmax-channels", _conv("x", "w", "a") + "y = Softmax <axis = 3> (a)",
                launches=2, x=(1, 12, 12, 3), **weights)
    table.graph("softmax-flattened", _conv("x", "w", "a") + "s = Softmax <axis = 1> (a)\n"
                f"y = {FIRST} (s)", opset=11, x=(2, 5, 6, 3), **weights)
    table.graph("softmax-flattened-last", _conv("x", "w", "a") + "s = Softmax <axis = 3> (a)\n"
                f"y = {FIRST} (s)", opset=11, launches=2, x=(2, 5, 6, 3), **weights)
    table.graph("global-pool", _conv("x", "w", "a") + "r = Relu(a)\n"
                "g = ReduceMean <axes = [1, 2], keepdims = 0> (r)\n y = MatMul(g, m)", launches=3,
                x=(1, 12, 12, 3), m=const(8, 10), **weights)
    table.graph("squeeze-excite", _conv("x", "w", "a") + "r = Relu(a)\n"
                "g = ReduceMean <axes = [1, 2], keepdims = 1> (r)\n"
                + _conv("g", "u", "d", "pads = [0,0,0,0]") + "h = Sigmoid(d)\n m = Mul(r, h)\n"
                + _conv("m", "v", "y"), launches=5, x=(1, 12, 12, 3), u=const(8, 8, 1, 1),
                v=const(4, 8, 3, 3), **weights)


def _blocks(table):
    norm = ("m = ReduceMean <axes = [3]> (l)\n d = Sub(l, m)\n q = Mul(d, d)\n"
            "e = ReduceMean <axes = [3]> (q)\n s = Add(e, eps)\n t = Sqrt(s)\n n = Div(d, t)\n"
            "g = Mul(n, gamma)\n h = Add(g, beta)\n")
    given = {"eps": const(np.array(1e-5, np.float32)), "gamma": const(16), "beta": const(16),
             "k": const(16, 1, 7, 7), "u": const(16, 64), "v": const(64, 16)}
    table.graph("convnext", f"c = Conv <group = 16, pads = [3,3,3,3]> (x, k)\n l = {LAST} (c)\n"
                + norm + f"a = MatMul(h, u)\n b = Relu(a)\n o = MatMul(b, v)\n p = {FIRST} (o)\n"
                "y = Add(x, p)", launches=6, x=(1, 16, 10, 10), **given)
    table.graph("heads", "a = MatMul(x, u)\n b = Reshape(a, s)\n"
                "c = Transpose <perm = [0, 2, 1, 3]> (b)\n d = Mul(c, f)\n"
                "e = Transpose <perm = [0, 1, 3, 2]> (d)\n g = MatMul(c, e)\n"
                "h = Softmax <axis = 3> (g)\n i = MatMul(h, c)\n"
                "j = Transpose <perm = [0, 2, 1, 3]> (i)\n y = Reshape(j, r)", x=(2, 7, 12),
                u=const(12, 12), s=i64(2, 7, 3, 4), r=i64(2, 7, 12), launches=4,
                f=const(np.array(0.5, np.float32)))


def _packed(table):
    """What AssignLayouts lays out anew: chains of windows, pools and residuals between."""
    three = "pads = [1,1,1,1]"
    weights = {"u": const(64, 32, 1, 1), "v": const(64, 64, 3, 3), "w": const(64, 64, 3, 3)}
    table.graph("packed", f"a = Conv (x, u)\n b = Relu(a)\n c = Conv <{three}> (b, v)\n"
                f"d = Relu(c)\n y = Conv <{three}> (d, w)", launches=3, x=(1, 32, 14, 14),
                **weights)
    table.graph("packed-strided", f"a = Conv (x, u)\n c = Conv <strides = [2,2], {three}> (a, v)\n"
                "y = Conv <dilations = [2,2]> (c, w)", launches=3, x=(1, 32, 14, 14), **weights)
    table.graph("packed-residual", f"a = Conv (x, u)\n c = Conv <{three}> (a, v)\n d = Add(a, c)\n"
                f"e = Relu(d)\n f = Conv <{three}> (e, w)\n y = Add(e, f)", launches=3,
                x=(2, 32, 14, 14), **weights)
    table.graph("packed-pool", f"a = Conv (x, u)\n b = Conv <{three}> (a, v)\n"
                "p = MaxPool <kernel_shape = [3,3], strides = [2,2], pads = [1,1,0,0]> (b)\n"
                f"c = Conv <{three}> (p, w)\n y = GlobalAveragePool(c)", launches=5,
                x=(1, 32, 14, 14), **weights)
    table.graph("packed-grouped", f"a = Conv (x, u)\n y = Conv <group = 4, {three}> (a, g)",
                launches=2, x=(1, 32, 14, 14), u=const(64, 32, 1, 1), g=const(32, 16, 3, 3))
    table.graph("packed-concat", f"a = Conv (x, u)\n b = Conv <{three}> (a, v)\n"
                "e = Concat <axis = 1> (a, b)\n y = Softmax <axis = 1> (e)", launches=4,
                x=(1, 32, 14, 14), **weights)
    table.graph("halo", f"a = Conv <{three}> (x, v)\n b = Relu(a)\n c = Conv <{three}> (b, w)\n"
                "y = ReduceMax <axes = [2, 3]> (c)", launches=3, x=(1, 128, 60, 60),
                v=const(128, 128, 3, 3), w=const(128, 128, 3, 3))
