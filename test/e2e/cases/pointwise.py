"""Elementwise operators: broadcasts, special values, integers, casts and chains."""

import itertools

import numpy as np

from .table import Table, booleans, const, integers, normal, uniform

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e-45, 1e-40, -1e-40,
                    3.4e38, -3.4e38, 1e-20, 88.0, -88.0, 104.0, -104.0, 7.5, -3.5, 2.5, 100.5,
                    2147483648.0], np.float32)
EXACT = {"exact": True}
EDGES = {np.int32: [0, 1, -1, 7, -7, 2 ** 31 - 1, -2 ** 31, 100, -100],
         np.int64: [0, 1, -1, 7, -7, 2 ** 63 - 1, -2 ** 63, 2 ** 40, -2 ** 40],
         np.uint8: [0, 1, 2, 7, 127, 128, 200, 254, 255],
         np.int8: [0, 1, -1, 7, -7, 127, -128, 100, -100]}
BROADCASTS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), ()), ((), (2, 3, 4)), ((2, 3, 4), (4,)),
              ((2, 3, 4), (3, 1)), ((2, 1, 4), (1, 3, 1)), ((5, 1, 7), (6, 7)), ((1,), (1,)),
              ((1000, 3), (3,)), ((3, 5, 7, 2), (3, 1, 7, 1)), ((1025,), (1025,)), ((0, 3), (3,)),
              ((), ())]


def cases():
    """All cases of the family."""
    table = Table("pointwise")
    _unary(table)
    _binary(table)
    _integer(table)
    _logic(table)
    _casts(table)
    _chains(table)
    return table.cases


def _unary(table):
    anywhere = ["Relu", "Abs", "Neg", "Sign", "Exp", "Sigmoid", "Tanh", "Erf", "Floor", "Ceil",
                "Round", "Sin", "Cos", "Atan", "Softplus", "Softsign", "Elu", "LeakyRelu",
                "HardSigmoid", "Selu", "Identity", "HardSwish", "Celu", "ThresholdedRelu", "Mish",
                "Gelu", "Reciprocal"]
    ranges = {"Sqrt": (0, 50), "Log": (1e-3, 50), "Asin": (-1, 1), "Acos": (-1, 1),
              "Acosh": (1, 9), "Atanh": (-0.99, 0.99), "Asinh": (-9, 9), "Cosh": (-9, 9),
              "Sinh": (-9, 9), "Tan": (-1.5, 1.5)}
    exact = {"Relu", "Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Identity"}
    for op in anywhere:
        compare = EXACT if op in exact else {}
        opset = {"Mish": 18, "Gelu": 20}.get(op, 17)
        table.node(f"{op.lower()}", op, uniform(-6, 6, 3, 7, 5), compare=compare, opset=opset)
    for op, (low, high) in ranges.items():
        table.node(f"{op.lower()}", op, uniform(low, high, 3, 7, 5))
    for op in ["Relu", "Abs", "Neg", "Sign", "Sigmoid", "Tanh", "Exp", "Sqrt", "Log", "Floor", "Ceil",
               "Round", "Erf", "Reciprocal", "IsNaN", "IsInf", "LeakyRelu", "HardSigmoid"]:
        # Subnormal results may be flushed where the operator is an approximation.
        table.node(f"{op.lower()}-special", op, SPECIAL, letter=True,
                   compare=EXACT if op in exact else {"atol_of_range": 0, "atol": 1e-37})
    table.node("leakyrelu-alpha", "LeakyRelu", (40,), alpha=-0.3)
    table.node("elu-alpha", "Elu", (40,), alpha=2.0)
    table.node("isinf-negative", "IsInf", SPECIAL, detect_positive=0)
    table.node("clip", "Clip", (40,), np.float32(-0.5), np.float32(0.5), compare=EXACT)
    table.node("clip-constant", "Clip", (40,), const(np.float32(-0.5)), const(np.float32(0.5)),
               compare=EXACT)
    table.node("clip-min-only", "Clip", (40,), const(np.float32(-0.5)), compare=EXACT)
    table.node("clip-max-only", "Clip", (40,), None, const(np.float32(0.5)), compare=EXACT)
    table.node("clip-opset-6", "Clip", (40,), min=-0.5, max=0.5, opset=6, compare=EXACT)
    table.node("clip-special", "Clip", SPECIAL, const(np.float32(-2)), const(np.float32(2)),
               letter=True, compare=EXACT)
    table.node("clip-crossed", "Clip", (40,), const(np.float32(0.5)), const(np.float32(-0.5)),
               compare=EXACT)
    table.node("relu-million", "Relu", (1, 1000003), compare=EXACT)
    table.node("prelu-channel", "PRelu", (2, 3, 4, 5), const(3, 1, 1))


