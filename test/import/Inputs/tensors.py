"""Writes models whose initializer "w" is damaged (or odd and right) into a folder."""

import os
import pathlib
import sys

from onnx import TensorProto, helper

OUT = pathlib.Path(sys.argv[1])


def model(name, tensor=None, sparse=None, elem=TensorProto.FLOAT):
    """NAME.onnx: y = Identity(w)."""
    node = helper.make_node("Identity", ["w"], ["y"], name="id")
    graph = helper.make_graph(
        [node], "g", [], [helper.make_tensor_value_info("y", elem, None)],
        [tensor] if tensor else [], sparse_initializer=[sparse] if sparse else [])
    proto = helper.make_model(graph, ir_version=8,
                              opset_imports=[helper.make_opsetid("", 17)])
    (OUT / f"{name}.onnx").write_bytes(proto.SerializeToString())


def tensor(dims, data_type=TensorProto.FLOAT, **fields):
    """A TensorProto named w with just these fields."""
    proto = TensorProto(name="w", data_type=data_type, dims=dims)
    for name, value in fields.items():
        if isinstance(value, list):
            getattr(proto, name).extend(value)
        else:
            setattr(proto, name, value)
    return proto


def external(**entries):
    """Two floats in a file."""
    proto = tensor([2], data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        proto.external_data.add(key=key, value=str(value))
    return proto


def sparse(values, indices, dims, index_dims):
    """A SparseTensorProto named w."""
    return helper.make_sparse_tensor(
        helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values),
        helper.make_tensor("i", TensorProto.INT64, index_dims, indices), dims)


def fields():
    """Every typed field, and raw bytes."""
    for name, elem, field, values in (
            ("half", TensorProto.FLOAT16, "int32_data", [0x3C00, 0xC000]),
            ("bfloat", TensorProto.BFLOAT16, "int32_data", [0x3F80, 0xC000]),
            ("i8", TensorProto.INT8, "int32_data", [-1, 127]),
            ("u8", TensorProto.UINT8, "int32_data", [1, 255]),
            ("bools", TensorProto.BOOL, "int32_data", [0, 7]),
            ("u64", TensorProto.UINT64, "uint64_data", [1, 2**64 - 1]),
            ("f64", TensorProto.DOUBLE, "double_data", [1.0, 2.0])):
        model(name, tensor([2], elem, **{field: values}), elem=elem)
    model("raw", tensor([2], raw_data=b"\0\0\x80\x3f\0\0\0\x40"))


def sizes():
    """Dims and data that do not agree."""
    model("short", tensor([2], raw_data=b"\0" * 7))
    model("values", tensor([3], float_data=[1.0]))
    model("wraps", tensor([2**62, 4], TensorProto.INT8), elem=TensorProto.INT8)
    model("negative", tensor([-2, -2], float_data=[1.0] * 4))
    model("string", tensor([1], TensorProto.STRING, string_data=[b"a"]),
          elem=TensorProto.STRING)


def files():
    """External data: the right one, and ways out of the folder."""
    (OUT / "sub").mkdir()
    (OUT / "sub" / "two.bin").write_bytes(b"\0" * 8 + b"\0\0\x80\x3f\0\0\0\x40")
    (OUT.parent / "secret.bin").write_bytes(b"\0" * 8)
    os.symlink("../secret.bin", OUT / "link.bin")
    (OUT / "linked.bin").write_bytes(b"\0" * 8)
    os.link(OUT / "linked.bin", OUT / "second.bin")
    os.mkfifo(OUT / "fifo.bin")
    good = "sub/two.bin"
    model("external", external(location=good, offset=8, length=8))
    model("climbs", external(location="../secret.bin"))
    model("hidden", external(location="sub/../../secret.bin"))
    model("absolute", external(location=str(OUT.parent / "secret.bin")))
    model("symlink", external(location="link.bin"))
    model("hardlink", external(location="linked.bin"))
    model("fifo", external(location="fifo.bin"))
    model("folder", external(location="sub"))
    model("missing", external(location="nothing.bin"))
    model("beyond", external(location=good, offset=12))
    model("far", external(location=good, offset=2**64 - 4))
    model("word", external(location=good, offset="eight"))
    model("length", external(location=good, length=16))


def sparses():
    """Sparse tensors, by linear and by coordinate index."""
    model("sparse", sparse=sparse([5.0, 7.0], [1, 3], [2, 2], [2]))
    model("coordinates", sparse=sparse([5.0], [1, 0], [2, 2], [1, 2]))
    model("sparse-outside", sparse=sparse([5.0], [-3], [2, 2], [1]))
    model("sparse-order", sparse=sparse([5.0, 7.0], [3, 3], [2, 2], [2]))
    model("sparse-huge", sparse=sparse([5.0], [3], [2**20, 2**10], [1]))


fields()
sizes()
files()
sparses()
