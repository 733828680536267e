#!/usr/bin/env python3
"""`--calibrate DIR`: activations that half cannot hold stay float, and are named.

The samples are run, so what one of them does not show is not known.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx

import graphs
import harness
from check import HALF_FAULT, node, scaled_model

sys.path.insert(0, str(harness.ROOT / "runtime/python"))


class Calibrate:
    """The tests, around a model whose middle reaches some 1e6."""

    def __init__(self, product, folder):
        self.product, self.folder = product, Path(folder)
        self.model, self.feeds = scaled_model(HALF_FAULT)
        self.expected = graphs.reference_outputs(self.model, self.feeds)["y"]
        self.path = self.folder / "m.onnx"
        onnx.save(self.model, self.path)
        self.samples = self.folder / "samples"
        self.samples.mkdir()
        np.save(self.samples / "x.npy", self.feeds["x"])

    def compile(self, folder, path=None, options=()):
        """(artifact, stderr) of a compile with samples, or None and the sentence."""
        artifact = self.folder / "m.pasc"
        artifact.unlink(missing_ok=True)
        result = harness.call([self.product.compiler, str(path or self.path), "-o", str(artifact),
                               "--precision", "fp16", "--calibrate", str(folder), *options])
        if result.returncode not in (0, 1):
            raise harness.Failure(harness.describe_exit(result))
        if artifact.exists() != (result.returncode == 0):
            raise harness.Failure("the artifact is there after a refusal, or is not")
        return (artifact if result.returncode == 0 else None), result.stderr

    def expect_refused(self, mention, folder, path=None, options=()):
        """Exit 1 with one sentence."""
        artifact, says = self.compile(folder, path, options)
        if artifact or mention not in says or len(says.strip().splitlines()) != 1:
            raise harness.Failure(f'says "{says}", not "{mention}"')

    def test_without_it_is_infinite(self):
        """What the rest is about."""
        artifact = self.folder / "half.pasc"
        self.product.compile(self.path, artifact, "--precision", "fp16")
        got = self.product.run(artifact, self.feeds, self.folder, ["y"])["y"]
        if np.isfinite(got).all():
            raise harness.Failure("half holds everything in this model")

    def test_keeps_what_is_large(self):
        """Right values, and a note with node, value and bound."""
        artifact, says = self.compile(self.samples)
        largest = float(np.abs(np.maximum(self.feeds["x"] @ onnx.numpy_helper.to_array(
            self.model.graph.initializer[0]), 0)).max()) * HALF_FAULT
        lines = [line for line in says.splitlines() if "reaches" in line]
        if len(lines) != 1 or 'node "LARGE"' not in lines[0] or "32752" not in lines[0]:
            raise harness.Failure(f"says {says}")
        value = float(says.split("reaches ")[1].split()[0])
        if abs(value / largest - 1) > 1e-3:
            raise harness.Failure(f"says {value}, and it is {largest}")
        got = self.product.run(artifact, self.feeds, self.folder, ["y"])["y"]
        passes, worst = harness.tolerance.close_half(got, self.expected)
        if not passes:
            raise harness.Failure(f"worst error {worst}")

    def test_names_nothing_small(self):
        """A model that half holds is compiled to the very bytes that it has without samples."""
        path = self.folder / "small.onnx"
        onnx.save(scaled_model()[0], path)
        artifact, says = self.compile(self.samples, path)
        plain = self.folder / "plain.pasc"
        self.product.compile(path, plain, "--precision", "fp16")
        if says or artifact.read_bytes() != plain.read_bytes():
            raise harness.Failure(f"says {says!r}, or the bytes differ")

    def test_takes_the_largest_of_all_samples(self):
        """A subfolder a sample; only the last one shows it."""
        folder = self.folder / "several"
        for i, factor in enumerate([0.0, 1e-6, 1.0]):
            (folder / f"{i}").mkdir(parents=True)
            np.save(folder / f"{i}" / "x.npy", self.feeds["x"] * np.float32(factor))
            (folder / f"{i}" / "label.txt").write_text("left alone")
        if 'node "LARGE"' not in self.compile(folder)[1]:
            raise harness.Failure("the last sample was not seen")
        (folder / "2" / "x.npy").unlink()
        if "reaches" in self.compile(folder)[1]:
            raise harness.Failure("something is named without the last sample")

    def test_shape_sets(self):
        """A sample is for the set whose shapes it has."""
        model, feeds = scaled_model(HALF_FAULT)
        for value in [*model.graph.input, *model.graph.output]:
            value.type.tensor_type.shape.dim[0].dim_param = "n"
        del model.graph.value_info[:]
        path = self.folder / "open.onnx"
        onnx.save(model, path)
        artifact, says = self.compile(self.samples, path, ["--shape", "x=2x16,8x16"])
        if says.count('node "LARGE"') != 1:
            raise harness.Failure(f"says {says}")
        got = self.product.run(artifact, feeds, self.folder, ["y"])["y"]
        if not np.isfinite(got).all():
            raise harness.Failure("the set with the sample is not calibrated")
        self.expect_refused("no sample has the shapes", self.samples, path, ["--shape", "x=3x16"])

    def test_names_that_are_no_file_names(self):
        """input_<i>.npy."""
        feeds = {"a/b:0": self.feeds["x"]}
        path = self.folder / "named.onnx"
        onnx.save(graphs.node_graph([node("Exp", "a/b:0", "large"), node("Neg", "large", "y")],
                                    feeds, ["y"]), path)
        folder = self.folder / "named"
        folder.mkdir()
        np.save(folder / "input_0.npy", self.feeds["x"])
        if not self.compile(folder, path)[0]:
            raise harness.Failure("input_0.npy is not taken")

    def test_refusals(self):
        """A sentence each, and no artifact."""
        def folder(name, files):
            path = self.folder / f"bad-{name}"
            path.mkdir()
            for file, content in files.items():
                if isinstance(content, bytes):
                    (path / file).write_bytes(content)
                else:
                    np.save(path / file, content)
            return path
        x = self.feeds["x"]
        for mention, path in [
                ("is no folder", self.folder / "nowhere"), ("is no folder", self.path),
                ("holds no sample", folder("empty", {"x.txt": b"x"})),
                ("z.npy: is no input", folder("more", {"x.npy": x, "z.npy": x})),
                ("holds f64", folder("type", {"x.npy": x.astype(np.float64)})),
                ("not a .npy file", folder("junk", {"x.npy": b"junk" * 9})),
                ("the .npy header", folder("header", {"x.npy": b"\x93NUMPY\1\0\6\0{'a':}"})),
                ("no sample has the shapes", folder("shape", {"x.npy": x[:3]}))]:
            self.expect_refused(mention, path)
        fifo = folder("fifo", {})
        os.mkfifo(fifo / "x.npy")
        self.expect_refused("not a regular file", fifo)
        result = harness.call([self.product.compiler, str(self.path), "-o", "never.pasc",
                               "--calibrate", str(self.samples)])
        if result.returncode != 2 or "give both" not in result.stderr:
            raise harness.Failure(harness.describe_exit(result))

    def test_python(self):
        """compile(calibrate=...), whose note is a warning."""
        import pascaline  # pylint: disable=import-outside-toplevel
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with pascaline.compile(self.path, precision="fp16", calibrate=self.samples) as model:
                with model.session("emulator") as session:
                    got = session.run(self.feeds)["y"]
        if not np.isfinite(got).all() or not any("LARGE" in str(each.message) for each in caught):
            raise harness.Failure(f"warnings: {caught}")
        try:
            pascaline.compile(self.path, calibrate=self.samples)
        except pascaline.Error as error:
            if "give both" in str(error):
                return
        raise harness.Failure("fp32 is calibrated")


def main():
    """All tests."""
    args = harness.arguments(__doc__).parse_args()
    os.environ.setdefault("PASCALINE_LIBRARY_DIR", str(args.bin.resolve().parent / "lib"))
    report = harness.Report(args)
    with harness.scratch() as folder:
        report.run_methods(Calibrate(harness.product(args), folder))
    report.finish()


if __name__ == "__main__":
    main()