def _binary(table):
    for a, b in BROADCASTS:
        table.node(f"add-{_text(a)}-{_text(b)}", "Add", a, b)
    for op in ["Sub", "Mul", "Div"]:
        table.node(op.lower(), op, (2, 3, 4), (3, 1))
        table.node(f"{op.lower()}-weight", op, (2, 3, 4), const((4,)))
        table.node(f"{op.lower()}-of-weight", op, const((4,)), (2, 3, 4))
    table.node("pow", "Pow", uniform(0.1, 4, 30), uniform(-3, 3, 30))
    table.node("pow-square", "Pow", (30,), const(np.float32(2)))
    table.node("pow-cube-negative", "Pow", (30,), const(np.float32(3)))
    table.node("pow-half", "Pow", uniform(0, 9, 30), const(np.float32(0.5)))
    table.node("pow-int-exponent", "Pow", (30,), const(np.int64(2)))
    table.node("add-opset-7", "Add", (2, 3), (3,), opset=7)
    rows, columns = (np.ascontiguousarray(a) for a in np.meshgrid(SPECIAL, SPECIAL))
    for op in ["Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Equal", "GreaterOrEqual"]:
        compare = {"exact": True} if op not in ("Div", "Mul") else {"atol_of_range": 0,
                                                                   "atol": 1e-37}
        table.node(f"{op.lower()}-special", op, rows, columns, letter=True, compare=compare)
    for op in ["Max", "Min", "Sum", "Mean"]:
        table.node(f"{op.lower()}-three", op, (2, 3, 4), (4,), (3, 1))
        table.node(f"{op.lower()}-one", op, (2, 3))
    table.node("mod-fmod", "Mod", uniform(-9, 9, 40), uniform(1, 3, 40), fmod=1)


def _integer(table):
    for dtype, values in EDGES.items():
        name = np.dtype(dtype).name
        edge = np.array(values, dtype)
        a, b = (np.ascontiguousarray(m) for m in np.meshgrid(edge, edge))
        for op in ["Add", "Sub", "Mul"]:
            table.node(f"{op.lower()}-{name}", op, a, b, letter=True)
        for op in ["Less", "Greater", "Equal", "Max", "Min"]:
            table.node(f"{op.lower()}-{name}", op, a, b, letter=True)
        safe = edge[(edge != 0) & (edge != dtype(-1 if dtype(0) - 1 < 0 else 0))] \
            if np.issubdtype(dtype, np.signedinteger) else edge[edge != 0]
        a, b = (np.ascontiguousarray(m) for m in np.meshgrid(edge, safe))
        table.node(f"div-{name}", "Div", a, b)
        table.node(f"mod-{name}", "Mod", a, b)
        table.node(f"mod-fmod-{name}", "Mod", a, b, fmod=1)
        if np.issubdtype(dtype, np.signedinteger):
            table.node(f"abs-{name}", "Abs", edge[edge != np.iinfo(dtype).min])
            table.node(f"neg-{name}", "Neg", edge)
    table.node("div-int64-constant-power-of-two", "Div", np.array(EDGES[np.int64]),
               const(np.int64(8)))
    table.node("relu-int32", "Relu", np.array(EDGES[np.int32], np.int32), letter=True)
    table.node("shift-left-uint8", "BitShift", np.array(EDGES[np.uint8], np.uint8),
               integers(0, 8, 9, dtype=np.uint8), direction="LEFT")
    table.node("shift-right-uint8", "BitShift", np.array(EDGES[np.uint8], np.uint8),
               integers(0, 8, 9, dtype=np.uint8), direction="RIGHT")


