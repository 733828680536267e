"""Conv in one, two and three dimensions, and what is fused around it."""

import numpy as np

from .table import Table, const


def cases():
    """All cases of the family."""
    table = Table("conv")
    _plain(table)
    _windows(table)
    _grouped(table)
    _fused(table)
    return table.cases


def _plain(table):
    for batch, channels, size, filters, kernel in [
            (1, 3, 12, 8, 3), (1, 1, 5, 1, 1), (2, 5, 9, 7, 3), (1, 16, 14, 33, 1), (1, 64, 7, 64, 3),
            (3, 4, 8, 65, 5), (1, 2, 30, 130, 3), (1, 3, 40, 16, 7), (1, 130, 4, 3, 3)]:
        label = f"{batch}x{channels}x{size}-{filters}-k{kernel}"
        weight = const(filters, channels, kernel, kernel)
        x = (batch, channels, size, size)
        table.node(f"valid-{label}", "Conv", x, weight)
        table.node(f"same-{label}", "Conv", x, weight, const((filters,)), pads=[kernel // 2] * 4)
    table.node("weight-is-input", "Conv", (1, 3, 8, 8), (4, 3, 3, 3), pads=[1] * 4)
    table.node("weight-and-bias-are-inputs", "Conv", (1, 3, 8, 8), (4, 3, 3, 3), (4,), pads=[1] * 4)
    table.node("stem-7x7-s2", "Conv", (1, 3, 56, 56), const(64, 3, 7, 7), const((64,)),
               pads=[3] * 4, strides=[2, 2])
    table.node("opset-1", "Conv", (1, 3, 8, 8), const(4, 3, 3, 3), opset=7)
    table.node("opset-22", "Conv", (1, 3, 8, 8), const(4, 3, 3, 3), opset=22)


def _windows(table):
    table.node("stride-2", "Conv", (1, 4, 11, 12), const(6, 4, 3, 3), strides=[2, 2])
    table.node("stride-2-1x1", "Conv", (1, 8, 14, 14), const(16, 8, 1, 1), strides=[2, 2])
    table.node("stride-3x1", "Conv", (1, 4, 11, 12), const(6, 4, 3, 3), strides=[3, 1], pads=[1] * 4)
    table.node("kernel-1x7", "Conv", (1, 4, 11, 12), const(6, 4, 1, 7), pads=[0, 3, 0, 3])
    table.node("kernel-even", "Conv", (1, 4, 11, 12), const(6, 4, 2, 4))
    table.node("kernel-covers-all", "Conv", (2, 4, 6, 5), const(6, 4, 6, 5))
    table.node("pads-uneven", "Conv", (1, 4, 11, 12), const(6, 4, 3, 3), pads=[0, 1, 2, 3])
    table.node("pads-wider-than-kernel", "Conv", (1, 2, 4, 4), const(3, 2, 3, 3), pads=[5] * 4)
    table.node("dilation-2", "Conv", (1, 4, 15, 15), const(6, 4, 3, 3), dilations=[2, 2])
    table.node("dilation-3x2-padded", "Conv", (1, 4, 15, 16), const(6, 4, 3, 3), dilations=[3, 2],
               pads=[3, 2, 3, 2], strides=[2, 1])
    for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        label = mode.lower().replace("_", "-")
        table.node(f"auto-pad-{label}", "Conv", (1, 4, 11, 12), const(6, 4, 3, 3), auto_pad=mode,
                   strides=[2, 2])
        table.node(f"auto-pad-{label}-even", "Conv", (1, 4, 11, 12), const(6, 4, 4, 2),
                   auto_pad=mode)
    table.node("1d", "Conv", (2, 4, 33), const(6, 4, 5), const((6,)), pads=[2, 2])
    table.node("1d-stride-dilation", "Conv", (1, 4, 50), const(6, 4, 3), strides=[3],
               dilations=[4], pads=[4, 1])
    table.node("1d-stft", "Conv", (1, 1, 640), const(258, 1, 256), strides=[128])
    table.node("3d", "Conv", (1, 3, 6, 7, 8), const(5, 3, 3, 3, 3), const((5,)), pads=[1] * 6)
    table.node("3d-stride-uneven", "Conv", (2, 3, 6, 7, 8), const(5, 3, 1, 3, 2), strides=[2, 1, 2],
               pads=[0, 1, 0, 0, 2, 1])
    table.node("batch-0", "Conv", (0, 3, 8, 8), const(4, 3, 3, 3))


def _grouped(table):
    table.node("groups-2", "Conv", (1, 6, 9, 9), const(8, 3, 3, 3), const((8,)), group=2, pads=[1] * 4)
    table.node("groups-4-batch", "Conv", (2, 8, 7, 7), const(12, 2, 3, 3), group=4)
    table.node("groups-32", "Conv", (1, 128, 5, 5), const(128, 4, 3, 3), group=32, pads=[1] * 4)
    table.node("groups-1x1", "Conv", (1, 6, 9, 9), const(4, 3, 1, 1), group=2)
    for kernel, stride in [(3, 1), (3, 2), (5, 1), (5, 2), (7, 1)]:
        table.node(f"depthwise-k{kernel}-s{stride}", "Conv", (1, 20, 15, 17),
                   const(20, 1, kernel, kernel), const((20,)), group=20, pads=[kernel // 2] * 4,
                   strides=[stride] * 2)
    table.node("depthwise-stride-2x1", "Conv", (1, 20, 15, 17), const(20, 1, 3, 3), group=20,
               pads=[1] * 4, strides=[2, 1])
    table.node("depthwise-multiplier-2", "Conv", (2, 6, 9, 9), const(12, 1, 3, 3), group=6)
    table.node("depthwise-dilated", "Conv", (1, 6, 15, 15), const(6, 1, 3, 3), group=6,
               dilations=[2, 2], pads=[2] * 4)
    table.node("depthwise-1d", "Conv", (1, 6, 40), const(6, 1, 5), group=6, pads=[2, 2])
    table.node("depthwise-3d", "Conv", (1, 4, 6, 6, 6), const(4, 1, 3, 3, 3), group=4, pads=[1] * 6)
    table.node("depthwise-weight-is-input", "Conv", (1, 6, 9, 9), (6, 1, 3, 3), group=6)


def _fused(table):
    conv = "c = Conv <pads = [1,1,1,1]> (x, w, b)\n"
    given = {"x": (1, 8, 13, 13), "w": const(24, 8, 3, 3), "b": const((24,))}
    channel = const(lambda rng: rng.standard_normal((1, 24, 1, 1)).astype(np.float32))
    table.graph("relu", conv + "y = Relu(c)", **given)
    table.graph("residual-relu", conv + "s = Add(c, r)\n y = Relu(s)", r=(1, 24, 13, 13), **given)
    table.graph("residual-left", conv + "s = Add(r, c)\n y = Relu(s)", r=(1, 24, 13, 13), **given)
    table.graph("clip-6", conv + "y = Clip(c, lo, hi)", lo=const(np.float32(0)),
                hi=const(np.float32(6)), **given)
    table.graph("sigmoid-mul", conv + "s = Sigmoid(c)\n y = Mul(c, s)", **given)
    table.graph("hardswish", conv + "a = Add(c, three)\n k = Clip(a, lo, hi)\n m = Mul(c, k)\n"
                "y = Div(m, hi)", three=const(np.float32(3)), lo=const(np.float32(0)),
                hi=const(np.float32(6)), **given)
    table.graph("scale-channel", conv + "y = Mul(c, k)", k=channel, **given)
    table.graph("bias-as-add", "c = Conv <pads = [1,1,1,1]> (x, w)\n s = Add(c, k)\n y = Relu(s)",
                k=channel, **{key: given[key] for key in "xw"})
    table.graph("batchnorm", conv + "y = BatchNormalization(c, g, h, m, v)", **given,
                **_norm(24))
    table.graph("batchnorm-relu-no-bias", "c = Conv(x, w)\n n = BatchNormalization(c, g, h, m, v)\n"
                "y = Relu(n)", x=(2, 3, 9, 9), w=const(24, 3, 3, 3), **_norm(24))
    table.graph("batchnorm-shared-weight", "a = Conv(x, w)\n d = BatchNormalization(a, g, h, m, v)\n"
                "e = Conv(z, w)\n y = Add(d, e)", x=(1, 3, 9, 9), z=(1, 3, 9, 9),
                w=const(24, 3, 3, 3), **_norm(24))
    table.graph("batchnorm-conv-is-output", conv + "y = BatchNormalization(c, g, h, m, v)",
                outputs=("c", "y"), **given, **_norm(24))
    table.graph("batchnorm-depthwise", "c = Conv <group = 24> (x, w)\n"
                "y = BatchNormalization(c, g, h, m, v)", x=(1, 24, 9, 9), w=const(24, 1, 3, 3),
                **_norm(24))
    table.graph("batchnorm-alone", "y = BatchNormalization(x, g, h, m, v)", x=(2, 24, 5, 5),
                **_norm(24))
    table.graph("batchnorm-1d", "y = BatchNormalization <epsilon = 0.01> (x, g, h, m, v)",
                x=(5, 24), **_norm(24))
    table.graph("pad-then-conv", "p = Pad(x, q)\n y = Conv(p, w)", x=(1, 4, 9, 9),
                q=const(np.array([0, 0, 1, 2, 0, 0, 3, 0])), w=const(6, 4, 3, 3))
    table.graph("nhwc-to-nchw-conv", "t = Transpose <perm = [0, 3, 1, 2]> (x)\n c = Conv(t, w)\n"
                "y = Transpose <perm = [0, 2, 3, 1]> (c)", x=(1, 9, 10, 3), w=const(6, 3, 3, 3))
    table.graph("two-convs", "a = Conv(x, w)\n r = Relu(a)\n y = Conv <pads = [1,1,1,1]> (r, v)",
                x=(1, 3, 20, 20), w=const(16, 3, 1, 1), v=const(8, 16, 3, 3))
    table.graph("bottleneck", "a = Conv(x, u)\n b = Relu(a)\n c = Conv <pads = [1,1,1,1]> (b, v)\n"
                "d = Relu(c)\n e = Conv(d, w)\n f = Add(e, x)\n y = Relu(f)", x=(1, 32, 14, 14),
                u=const(8, 32, 1, 1), v=const(8, 8, 3, 3), w=const(32, 8, 1, 1))
    table.graph("squeeze-excite", "g = GlobalAveragePool(x)\n a = Conv(g, u)\n b = Relu(a)\n"
                "c = Conv(b, v)\n d = HardSigmoid <alpha = 0.2, beta = 0.5> (c)\n y = Mul(x, d)",
                x=(1, 16, 10, 12), u=const(4, 16, 1, 1), v=const(16, 4, 1, 1))


def _norm(channels):
    def positive(rng):
        return rng.uniform(0.5, 1.5, channels).astype(np.float32)
    return {"g": const(positive), "h": const((channels,)), "m": const((channels,)),
            "v": const(positive)}
