"""Which tensor of a run is the first that differs from ONNX Runtime's, and whose fault it is.

Three looks at the model, each tensor compared by _tolerance's rule:

- the plan: the model as it ships, and the same with those tensors as further outputs that its
  kernels leave in memory: exposing them changes no kernel, which is how they are found.
- apart: all other tensors exposed, which breaks kernels up: a node by itself.
- cut out: where a kernel of the plan makes a wrong tensor, its nodes alone as a model that reads
  the reference's values, with one inner tensor exposed at a time, which keeps the kernel whole.

With a wrong tensor found, bisect_passes finds the pass that makes it wrong.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from typing import Callable, Mapping, Optional, Sequence

import numpy as np

from . import _tolerance
from ._compiler import compile as compile_model
from ._compiler import optional_passes
from ._libraries import Error
from ._onnx_graph import Graph
from ._runtime import Launch

_TRIALS = 16  # compiles to find out which tensors lie in memory
HALF_ROUNDING = 2.0 ** -10  # two roundings to half, relative to the number
_ENTRY = re.compile(r"\.entry (\S+)\((.*?)\n}", re.DOTALL)


@dataclass
class Verdict:
    """One tensor beside its reference."""
    tensor: str
    node: str
    op: str
    passes: bool
    error: float        # the largest difference
    of_range: float     # the same as a share of the reference's range
    where: str          # "plan" or "apart"


@dataclass
class Result:
    """What a check found."""
    device: str
    verdicts: list[Verdict] = field(default_factory=list)  # in topological order
    skipped: list[str] = field(default_factory=list)       # tensors that cannot be compared
    launches: int = 0
    symptom: Optional[Verdict] = None  # the first wrong tensor
    first: Optional[Verdict] = None    # the same, or one inside its kernel that explains it
    kernel: Optional[Launch] = None  # of the plan, that the first wrong tensor's node is in
    reason: str = ""                 # how far the cut-out kernel bears it out
    wrong_pass: Optional[str] = None

    @property
    def passes(self) -> bool:
        """Whether nothing differs."""
        return self.symptom is None


def bisect_passes(names: Sequence[str],
                  diverges: Callable[[list[str]], bool]) -> Optional[str]:
    """The pass with which a divergence appears: without it and what follows the result is right,
    with it, it is wrong. `diverges` takes the passes to skip. None when it is wrong without any."""
    names = list(names)
    right, wrong = 0, len(names)  # how many of the passes run
    if diverges(names):
        return None
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if diverges(names[middle:]):
            wrong = middle
        else:
            right = middle
    return names[right]


class Checker:
    """Checks one model on one set of inputs."""

    def __init__(self, path: str, graph: Graph, feeds: Mapping[str, np.ndarray],
                 shapes: Mapping[str, Sequence[int]], *, precision: str = "fp32",
                 device: str = "auto", skip_passes: Sequence[str] = (),
                 say: Callable[[str], None] = lambda line: None):
        self.path, self.graph, self.feeds, self.shapes = path, graph, dict(feeds), dict(shapes)
        self.precision, self.device, self.say = precision, device, say
        self.skip_passes = list(skip_passes)
        say("running ONNX Runtime")
        self.reference = {**graph.trace(feeds), **feeds}
        self.spreads = graph.spreads(feeds, self.reference) if precision == "fp32" else {}

    def run(self) -> Result:
        """All looks."""
        self.say("compiling the plan")
        values, launches, kernels, device = self._outputs([])
        result = Result(device, launches=len(launches))
        seen = {name: self._compare(name, array, "plan") for name, array in values.items()
                if name in self.graph.maker}
        wanted = [name for name in self.graph.order if name not in seen]
        result.skipped = [name for name in wanted if not self._is_comparable(name)]
        wanted = [name for name in wanted if self._is_comparable(name)]
        stored = self._stored(wanted, launches, kernels)
        if stored:
            self.say(f"comparing {len(stored)} tensors that lie between kernels")
            for name, array in self._outputs(stored)[0].items():
                if name not in seen and name in self.graph.maker:
                    seen[name] = self._compare(name, array, "plan")
        apart = [name for name in wanted if name not in seen]
        if apart:
            self.say(f"comparing {len(apart)} tensors inside kernels")
            for name, array in self._outputs(apart)[0].items():
                if name not in seen and name in self.graph.maker:
                    seen[name] = self._compare(name, array, "apart")
        result.verdicts = [seen[name] for name in self.graph.order if name in seen]
        result.symptom = next((v for v in result.verdicts if not v.passes), None)
        result.first = result.symptom
        if result.symptom:
            self._explain(result, launches)
        return result

    def bisect(self, result: Result) -> None:
        """Names the pass, once run() has found a wrong tensor."""
        tensor = result.symptom.tensor
        names = [name for name in optional_passes(self.precision) if name not in self.skip_passes]

        def diverges(skipped: list[str]) -> bool:
            self.say(f"running {len(names) - len(skipped)} of {len(names)} passes")
            exposed = [] if tensor in self.graph.outputs else [tensor]
            values = self._outputs(exposed, skipped)[0]
            return not self._compare(tensor, values[tensor], "").passes

        if not diverges([]):
            raise Error(f"{tensor}: is right when it alone is exposed, so no pass can be told "
                        "apart by it")
        result.wrong_pass = bisect_passes(names, diverges)

    def _outputs(self, exposed: Sequence[str], skipped: Sequence[str] = ()):
        """Values by name, launches, kernels by name, and the device of a compile and run."""
        with self._compile(exposed, skipped) as model, model.session(self.device) as session:
            return (session.run(self.feeds), model.launches, _kernel_texts(model.ptx),
                    session.device)

    def _compile(self, exposed: Sequence[str], skipped: Sequence[str] = ()):
        return _quietly(self.path, shapes=self.shapes, precision=self.precision, expose=exposed,
                        skip_passes=[*self.skip_passes, *skipped])

    def _is_comparable(self, name: str) -> bool:
        value = self.reference.get(name)
        return value is not None and value.dtype.kind in "fiub"

    def _compare(self, name: str, got: np.ndarray, where: str) -> Verdict:
        node, op = self.graph.where(name)
        expected = self.reference[name]
        passes, error = compare(got, expected, self.precision, self.spreads.get(name, 0.0))
        scale = _tolerance.value_range(expected) if expected.dtype.kind == "f" else 1.0
        return Verdict(name, node, op, passes, error, error / scale, where)

    def _stored(self, wanted: Sequence[str], launches: Sequence[Launch],
                kernels: Mapping[str, str]) -> list[str]:
        """The tensors that kernels of the plan leave in memory: those whose exposure leaves every
        kernel what it is. Found by trying, in at most _TRIALS compiles."""
        home = self._homes(launches)
        plain = set(kernels.values())
        trials = 0

        def foreign(names: Sequence[str]) -> set[str]:
            """Labels of the nodes whose kernels are none of the plan's."""
            nonlocal trials
            trials += 1
            with self._compile(names) as model:
                texts = _kernel_texts(model.ptx)
                return {label for launch in model.launches
                        if texts.get(launch.kernel) not in plain for label in launch.nodes}

        def may_be_stored(name: str) -> bool:
            own = home.get(self.graph.maker[name])
            return name not in self.graph.fixed and (own is None or any(
                home.get(reader) is not own for reader in self.graph.readers.get(name, [])))

        chosen = [name for name in wanted if may_be_stored(name)]
        changed = foreign(chosen) if chosen else set()
        pending = [name for name in chosen if changed and self.graph.where(name)[0] in changed]
        chosen = [name for name in chosen if name not in pending]
        if changed and (not pending or foreign(chosen)):
            pending, chosen = [*chosen, *pending], []
        parts = [pending] if changed and pending else []
        while parts and trials < _TRIALS:
            part = parts.pop(0)
            if len(part) < len(pending) and not foreign([*chosen, *part]):
                chosen += part
            elif len(part) > 1:
                parts += [part[:len(part) // 2], part[len(part) // 2:]]
        return chosen

    def _homes(self, launches: Sequence[Launch]) -> dict[int, Launch]:
        """The last launch of each node that has one."""
        labels = self.graph.by_label()
        return {index: launch for launch in launches for label in launch.nodes
                for index in labels.get(label, [])}

    def _explain(self, result: Result, launches: Sequence[Launch]) -> None:
        """The kernel of the first wrong tensor, and the exact node where the kernel is at fault."""
        first = result.first
        launch = self._homes(launches).get(self.graph.maker[first.tensor])
        result.kernel = launch
        if launch is None:
            result.reason = "its node is in no kernel of the plan: it is a view or was folded"
            return
        if first.where == "apart":
            result.reason = "it is wrong when the kernel is broken up around it"
            return
        labels = self.graph.by_label()
        indices = [index for label in launch.nodes for index in labels.get(label, [])]
        inner = [name for name in self.graph.order
                 if self.graph.maker[name] in indices and self._is_comparable(name)]
        self.say(f"cutting out {launch.kernel}")
        try:
            wrong = self._first_wrong_inside(indices, inner, first.tensor)
        except Error as error:
            result.reason = f"its kernel cannot be cut out: {error}"
            return
        if wrong is None:
            result.reason = ("its kernel is right on the reference's values: look at what it reads "
                             "in the plan, at the memory plan, or at rounding that adds up")
        else:
            result.first = wrong
            result.reason = "its kernel is wrong on the reference's values too"

    def _first_wrong_inside(self, indices: list[int], inner: list[str],
                            end: str) -> Optional[Verdict]:
        content, feeds = self.graph.cut(indices, self.reference, [end])
        for name in inner:
            model = _quietly(content, precision=self.precision,
                             expose=[name] if name != end else [],
                             skip_passes=self.skip_passes, name="cut-out kernel")
            with model, model.session(self.device) as session:
                verdict = self._compare(name, session.run(feeds)[name], "plan")
            if not verdict.passes:
                return verdict
        return None


def compare(got: np.ndarray, expected: np.ndarray, precision: str,
            spread: float) -> tuple[bool, float]:
    """(passes, worst error) by _tolerance's rule. A tensor that is exposed under fp16 is stored as
    half, and a model's own halves are held to the rule of halves."""
    if got.shape != expected.shape or (expected.dtype.kind != "f" and got.dtype != expected.dtype):
        return False, float("inf")
    if expected.dtype.kind != "f":
        return bool(np.array_equal(got, expected)), _tolerance.worst(got, expected)
    with np.errstate(invalid="ignore", over="ignore"):
        if precision == "fp16" or expected.dtype == np.float16:
            passes, error = _tolerance.close_half(got, expected)
            # A tensor of nearly one value has no range, and half still rounds it.
            magnitude = np.abs(expected[np.isfinite(expected)].astype(np.float64)).max(initial=0.0)
            return bool(passes or error <= HALF_ROUNDING * magnitude), error
        return _tolerance.close(got, expected, _tolerance.RTOL,
                                _tolerance.absolute(expected, spread))


def _quietly(*arguments, **options):
    """compile() without its notes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_model(*arguments, **options)


def _kernel_texts(ptx: str) -> dict[str, str]:
    """Each kernel's PTX by its name, without it."""
    return {name: text.replace(name, "") for name, text in _ENTRY.findall(ptx)}