def _logic(table):
    for op in ["And", "Or", "Xor", "Equal"]:
        table.node(f"{op.lower()}-bool", op, booleans(4, 5), booleans(5))
    table.node("not", "Not", booleans(4, 5))
    table.node("where", "Where", booleans(4, 5), (4, 5), (5,))
    table.node("where-three-way", "Where", booleans(4, 1, 1), (5, 1), (3,))
    table.node("where-int64", "Where", booleans(4, 5), integers(-9, 9, 4, 5), integers(-9, 9, 1))
    table.node("where-nan-not-taken", "Where", booleans(SPECIAL.size), SPECIAL,
               const(np.float32(0)), letter=True, compare=EXACT)
    table.graph("where-of-compare", "c = Greater(x, z)\n y = Where(c, x, z)", x=(4, 5),
                z=const(np.float32(0)))


def _casts(table):
    floats = np.array([0, -0.0, 1.5, -1.5, 2.5, 100.9, -100.9, 0.1, 127, -128], np.float32)
    types = {"float": (1, floats), "double": (11, floats.astype(np.float64)),
             "half": (10, floats.astype(np.float16)), "int32": (6, floats.astype(np.int32)),
             "int64": (7, floats.astype(np.int64)), "int8": (3, floats.astype(np.int8)),
             "uint8": (2, np.abs(floats).astype(np.uint8)), "bool": (9, floats.astype(bool))}
    for (source, (_, values)), (target, (code, _)) in itertools.product(types.items(),
                                                                        types.items()):
        if source != target and not (target == "uint8" and values.dtype.kind in "fi"):
            table.node(f"cast-{source}-{target}", "Cast", values, to=code, compare=EXACT)
    table.node("cast-float-uint8", "Cast", uniform(0, 255, 40), to=2)
    table.node("cast-half-overflow", "Cast", np.array([65504, 65519, 65520, 1e6, -1e6, 1e-8, np.nan],
                                                      np.float32), to=10, compare=EXACT)
    table.node("cast-int64-float-rounding", "Cast",
               np.array([2 ** 53 + 1, 2 ** 24 + 1, -(2 ** 24 + 1), 2 ** 63 - 1]), to=1,
               compare=EXACT)


def _chains(table):
    table.graph("swish", "s = Sigmoid(x)\n y = Mul(x, s)", x=(3, 50))
    table.graph("diamond", "a = Exp(x)\n b = Neg(x)\n c = Exp(b)\n d = Add(a, c)\n e = Sub(a, c)\n"
                "y = Div(e, d)", x=(3, 50))
    table.graph("broadcast-in-the-middle", "a = Relu(x)\n b = Add(a, z)\n c = Tanh(b)\n y = Mul(c, w)",
                x=(4, 1), z=(1, 6), w=(3, 4, 6))
    table.graph("two-outputs", "a = Exp(x)\n b = Relu(a)\n c = Neg(a)", outputs=("b", "c"), x=(50,))
    table.graph("input-is-output-twice", "y = Identity(x)\n z = Identity(x)", outputs=("y", "z"),
                x=(5,))
    table.graph("same-operand", "y = Mul(x, x)", x=(70,))
    table.graph("mixed-types", "g = Greater(x, z)\n c = Cast <to = 1> (g)\n y = Mul(c, x)", x=(70,),
                z=(70,))
    table.graph("half-storage", "y = Add(x, z)", x=normal(70, dtype=np.float16),
                z=normal(70, dtype=np.float16), compare={"rtol": 1e-3, "atol_of_range": 1e-3})
    long = "a0 = Add(x, one)\n" + "".join(
        f"a{i} = {'Mul' if i % 2 else 'Add'}(a{i - 1}, k)\n" for i in range(1, 40))
    table.graph("forty-in-a-row", long + "y = Identity(a39)", x=(70,), one=const(np.float32(1)),
                k=const(np.float32(0.9)))


def _text(shape):
    return "x".join(map(str, shape)) or "scalar"
