#!/usr/bin/env python3
"""The Python package: compile, load, run, errors, ownership, and the ONNX backend."""

import gc
import logging
import os
import shutil
import subprocess
import sys
import sysconfig
import threading
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import harness

sys.path.insert(0, str(harness.ROOT / "runtime/python"))


def relu_model():
    """y = relu(x), x float [n, 3]."""
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 3]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "relu", values[:1],
                              values[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(command, cwd=None, **environment):
    """What a command prints; its error as a Failure."""
    result = subprocess.run([str(word) for word in command], cwd=cwd, text=True, check=False,
                            capture_output=True, env={**os.environ, **environment})
    if result.returncode:
        raise harness.Failure(f"{command[0]}: {result.stderr.strip()[-400:]}")
    return result.stdout


class Package:
    """The tests, around one small model."""

    def __init__(self, product, folder):
        import pascaline.backend  # pylint: disable=import-outside-toplevel
        self.api, self.product, self.folder = pascaline, product, Path(folder)
        self.model = relu_model()
        self.bytes = self.model.SerializeToString()
        self.x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
        self.shapes = {"x": (2, 3)}

    def expect_right(self, session):
        """The session computes relu."""
        harness.expect_close("y", session.run({"x": self.x})["y"], np.maximum(self.x, 0), exact=True)

    def expect_error(self, mention, function, *arguments, **options):
        """A pascaline.Error that mentions something."""
        try:
            function(*arguments, **options)
        except self.api.Error as error:
            if mention not in str(error):
                raise harness.Failure(f'says "{error}", not "{mention}"') from error
            return
        raise harness.Failure(f'no error that mentions "{mention}"')

    def test_compiles_bytes(self):
        """Bytes in, session out."""
        with self.api.compile(self.bytes, shapes=self.shapes) as model:
            tensor = model.inputs[0]
            if (tensor.name, tensor.dtype, tensor.shape) != ("x", np.float32, (2, 3)):
                raise harness.Failure(f"the input is {tensor}")
            with model.session("emulator") as session:
                self.expect_right(session)

    def test_loads_the_tools_file(self):
        """A path in, and a file of pascaline-compile's."""
        path = self.folder / "m.onnx"
        path.write_bytes(self.bytes)
        self.product.compile(path, self.folder / "m.pasc", "--shape", "x=2x3")
        for model in (self.api.load(self.folder / "m.pasc"),
                      self.api.compile(path, shapes=self.shapes)):
            with model, model.session("emulator") as session:
                self.expect_right(session)

    def test_chooses_among_shapes(self):
        """Several shapes in one model; the inputs choose."""
        shapes = {"x": [(2, 3), (5, 3)]}
        with self.api.compile(self.bytes, shapes=shapes) as model:
            if [each.outputs[0].shape for each in model.shape_sets] != shapes["x"]:
                raise harness.Failure(f"the shape sets are {model.shape_sets}")
            with model.session("emulator") as session:
                five = np.linspace(-2, 2, 15, dtype=np.float32).reshape(5, 3)
                for _ in range(3):
                    self.expect_right(session)
                    harness.expect_close("y", session.run({"x": five})["y"],
                                         np.maximum(five, 0), exact=True)
                self.expect_error("compiled for x [2, 3]; x [5, 3], and not for x [4, 3]",
                                  session.run, {"x": five[:4]})
                self.expect_error("input 'x' is missing", session.run, {})

    def test_sessions_outlive_their_model(self):
        """Closed in any order, or not at all."""
        model = self.api.compile(self.bytes, shapes=self.shapes)
        first, second = model.session("emulator"), model.session("emulator")
        model.close()
        model.close()
        del model
        gc.collect()
        self.expect_right(first)
        first.close()
        first.close()
        self.expect_right(second)
        self.expect_error("closed", first.run, {"x": self.x})

    def test_two_threads(self):
        """A session each, of one model."""
        wrong = []
        with self.api.compile(self.bytes, shapes=self.shapes) as model:
            def work():
                try:
                    with model.session("emulator") as session:
                        for _ in range(5):
                            self.expect_right(session)
                except Exception as error:  # pylint: disable=broad-except
                    wrong.append(error)
            threads = [threading.Thread(target=work) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        if wrong:
            raise harness.Failure(str(wrong[0]))

    def test_logs(self):
        """The runtime's log goes to the logger "pascaline"."""
        messages = []
        logger, handler = logging.getLogger("pascaline"), logging.Handler()
        handler.emit = lambda record: messages.append(record.getMessage())
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        try:
            with self.api.compile(self.bytes, shapes=self.shapes) as model:
                for graphs in (True, False):
                    with model.session("emulator", graphs=graphs) as session:
                        self.expect_right(session)
                        self.expect_right(session)
        finally:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
        wanted = ["device: the emulator", "kernels from its PTX", "session of model", "as a graph",
                  "session of model"]
        if (len(messages) != len(wanted)
                or not all(part in line for part, line in zip(wanted, messages))):
            raise harness.Failure(f"logs {messages}")

    def test_installs(self):
        """pip into a fresh environment, types and all; nothing of the checkout is imported."""
        environment = self.folder / "environment"
        source = self.folder / "source"  # pip writes beside what it installs from
        shutil.copytree(harness.ROOT / "runtime/python", source,
                        ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
        # numpy and the tools of building come from this environment: there may be no network.
        run([sys.executable, "-m", "venv", "--without-pip", environment])
        run([sys.executable, "-m", "pip", "--python", environment / "bin/python", "install",
             "--quiet", "--no-build-isolation", "--no-deps", "--no-index", source],
            PYTHONPATH=sysconfig.get_paths()["purelib"])
        (self.folder / "m.onnx").write_bytes(self.bytes)
        program = ("import numpy, pascaline, sys; "
                   "model = pascaline.compile(sys.argv[1], shapes={'x': (2, 3)}); "
                   "session = model.session('emulator'); "
                   "print(session.run({'x': -numpy.ones((2, 3), 'f')})['y'].sum()); "
                   "print(pascaline.__file__)")
        said = run([environment / "bin/python", "-c", program, self.folder / "m.onnx"],
                   cwd=self.folder, PYTHONPATH=sysconfig.get_paths()["purelib"])
        total, where = said.split()
        if float(total) != 0 or not where.startswith(str(environment)):
            raise harness.Failure(f"the installed package says {said}")
        if not (Path(where).parent / "py.typed").is_file():
            raise harness.Failure("py.typed is not installed")

    def test_runs_onnx_backend_test(self):
        """onnx.backend.test itself, over a few of its node tests."""
        from onnx.backend.test import BackendTest  # pylint: disable=import-outside-toplevel
        tests = BackendTest(self.api.backend, "onnx_backend")
        for name in ("relu", "softmax_axis_1", "matmul_2d", "reshape_negative_dim", "add_bcast"):
            tests.include(f"^test_{name}_cpu$")
        suite = unittest.TestSuite()
        for case in tests.enable_report().test_cases.values():
            suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
        result = unittest.TestResult()
        suite.run(result)
        ran = result.testsRun - len(result.skipped)
        if ran != 5 or not result.wasSuccessful():
            raise harness.Failure(f"{ran} of 5 ran: {result.failures + result.errors}")

    def test_errors(self):
        """A sentence each."""
        api = self.api
        self.expect_error("dynamic", api.compile, self.bytes)
        self.expect_error("readable", api.compile, b"no model")
        self.expect_error("voodoo", api.compile, self.bytes, shapes=self.shapes, chip="voodoo")
        self.expect_error("fp8", api.compile, self.bytes, shapes=self.shapes, precision="fp8")
        self.expect_error("more than the --memory-limit of 100", api.compile, self.bytes,
                          shapes=self.shapes, memory_limit=100)
        self.expect_error("memory_limit is -1", api.compile, self.bytes, shapes=self.shapes,
                          memory_limit=-1)
        for option in ("expose", "skip_passes"):
            self.expect_error(f"{option} is 'cse'", api.compile, self.bytes, shapes=self.shapes,
                              **{option: "cse"})
        self.expect_error("no/such", api.load, "/no/such.pasc")
        with api.compile(self.bytes, shapes=self.shapes) as model:
            self.expect_error("toaster", model.session, "toaster")
            with model.session("emulator") as session:
                self.expect_error("missing", session.run, {})
                self.expect_error("'z'", session.run, {"x": self.x, "z": self.x})
                self.expect_error("float64", session.run, {"x": self.x.astype(np.float64)})
                self.expect_error("[3]", session.run, {"x": self.x[0]})

    def test_backend(self):
        """onnx.backend.base: an input of open shape, and one that decides a shape."""
        backend = self.api.backend
        if not backend.supports_device("CPU") or not backend.is_compatible(self.model):
            raise harness.Failure("the backend supports neither CPU nor a Relu")
        rep = backend.prepare(self.model)
        for x in (self.x, self.x[:1]):
            harness.expect_close("y", rep.run([x])[0], np.maximum(x, 0), exact=True)
        infos = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3]),
                 helper.make_tensor_value_info("s", TensorProto.INT64, [1])]
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, [6])
        graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "reshape",
                                  infos, [out])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                                  ir_version=8)
        got = backend.run_model(model, [self.x, np.array([6], np.int64)])[0]
        harness.expect_close("y", got, self.x.reshape(6), exact=True)


def main():
    """All tests."""
    args = harness.arguments(__doc__).parse_args()
    os.environ.setdefault("PASCALINE_LIBRARY_DIR", str(args.bin.resolve().parent / "lib"))
    report = harness.Report(args)
    with harness.scratch() as folder:
        report.run_methods(Package(harness.product(args), folder))
    report.finish()


if __name__ == "__main__":
    main()
