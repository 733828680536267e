"""How a family of cases is written down.

    table.node("softmax-axis-1", "Softmax", (2, 3, 4), axis=1)
    table.graph("conv-bias-relu", "c = Conv <pads = [1,1,1,1]> (x, w)\n y = Relu(c)",
                x=(1, 3, 8, 8), w=const(4, 3, 3, 3))

An operand is a shape (standard normal float32), an array, or a function from a random generator
to an array; const(...) makes any of these an initializer, None is an input left out. Numbers
come from a generator seeded by the case's name, so that a case never changes another.
"""

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper

import graphs


@dataclass(frozen=True)
class Case:
    """One graph, its feeds, and how its answer is compared."""

    name: str
    model: onnx.ModelProto
    feeds: dict
    compare: dict = field(default_factory=dict)  # arguments of harness.expect_close
    letter: bool = False  # the reference is ONNX's own evaluator
    launches: int | None = None  # no more than so many a run, sums of split products apart

    def expected(self):
        """Output name -> array."""
        return (graphs.evaluate if self.letter else graphs.reference_outputs)(
            self.model, self.feeds)

    @property
    def outputs(self):
        """The outputs' names in order."""
        return [value.name for value in self.model.graph.output]


@dataclass(frozen=True)
class const:  # noqa: N801  reads as a word in the tables
    """An operand that is an initializer."""

    value: tuple | np.ndarray | Callable

    def __init__(self, *value):
        single = len(value) == 1 and not isinstance(value[0], int)
        object.__setattr__(self, "value", value[0] if single else value)


def uniform(low, high, *shape, dtype=np.float32):
    """Floats in [low, high)."""
    return lambda rng: rng.uniform(low, high, shape).astype(dtype)


def integers(low, high, *shape, dtype=np.int64):
    """Integers in [low, high)."""
    return lambda rng: rng.integers(low, high, shape).astype(dtype)


def normal(*shape, dtype=np.float32):
    """Standard normal numbers of another type than float32."""
    return lambda rng: rng.standard_normal(shape).astype(dtype)


def booleans(*shape):
    """Coin flips."""
    return lambda rng: rng.integers(0, 2, shape).astype(bool)


def i64(*values):
    """A constant list of int64, as shape arguments are."""
    return const(np.array(values, np.int64))


class Table:
    """Collects the cases of a family."""

    def __init__(self, family):
        self.family, self.cases = family, []

    def node(self, name, op, *operands, opset=17, outputs=1, letter=False, compare=None,
             **attributes):
        """One node with inputs x0, x1, ... and outputs y0, y1, ..."""
        names = [f"x{i}" if operand is not None else "" for i, operand in enumerate(operands)]
        results = [f"y{i}" for i in range(outputs)]
        nodes = [helper.make_node(op, names, results, name="node", **attributes)]
        given = {n: operand for n, operand in zip(names, operands, strict=True) if n}
        self._add(name, nodes, given, results, opset, letter, compare)

    def graph(self, name, text, outputs=("y",), opset=17, letter=False, compare=None,
              launches=None, **operands):
        """Several nodes, a line each in ONNX's text form."""
        lines = [line.strip() for line in text.strip().splitlines()]
        nodes = [onnx.parser.parse_node(line) for line in lines if line]
        for i, node in enumerate(nodes):
            node.name = f"{node.op_type.lower()}_{i}"
        self._add(name, nodes, operands, list(outputs), opset, letter, compare, launches)

    def _add(self, name, nodes, operands, outputs, opset, letter, compare, launches=None):
        name = f"{self.family}/{name}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        feeds, weights = {}, {}
        for key, operand in operands.items():
            if isinstance(operand, const):
                weights[key] = _array(operand.value, rng)
            else:
                feeds[key] = _array(operand, rng)
        model = graphs.node_graph(nodes, feeds, outputs, weights, opset)
        self.cases.append(Case(name, model, feeds, compare or {}, letter, launches))


def _array(operand, rng):
    if isinstance(operand, tuple):
        return rng.standard_normal(operand).astype(np.float32)
    return np.asarray(operand(rng) if callable(operand) else operand)
