#!/usr/bin/env python3
"""What must be refused is refused: exit 1, one sentence on stderr, nothing written.

Usage errors end with exit 2. A damaged artifact may also run, if the damage hit nothing that
counts, but then its answer must be the right one.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

import graphs
import harness
from harness import Failure

LONGEST_SENTENCE = 600
CRASH_WORDS = ("Stack dump", "Assertion", "PLEASE submit a bug report", "terminate called",
               "Traceback", "AddressSanitizer")
SEED = 20260101


class Refusals:
    """The tests, around one small model and its artifact."""

    def __init__(self, product, folder):
        self.product, self.folder = product, Path(folder)
        self.rng = np.random.default_rng(SEED)
        self.feeds = {"x": self.rng.standard_normal((3, 8), np.float32)}
        weights = {"w": self.rng.standard_normal((8, 5), np.float32)}
        nodes = [helper.make_node("MatMul", ["x", "w"], ["m"], name="matmul"),
                 helper.make_node("Relu", ["m"], ["y"], name="relu")]
        self.model = graphs.node_graph(nodes, self.feeds, ["y"], weights)
        self.expected = graphs.reference_outputs(self.model, self.feeds)["y"]
        self.good = self.folder / "good"
        self.good.mkdir()
        onnx.save(self.model, self.good / "model.onnx")
        np.save(self.good / "x.npy", self.feeds["x"])

    def prepare(self):
        """The undamaged model works, or nothing below proves anything."""
        product = self.product
        product.compile(self.good / "model.onnx", self.good / "model.pasc")
        got = product.run_files(self.good / "model.pasc", ["--input", f"x={self.good}/x.npy"],
                                self.good / "out", ["y"])
        harness.expect_close("y", got["y"], self.expected)

    # What a refusal is.

    def refused(self, command, folder, mentions=(), status=1):
        """Run a command in a folder that it must leave as it was."""
        before = snapshot(folder)
        result = harness.call([str(word) for word in command], timeout=120)
        if result.returncode != status:
            raise Failure(f"{harness.describe_exit(result)}; should be exit {status}")
        if snapshot(folder) != before:
            raise Failure(f"wrote {sorted(snapshot(folder) - before)}")
        sentence = check_sentence(result.stderr, one_line=status == 1)
        for word in mentions:
            if word.lower() not in sentence.lower():
                raise Failure(f'says "{sentence}", which does not mention "{word}"')

    def model_refused(self, content, mentions=(), options=()):
        """A file of these bytes, or this model, must not compile."""
        with harness.scratch() as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(content if isinstance(content, bytes)
                             else content.SerializeToString())
            self.refused([self.product.compiler, path, "-o", f"{folder}/model.pasc", *options],
                         folder, mentions)

    def run_refused(self, inputs, mentions=(), files=None, status=1):
        """The good artifact must not run with these inputs."""
        with harness.scratch() as folder:
            for name, content in (files or {}).items():
                save(Path(folder) / name, content)
            arguments = [word for item in inputs
                         for word in ("--input", item.format(dir=folder, good=self.good))]
            self.refused([self.product.tool, "run", self.good / "model.pasc", *arguments,
                          "--output-dir", f"{folder}/out", "--device", self.product.device],
                         folder, mentions, status)

    def artifact_refused(self, content, may_run=False):
        """Neither run nor inspect takes a file of these bytes."""
        with harness.scratch() as folder:
            path = Path(folder) / "model.pasc"
            path.write_bytes(content)
            run = [self.product.tool, "run", path, "--input", f"x={self.good}/x.npy",
                   "--output-dir", f"{folder}/out", "--device", self.product.device]
            if may_run:
                self.refused_or_right(run, Path(folder) / "out")
                return
            self.refused(run, folder)
            self.refused([self.product.tool, "inspect", path], folder)

    def refused_or_right(self, command, out):
        """Exit 1 with a sentence, or exit 0 with the right answer."""
        result = harness.call([str(word) for word in command], timeout=120)
        if result.returncode == 1:
            check_sentence(result.stderr)
        elif result.returncode != 0:
            raise Failure(harness.describe_exit(result))
        else:
            harness.expect_close("y", np.load(out / "y.npy"), self.expected)

    # The tests by name.

    def tests(self):
        """(name, function) of all tests."""
        return [*self.model_tests(), *self.graph_tests(), *self.artifact_tests(),
                *self.run_tests(), *self.usage_tests()]

    def model_tests(self):
        """Files that are no model."""
        good = (self.good / "model.onnx").read_bytes()
        noise = [self.rng.bytes(n) for n in (1, 16, 1000, 100000)]
        yield "model/empty", lambda: self.model_refused(b"")
        yield "model/text", lambda: self.model_refused(b"# a text file\nwith two lines\n")
        yield "model/zeros", lambda: self.model_refused(bytes(4096))
        yield "model/artifact", lambda: self.model_refused(
            (self.good / "model.pasc").read_bytes())
        for i, content in enumerate(noise):
            yield f"model/random-{i}", lambda content=content: self.model_refused(content)
        for length in sorted({*range(1, len(good), max(1, len(good) // 24)), len(good) - 1}):
            yield f"model/truncated-{length}", lambda n=length: self.model_refused(good[:n])
        yield "model/missing", lambda: self._missing_model()
        yield "model/folder", lambda: self._folder_model()
        yield "model/output-in-no-folder", lambda: self._no_output_folder()
        yield "model/output-is-the-model", lambda: self._output_is_model()
        yield "model/dump-into-a-file", lambda: self._dump_into_file()

    def graph_tests(self):
        """Models that are well-formed files and still wrong."""
        def edited(edit):
            model = onnx.ModelProto()
            model.CopyFrom(self.model)
            edit(model)
            return model

        def rename(model, op="Frobnicate", domain=""):
            model.graph.node[1].op_type, model.graph.node[1].domain = op, domain

        def unknown_twice(model):
            rename(model)
            model.graph.node[0].op_type = "Defrobnicate"

        def dynamic(model):
            model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"

        def dangling(model):
            model.graph.node[1].input[0] = "nowhere"

        def cycle(model):
            model.graph.node[0].input[0] = "y"

        def inner(model):
            model.graph.initializer[0].dims[:] = [5, 8]

        def short_weight(model):
            model.graph.initializer[0].raw_data = model.graph.initializer[0].raw_data[:-4]

        def huge(model):
            model.graph.initializer[0].dims[:] = [2 ** 40, 2 ** 40]

        def future(model):
            model.opset_import[0].version = 1000

        def outside(model):
            weight = model.graph.initializer[0]
            weight.ClearField("raw_data")
            weight.data_location = TensorProto.EXTERNAL
            weight.external_data.add(key="location", value="../../../../etc/passwd")

        for name, edit, mentions in [
                ("unknown-op", rename, ["Frobnicate", "relu"]),
                ("unknown-domain", lambda m: rename(m, "Relu", "com.example"), ["com.example"]),
                ("two-unknown-ops", unknown_twice, ["Frobnicate", "Defrobnicate"]),
                ("dynamic-dimension", dynamic, ["x", "--shape"]),
                ("input-from-nowhere", dangling, ["nowhere"]), ("cycle", cycle, []),
                ("inner-dimensions-differ", inner, ["matmul"]),
                ("weight-too-short", short_weight, ["w"]), ("weight-too-large", huge, ["w"]),
                ("opset-1000", future, ["1000"]), ("data-outside-the-folder", outside, ["w"]),
                ("no-outputs", lambda m: m.graph.ClearField("output"), []),
                ("no-opset", lambda m: m.ClearField("opset_import"), ["opset"])]:
            yield f"graph/{name}", lambda edit=edit, mentions=mentions: self.model_refused(
                edited(edit), mentions)
        for name, shape in [("wrong-rank", "x=3"), ("no-such-input", "z=3x8"),
                            ("contradiction", "x=4x9"), ("negative", "x=-3x8"),
                            ("not-a-number", "x=3xa"), ("overflow", "x=9999999999999999999x8")]:
            yield f"graph/shape-{name}", lambda shape=shape: self._shape_refused(shape)

    def artifact_tests(self):
        """Files that are no artifact, or a damaged one."""
        path = self.good / "model.pasc"
        yield "artifact/empty", lambda: self.artifact_refused(b"")
        yield "artifact/text", lambda: self.artifact_refused(b"# a text file\n" * 100)
        yield "artifact/random", lambda: self.artifact_refused(
            np.random.default_rng(1).bytes(10000))
        yield "artifact/model", lambda: self.artifact_refused(
            (self.good / "model.onnx").read_bytes())
        yield "artifact/one-byte-more", lambda: self.artifact_refused(
            path.read_bytes() + b"\0", may_run=True)
        for part in range(20):
            yield f"artifact/truncated-{part}", lambda part=part: self.artifact_refused(
                path.read_bytes()[:path.stat().st_size * part // 20 + part])
        yield "artifact/last-byte-missing", lambda: self.artifact_refused(path.read_bytes()[:-1])
        for part in range(40):
            yield f"artifact/flipped-{part}", lambda part=part: self.artifact_refused(
                flip(path.read_bytes(), part), may_run=True)
        yield "artifact/missing", lambda: self._missing_artifact()

    def run_tests(self):
        """Inputs that do not fit."""
        x = self.feeds["x"]
        fits = "x={dir}/x.npy"
        yield "run/missing-input", lambda: self.run_refused([], ["x", "3x8"])
        yield "run/unknown-input", lambda: self.run_refused(
            ["x={good}/x.npy", "z={good}/x.npy"], ["z"])
        yield "run/same-input-twice", lambda: self.run_refused(
            ["x={good}/x.npy", "x={good}/x.npy"], ["x"])
        yield "run/missing-file", lambda: self.run_refused([fits], ["x.npy"])
        for name, array, mentions in [
                ("transposed", np.ascontiguousarray(x.T), ["3x8", "8x3"]),
                ("flat", x.reshape(-1), ["3x8"]), ("too-large", np.zeros((4, 8), np.float32), ["4x8"]),
                ("empty", np.zeros((0, 8), np.float32), []), ("float64", x.astype(np.float64), []),
                ("int32", x.astype(np.int32), []), ("objects", np.array([["a"] * 8] * 3, "O"), []),
                ("big-endian", x.astype(">f4"), [])]:
            yield f"run/{name}", lambda array=array, mentions=mentions: self.run_refused(
                [fits], ["x", *mentions], {"x.npy": array})
        good = (self.good / "x.npy").read_bytes()
        for name, content in [("cut-header", good[:20]), ("cut-data", good[:-4]), ("no-npy", b"no"),
                              ("nothing", b""), ("huge-header", good[:8] + b"\xff\xff" + good[10:])]:
            yield f"run/npy-{name}", lambda content=content: self.run_refused(
                [fits], ["x.npy"], {"x.npy": content})
        yield "run/no-such-device", lambda: self._device_refused("gpu:77")
        yield "run/no-device-at-all", lambda: self._device_refused("toaster")

    def usage_tests(self):
        """Commands that say nothing sensible."""
        compiler, tool = self.product.compiler, self.product.tool
        model, artifact = self.good / "model.onnx", self.good / "model.pasc"
        for name, command in [
                ("compile-nothing", [compiler]), ("compile-unknown-flag", [compiler, model, "--frob"]),
                ("tool-nothing", [tool]), ("tool-unknown-verb", [tool, "frob"]),
                ("run-nothing", [tool, "run"]), ("run-unknown-flag", [tool, "run", artifact, "--frob"]),
                ("run-input-without-file", [tool, "run", artifact, "--input", "x",
                                            "--output-dir", self.folder / "never"]),
                ("bench-iterations-word", [tool, "bench", artifact, "--iterations", "many"])]:
            yield f"usage/{name}", lambda command=command: self._usage(command)

    # The odd ones.

    def _usage(self, command):
        with harness.scratch() as folder:
            self.refused(command, folder, status=2)

    def _shape_refused(self, shape):
        self.model_refused(self.model, ["x" if shape[0] == "x" else "z"], ["--shape", shape])

    def _missing_model(self):
        with harness.scratch() as folder:
            self.refused([self.product.compiler, f"{folder}/none.onnx", "-o", f"{folder}/o.pasc"],
                         folder, ["none.onnx"])

    def _folder_model(self):
        with harness.scratch() as folder:
            self.refused([self.product.compiler, folder, "-o", f"{folder}/o.pasc"], folder)

    def _no_output_folder(self):
        with harness.scratch() as folder:
            self.refused([self.product.compiler, self.good / "model.onnx", "-o",
                          f"{folder}/no/such/o.pasc"], folder, ["no/such"])

    def _output_is_model(self):
        with harness.scratch() as folder:
            path = Path(folder) / "model.onnx"
            onnx.save(self.model, path)
            self.refused([self.product.compiler, path, "-o", f"{folder}/./model.onnx"], folder,
                         ["model.onnx", "-o"])

    def _dump_into_file(self):
        with harness.scratch() as folder:
            (Path(folder) / "dump").touch()
            self.refused([self.product.compiler, self.good / "model.onnx", "-o",
                          f"{folder}/model.pasc", "--dump-ir", f"{folder}/dump"], folder,
                         ["dump"])

    def _missing_artifact(self):
        with harness.scratch() as folder:
            self.refused([self.product.tool, "inspect", f"{folder}/none.pasc"], folder,
                         ["none.pasc"])

    def _device_refused(self, device):
        with harness.scratch() as folder:
            self.refused([self.product.tool, "run", self.good / "model.pasc", "--input",
                          f"x={self.good}/x.npy", "--output-dir", f"{folder}/out", "--device",
                          device], folder)


def check_sentence(text, one_line=True):
    """The text on stderr, which must be a sentence for a stranger."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise Failure("says nothing on stderr")
    for word in CRASH_WORDS:
        if word in text:
            raise Failure(f'says "{word}": {lines[0]}')
    if one_line and len(lines) > 1:
        raise Failure(f"says {len(lines)} lines instead of one: {lines[0]} / {lines[1]}")
    if one_line and (len(lines[0]) > LONGEST_SENTENCE or lines[0].endswith(".")):
        raise Failure(f"is no short sentence without a full stop: {lines[0][:200]}")
    return lines[0]


def snapshot(folder):
    """What a folder holds, as (path, size) pairs."""
    return {(str(path), path.stat().st_size) for path in Path(folder).rglob("*") if path.is_file()}


def save(path, content):
    """Bytes as they are, arrays as .npy."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        np.save(path, content)


def flip(content, part, parts=40):
    """The content with one bit turned over; the first half of the parts is in the header."""
    data = bytearray(content)
    half = parts // 2
    where = part * 7 if part < half else len(data) * (part - half) // half + part
    where = min(where, len(data) - 1)
    data[where] ^= 1 << part % 8
    return bytes(data)


def main():
    """All of them."""
    args = harness.arguments(__doc__).parse_args()
    report = harness.Report(args)
    with harness.scratch() as folder:
        refusals = Refusals(harness.product(args), folder)
        if report.run("works", refusals.prepare, always=True):
            report.run_all(list(refusals.tests()), args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
