#!/usr/bin/env python3
"""`python -m pascaline check`, and that every optional pass may be left out.

A fault is planted where a user meets one: in numbers that half cannot hold, and in the values
that a run hands back.
"""

import io
import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import graphs
import harness

sys.path.insert(0, str(harness.ROOT / "runtime/python"))

HALF_FAULT = 3e5  # beyond half's range


def node(op, inputs, output, **attributes):
    """A node that is called as its output is, in capitals."""
    return helper.make_node(op, inputs.split(), [output], name=output.upper(), **attributes)


def scaled_model(scale=2.0):
    """Two matrix products with something pointwise after each; between them numbers of about
    `scale`."""
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((8, 16), np.float32)}
    weights = {"w": rng.standard_normal((16, 12), np.float32),
               "v": rng.standard_normal((12, 4), np.float32),
               "up": np.array([scale], np.float32), "down": np.array([1 / scale], np.float32)}
    nodes = [node("MatMul", "x w", "product"), node("Relu", "product", "positive"),
             node("Mul", "positive up", "large"), node("MatMul", "large v", "second"),
             node("Mul", "second down", "y")]
    return graphs.node_graph(nodes, feeds, ["y"], weights), feeds


def every_pass_model():
    """A graph in which each graph pass finds something to do."""
    rng = np.random.default_rng(4)
    feeds = {"x": rng.standard_normal((1, 6, 10, 10), np.float32)}
    channels = {name: rng.uniform(0.5, 1.5, 8).astype(np.float32) for name in ("g", "b", "m", "s")}
    weights = {**channels, "k": rng.standard_normal((8, 6, 3, 3), np.float32),
               "pads": np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64),
               "w": rng.standard_normal((8, 5), np.float32),
               "shape": np.array([100, 8], np.int64), "rows": np.array([3, 1, 4, 1, 5], np.int64)}
    nodes = [node("Pad", "x pads", "padded"), node("Conv", "padded k", "conv"),
             node("BatchNormalization", "conv g b m s", "normal"),
             node("Transpose", "normal", "last", perm=[0, 2, 3, 1]), node("Relu", "last", "relu"),
             node("Transpose", "relu", "first", perm=[0, 3, 1, 2]),
             node("MaxPool", "first", "pool", kernel_shape=[3, 3], strides=[1, 1],
                  pads=[1, 1, 1, 1]),
             node("Add", "pool first", "sum"), node("Sigmoid", "sum", "gate"),
             node("Mul", "sum gate", "swish"),
             node("Transpose", "swish", "wide", perm=[0, 2, 3, 1]),
             node("Reshape", "wide shape", "rows8"), node("MatMul", "rows8 w", "product"),
             node("Softmax", "product", "softmax", axis=-1),
             node("ReduceMean", "softmax", "mean", axes=[1], keepdims=1),
             node("Concat", "softmax mean", "joined", axis=1),
             node("Gather", "joined rows", "y", axis=0)]
    return graphs.node_graph(nodes, feeds, ["y"], weights), feeds


