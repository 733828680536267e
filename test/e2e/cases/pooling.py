"""MaxPool, AveragePool and the global pools."""

import numpy as np

from .table import Table


def cases():
    """All cases of the family."""
    table = Table("pool")
    for op, label in [("MaxPool", "max"), ("AveragePool", "average")]:
        compare = {"exact": True} if op == "MaxPool" else {}

        def case(name, x, op=op, label=label, compare=compare, **attributes):
            table.node(f"{label}-{name}", op, x, compare=compare, **attributes)

        case("2x2", (1, 3, 8, 8), kernel_shape=[2, 2], strides=[2, 2])
        case("3x3-s2-p1", (2, 5, 15, 16), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
        case("default-stride", (1, 3, 9, 9), kernel_shape=[2, 3])
        case("uneven-pads", (1, 3, 9, 9), kernel_shape=[3, 3], pads=[0, 1, 2, 1])
        case("ceil", (1, 3, 10, 11), kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
        case("ceil-padded", (1, 3, 8, 8), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4,
             ceil_mode=1)
        case("same-upper", (1, 3, 9, 10), kernel_shape=[3, 2], strides=[2, 2],
             auto_pad="SAME_UPPER")
        case("same-lower", (1, 3, 9, 10), kernel_shape=[3, 2], strides=[2, 2],
             auto_pad="SAME_LOWER")
        case("valid", (1, 3, 9, 10), kernel_shape=[3, 2], auto_pad="VALID")
        case("1d", (2, 3, 20), kernel_shape=[4], strides=[3])
        case("3d", (1, 2, 6, 7, 8), kernel_shape=[2, 3, 2], strides=[2, 1, 2])
        case("large-window", (1, 3, 14, 14), kernel_shape=[14, 14])
        case("opset-7", (1, 3, 9, 10), kernel_shape=[3, 3], opset=7)
    for ceil in (0, 1):
        table.node(f"average-include-pad-ceil-{ceil}", "AveragePool", (1, 3, 9, 10),
                   kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4, count_include_pad=1,
                   ceil_mode=ceil, opset=19)
    table.node("max-dilated", "MaxPool", (1, 3, 12, 12), kernel_shape=[3, 3], dilations=[2, 2])
    table.node("max-all-negative", "MaxPool", -np.ones((1, 1, 4, 4), np.float32),
               kernel_shape=[3, 3], pads=[1] * 4)
    table.node("max-minus-infinity", "MaxPool", np.full((1, 1, 4, 4), -np.inf, np.float32),
               kernel_shape=[2, 2])
    table.node("max-indices", "MaxPool", (1, 3, 9, 10), outputs=2, kernel_shape=[3, 3],
               strides=[2, 2])
    table.node("global-average", "GlobalAveragePool", (2, 7, 9, 10))
    table.node("global-average-1", "GlobalAveragePool", (1, 7, 1, 1))
    table.node("global-average-large", "GlobalAveragePool", (1, 70, 60, 60))
    table.node("global-average-3d", "GlobalAveragePool", (1, 7, 4, 5, 6))
    table.node("global-max", "GlobalMaxPool", (2, 7, 9, 10), compare={"exact": True})
    table.graph("relu-pool-relu", "r = Relu(x)\n p = MaxPool <kernel_shape = [3,3], "
                "strides = [2,2], pads = [1,1,1,1]> (r)\n y = Relu(p)", x=(1, 4, 13, 13))
    return table.cases
