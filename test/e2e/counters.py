#!/usr/bin/env python3
"""The emulator's counters on compiled models: against what arithmetic says that they must be, and the
same bytes for any number of workers.
"""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

import graphs
import harness

SECTOR_BYTES = 32


def product_graph(rows, inner, columns):
    """(model, feeds) of x w."""
    rng = np.random.default_rng(inner)
    weights = {"w": rng.standard_normal((inner, columns), np.float32)}
    feeds = {"x": rng.standard_normal((rows, inner), np.float32)}
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="matmul")
    return graphs.node_graph([node], feeds, ["y"], weights), feeds


def network():
    """(model, feeds): two convolutions whose sizes fill tiles, and a pool between them."""
    rng = np.random.default_rng(3)
    weights = {"v": rng.standard_normal((64, 32, 3, 3), np.float32),
               "w": rng.standard_normal((64, 64, 1, 1), np.float32)}
    feeds = {"x": rng.standard_normal((1, 32, 32, 32), np.float32)}
    nodes = [helper.make_node("Conv", ["x", "v"], ["a"], name="first", pads=[1, 1, 1, 1]),
             helper.make_node("MaxPool", ["a"], ["b"], name="pool", kernel_shape=[2, 2],
                              strides=[2, 2]),
             helper.make_node("Conv", ["b", "w"], ["y"], name="second")]
    return graphs.node_graph(nodes, feeds, ["y"], weights), feeds


class Counters:
    """The tests."""

    def __init__(self, product):
        self.product = product

    def tests(self):
        """(name, function) of all tests."""
        for sizes in [(256, 256, 256), (512, 96, 128)]:
            yield (f"counters/product-{'x'.join(map(str, sizes))}",
                   lambda s=sizes: self.product_count(*s))
        yield "counters/network", self.network_count
        yield "counters/pointwise", self.pointwise_count
        yield "counters/same-bytes", self.same_bytes
        yield "counters/bench", self.bench
        yield "counters/needs-the-option", self.needs_the_option

    def count(self, model, feeds, workers="2"):
        """What `run --counters --json` writes, and its table."""
        with harness.scratch() as folder:
            onnx.save(model, f"{folder}/model.onnx")
            self.product.compile(f"{folder}/model.onnx", f"{folder}/model.pasc")
            command = [self.product.tool, "run", f"{folder}/model.pasc", "--device",
                       self.product.device, "--output-dir", f"{folder}/out", "--counters",
                       "--json", f"{folder}/counters.json"]
            for i, (name, array) in enumerate(feeds.items()):
                np.save(f"{folder}/{i}.npy", array)
                command += ["--input", f"{name}={folder}/{i}.npy"]
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  env={**os.environ, "PASCALINE_EMULATOR_THREADS": workers})
            if done.returncode != 0:
                raise harness.Failure(harness.describe_exit(done))
            return Path(f"{folder}/counters.json").read_text(encoding="utf-8"), done.stdout

    def total(self, model, feeds):
        """Counter name -> sum over the kernels, after seeing that the launches give the same."""
        report = json.loads(self.count(model, feeds)[0])
        sums = [{name: sum(each["counters"][name] for each in report[part])
                 for name in report[part][0]["counters"]} for part in ("kernels", "launches")]
        expect("sums of launches", sums[1], sums[0])
        sums[0]["flops"] = sum(kernel["flops"] for kernel in report["kernels"])
        return sums[0]

    def product_count(self, rows, inner, columns):
        """A multiply-add for each element of the product and each of the sum."""
        total = self.total(*product_graph(rows, inner, columns))
        expect("thread_fp32_fma", total["thread_fp32_fma"], rows * inner * columns)

    def network_count(self):
        """As many multiply-adds as the artifact says that the model has operations."""
        total = self.total(*network())
        convolutions = 64 * 32 * 9 * 32 * 32 + 64 * 64 * 16 * 16
        expect("thread_fp32_fma", total["thread_fp32_fma"], convolutions)
        if not 2 * convolutions <= total["flops"] <= 2.1 * convolutions:
            raise harness.Failure(f"the artifact says {total['flops']} operations, "
                                  f"two convolutions have {2 * convolutions}")

    def pointwise_count(self):
        """Each byte in and out once, in full sectors."""
        x = np.ones((64, 1024), np.float32)
        node = helper.make_node("Relu", ["x"], ["y"], name="relu")
        total = self.total(graphs.node_graph([node], {"x": x}, ["y"]), {"x": x})
        for access in ("load", "store"):
            expect(f"global_{access}_bytes", total[f"global_{access}_bytes"], x.nbytes)
            expect(f"global_{access}_sectors", total[f"global_{access}_sectors"],
                   x.nbytes // SECTOR_BYTES)

    def same_bytes(self):
        """For any number of workers, and again."""
        model, feeds = network()
        first, table = self.count(model, feeds, "1")
        for name in ("first", "pool", "second"):
            if name not in table:
                raise harness.Failure(f"the table names no node {name}: {table}")
        for workers in ("2", "3", "1"):
            if self.count(model, feeds, workers) != (first, table):
                raise harness.Failure(f"{workers} workers count something else than 1")

    def bench(self):
        """`bench --counters` counts the same, since the kernel's work does not hang on values."""
        model, feeds = product_graph(128, 64, 128)
        counted = json.loads(self.count(model, feeds)[0])
        with harness.scratch() as folder:
            onnx.save(model, f"{folder}/model.onnx")
            self.product.compile(f"{folder}/model.onnx", f"{folder}/model.pasc")
            report = self.product.bench(f"{folder}/model.pasc", f"{folder}/bench.json",
                                        "--counters")
        expect("kind", report["kind"], "counted")
        expect("kernels", report["kernels"], counted["kernels"])

    def needs_the_option(self):
        """`run --json` and `bench --counters --iterations` are wrong usage."""
        for arguments, sentence in [
                (["run", "x.pasc", "--output-dir", "out", "--json", "f"], "add --counters"),
                (["bench", "x.pasc", "--counters", "--iterations", "3"], "takes no --iterations")]:
            done = harness.call([self.product.tool, *arguments])
            if done.returncode != 2 or sentence not in done.stderr:
                raise harness.Failure(f"{arguments[0]}: {harness.describe_exit(done)}")


def expect(what, got, wanted):
    """A Failure unless both are equal."""
    if got != wanted:
        raise harness.Failure(f"{what}: {got}, should be {wanted}")


def main():
    """All of them."""
    args = harness.arguments(__doc__).parse_args()
    report = harness.Report(args)
    report.run_all(list(Counters(harness.product(args)).tests()), args.jobs)
    report.finish()


if __name__ == "__main__":
    main()