class Check:
    """The tests."""

    def __init__(self, folder):
        from pascaline import __main__, _check, _compiler  # pylint: disable=import-outside-toplevel
        from pascaline import _onnx_graph  # pylint: disable=import-outside-toplevel
        self.main, self.check, self.compiler = __main__, _check, _compiler
        self.graph, self.folder = _onnx_graph, Path(folder)

    def save(self, built, name="m"):
        """(path of the model, arguments that give its inputs)."""
        model, feeds = built
        path = self.folder / f"{name}.onnx"
        onnx.save(model, path)
        arguments = []
        for key, array in feeds.items():
            np.save(self.folder / f"{name}_{key}.npy", array)
            arguments += ["--input", f"{key}={self.folder / f'{name}_{key}.npy'}"]
        return str(path), arguments

    def call(self, *arguments):
        """(exit status, stdout, stderr) of `check`."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            try:
                status = self.main.main(["check", "--device", "emulator", *arguments])
            except SystemExit as stop:
                status = stop.code
        return status, out.getvalue(), err.getvalue()

    def report(self, *arguments, status=0):
        """The JSON of a check that ends with a status."""
        got, out, err = self.call("--json", *arguments)
        if got != status:
            raise harness.Failure(f"status {got}, not {status}: {err or out[:300]}")
        return json.loads(out)

    def test_right_model(self):
        """Every tensor is compared, those between kernels as the plan leaves them."""
        path, inputs = self.save(every_pass_model())
        for precision in ("fp32", "fp16"):
            says = self.report(path, *inputs, "--precision", precision)
            names = {each["tensor"] for each in says["tensors"]}
            if names != {name.lower() for name in names} or len(names) != 17:
                raise harness.Failure(f"{precision}: compares {sorted(names)}")
            plan = {each["tensor"] for each in says["tensors"] if each["where"] == "plan"}
            if not {"y", "softmax", "wide"} <= plan or {"conv", "sum", "gate"} & plan:
                raise harness.Failure(f"{precision}: of the plan are {sorted(plan)}")

    def test_made_up_inputs(self):
        """A seed, a bound dimension, and indices that stay in their table."""
        rng = np.random.default_rng(5)
        feeds = {"ids": np.zeros((2, 3), np.int32)}
        model = graphs.node_graph(
            [node("Cast", "ids", "wide", to=onnx.TensorProto.INT64),
             node("Gather", "table wide", "row"), node("Tanh", "row", "y")], feeds, ["y"],
            {"table": rng.standard_normal((3, 4), np.float32)})
        dim = model.graph.input[0].type.tensor_type.shape.dim[0]
        dim.dim_param = "n"
        del model.graph.value_info[:]
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "n"
        path, _ = self.save((model, feeds))
        for seed in "12":
            self.report(path, "--shape", "ids=9x3", "--seed", seed)
        status, _, err = self.call(path)
        if status != 1 or "--shape ids=" not in err:
            raise harness.Failure(f"without --shape: status {status}: {err}")

    def test_scalar_inputs(self):
        """Arrays that numpy likes to make numbers of."""
        feeds = {"x": np.ones((2, 3), np.float32), "s": np.array(1.5, np.float32)}
        path, _ = self.save((graphs.node_graph([node("Mul", "x s", "y")], feeds, ["y"]), feeds))
        for precision in ("fp32", "fp16"):
            self.report(path, "--precision", precision)

    def test_half_overflow(self):
        """Numbers beyond 65504 between two kernels: the node, its kernel, and the pass."""
        path, inputs = self.save(scaled_model(HALF_FAULT))
        if not self.report(path, *inputs)["passes"]:
            raise harness.Failure("fp32 does not pass")
        says = self.report(path, *inputs, "--precision", "fp16", "--bisect-passes", status=1)
        found = says["first"]["tensor"], says["first"]["node"], says["pass"]
        if found != ("large", "LARGE", "store-half"):
            raise harness.Failure(f"names {found}")
        if says["kernel"]["nodes"] != ["PRODUCT", "POSITIVE", "LARGE"]:
            raise harness.Failure(f"the kernel is {says['kernel']}")
        status, out, _ = self.call(path, *inputs, "--precision", "fp16")
        if status != 1 or 'large of node "LARGE" (Mul)' not in out:
            raise harness.Failure(f"the table says {out}")

    def test_names_the_node_inside_a_kernel(self):
        """A run in which `positive` is wrong wherever it is computed."""
        test = self

        class Wrong(self.check.Checker):
            """Its results are wrong from `positive` on."""
            def _compare(self, name, got, where):
                wrong = name in ("positive", "large", "second", "y")
                return super()._compare(name, got + 1 if wrong else got, where)
        built = scaled_model()
        path, _ = test.save(built)
        result = Wrong(path, self.graph.Graph(path), built[1], {}, device="emulator").run()
        if (result.first.tensor, result.kernel.nodes) != ("positive",
                                                          ("PRODUCT", "POSITIVE", "LARGE")):
            raise harness.Failure(f"names {result.first} in {result.kernel}")

    def test_names_the_node_of_a_cut_out_kernel(self):
        """A kernel that is wrong only where its nodes are fused."""
        class Wrong(self.check.Checker):
            """What the plan leaves is wrong from `positive` on; broken up it is right."""
            def _compare(self, name, got, where):
                wrong = where == "plan" and name in ("positive", "large")
                return super()._compare(name, got + 1 if wrong else got, where)
        built = scaled_model()
        path, _ = self.save(built)
        result = Wrong(path, self.graph.Graph(path), built[1], {}, device="emulator").run()
        if (result.symptom.tensor, result.first.tensor) != ("large", "positive"):
            raise harness.Failure(f"names {result.first} for {result.symptom}")
        if "too" not in result.reason:
            raise harness.Failure(f"says {result.reason}")

    def test_bisection(self):
        """Wherever the fault is, in as few runs as a bisection needs."""
        names = [f"p{i}" for i in range(11)]
        for culprit in range(len(names)):
            runs = []

            def diverges(skipped, culprit=culprit, runs=runs):
                runs.append(skipped)
                return names[culprit] not in skipped
            found = self.check.bisect_passes(names, diverges)
            if found != names[culprit] or len(runs) > 6:
                raise harness.Failure(f"finds {found} for p{culprit} in {len(runs)} runs")
        if self.check.bisect_passes(names, lambda skipped: True) is not None:
            raise harness.Failure("blames a pass for what is wrong without any")

    def test_rule(self):
        """What passes and what does not."""
        one = np.ones(4, np.float32) * np.arange(4)
        off, nan = one.copy(), one.copy()
        off[1] += 0.01
        nan[2] = np.nan
        cases = [(one, one, "fp32", True), (off, one, "fp32", False), (off, one, "fp16", True),
                 (off + 1, one, "fp16", False), (nan, one, "fp16", False),
                 (nan, one, "fp32", False), (nan, nan, "fp32", True),
                 (one.astype(np.int64), one.astype(np.int64), "fp32", True),
                 (one.astype(np.int64) + 1, one.astype(np.int64), "fp32", False),
                 (one[:3], one, "fp32", False),
                 (off * 1e-3 + 1, one * 1e-6 + 1, "fp16", False),
                 (one * 1e-4 + 1, one * 1e-6 + 1, "fp16", True)]
        for i, (got, expected, precision, passes) in enumerate(cases):
            if self.check.compare(got, expected, precision, 0.0)[0] != passes:
                raise harness.Failure(f"case {i} should {'' if passes else 'not '}pass")

    def test_every_pass_may_be_left_out(self):
        """Alone and all together, in both precisions, and the answers stay right."""
        built = every_pass_model()
        path, _ = self.save(built)
        expected = graphs.reference_outputs(*built)["y"]
        kernels = {}
        for precision in ("fp32", "fp16"):
            passes = self.compiler.optional_passes(precision)
            for skipped in [[], *[[name] for name in passes], passes]:
                with self.compiler.compile(path, precision=precision,
                                           skip_passes=skipped) as model:
                    with model.session("emulator") as session:
                        got = session.run(built[1])["y"]
                    kernels[precision, tuple(skipped)] = len(model.launches)
                if not self.check.compare(got, expected, precision, 0.0)[0]:
                    raise harness.Failure(f"{precision} without {skipped}: wrong values")
        all_run, none_run = kernels["fp32", ()], kernels["fp32", tuple(
            self.compiler.optional_passes("fp32"))]
        if none_run <= all_run:
            raise harness.Failure(f"{none_run} launches without any pass, {all_run} with all: "
                                  "the passes were not left out")

    def test_errors(self):
        """A sentence and a status each."""
        path, inputs = self.save(scaled_model())
        for status, mention, arguments in [
                (1, "no input 'q'", [path, "--shape", "q=1x2"]),
                (1, "cannot be read", [path, "--input", f"x={path}"]),
                (1, "no/such", ["no/such.onnx"]),
                (1, '"nothing" is no optional pass', [path, *inputs, "--skip-pass", "nothing"]),
                (2, "NAME=FILE.npy", [path, "--input", "x"]),
                (2, "NAME=1x3", [path, "--shape", "x=1xq"]),
                (2, "invalid choice", [path, "--precision", "fp8"])]:
            got, _, err = self.call(*arguments)
            if got != status or mention not in err:
                raise harness.Failure(f"{arguments}: status {got}: {err}")

    def test_missing_package(self):
        """ONNX Runtime is needed for this alone."""
        path, _ = self.save(scaled_model())
        code = ("import sys; sys.modules['onnxruntime'] = None; import pascaline.__main__ as m; "
                f"sys.exit(m.main(['check', {path!r}]))")
        environment = {**os.environ, "PYTHONPATH": str(harness.ROOT / "runtime/python")}
        result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                check=False, env=environment)
        if result.returncode != 1 or "pip install onnx onnxruntime" not in result.stderr:
            raise harness.Failure(harness.describe_exit(result))


def main():
    """All tests."""
    args = harness.arguments(__doc__).parse_args()
    os.environ.setdefault("PASCALINE_LIBRARY_DIR", str(args.bin.resolve().parent / "lib"))
    report = harness.Report(args)
    with harness.scratch() as folder:
        report.run_methods(Check(folder))
    report.finish()


if __name__ == "__main__":
    main()
