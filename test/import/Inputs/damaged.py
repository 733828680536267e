"""Writes files that are no ONNX models, or strange ones, into a folder.

With `flips COMPILER` it damages a good model in many ways instead and checks
that the compiler ends each time with exit code 0, or 1 and one line.
"""

import pathlib
import random
import subprocess
import sys

from onnx import TensorProto, helper

OUT = pathlib.Path(sys.argv[1])
FLOAT = TensorProto.FLOAT


def value(name):
    """A matrix of floats."""
    return helper.make_tensor_value_info(name, FLOAT, [2, 2])


def serialized(nodes):
    """A model x -> y of these nodes, with a weight w."""
    graph = helper.make_graph(nodes, "g", [value("x")], [value("y")],
                              [helper.make_tensor("w", FLOAT, [2, 2], [1, 2, 3, 4])])
    return helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", 17)]).SerializeToString()


def good():
    """A small model that compiles."""
    return serialized([helper.make_node("MatMul", ["x", "w"], ["t"], name="m"),
                       helper.make_node("Clip", ["t"], ["u"]),
                       helper.make_node("Transpose", ["u"], ["y"], perm=[1, 0])])


def field(number, data):
    """A length-delimited field of a protobuf message."""
    size, varint = len(data), b""
    while size > 127:
        varint, size = varint + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + varint + bytes([size]) + data


def nested(depth):
    """A graph within an attribute of a node of a graph, `depth` times over."""
    graph = b""
    for _ in range(depth):
        attribute = field(1, b"then_branch") + field(6, graph)
        graph = field(1, field(4, b"If") + field(5, attribute))
    return b"\x08\x08" + field(7, graph)


def headless():
    """A Constant whose attribute says tensor and holds none."""
    node = helper.make_node("Constant", [], ["y"], name="c")
    node.attribute.add(name="value", type=4)
    return serialized([node])


def write():
    """The files of the test."""
    model = good()
    chain = ["x"] + [f"v{i}" for i in range(19999)] + ["y"]
    for name, data in (
            ("empty", b""), ("text", b"dummy"), ("zeros", bytes(64)),
            ("length", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
            ("cut", model[:len(model) // 2]), ("deep", nested(60)),
            ("chain", serialized([helper.make_node("Sigmoid", [a], [b])
                                  for a, b in zip(chain, chain[1:])])),
            ("headless", headless()),
            ("names", serialized([helper.make_node("Q" * 50000, ["x"], ["y"],
                                                   name="a\nb")]))):
        (OUT / f"{name}.onnx").write_bytes(data)


def flips(compiler):
    """Damage, compile, look at how it ends."""
    rng = random.Random(1)
    path = OUT / "flipped.onnx"
    for _ in range(60):
        data = bytearray(good())
        for _ in range(rng.randint(1, 8)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data[:rng.choice([len(data), rng.randrange(len(data))])])
        done = subprocess.run([compiler, path, "--emit", "graph"], text=True,
                              capture_output=True, timeout=60, check=False,
                              errors="replace")
        lines = done.stderr.strip().splitlines()
        if done.returncode not in (0, 1) or (done.returncode == 1 and len(lines) != 1):
            sys.exit(f"exit {done.returncode}, {done.stderr!r}; kept as {path}")


if sys.argv[2:]:
    flips(sys.argv[3])
else:
    write()
