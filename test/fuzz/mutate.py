#!/usr/bin/env python3
"""Damaged models against pascaline-compile: it compiles them or refuses them, and never crashes.

Each case is a model of test/e2e/cases with one to three mutations, of its bytes or of a field
(dimensions, attributes, names, types, operators, weights). A case is its number: `--first 1234
--cases 1` makes the same one again, and `--keep DIR` leaves the models that failed. What counts:
exit 0 with the artifact, or exit 1 with one sentence and nothing written; within a time limit.
sanitized.py takes such models into one process.
"""

import random
import sys
from pathlib import Path

import onnx
from onnx import TensorProto

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "e2e"))

import harness  # noqa: E402  (the path comes first)
import refusals  # noqa: E402
from cases import contraction, convolution, movement, pointwise, pooling, reduction  # noqa: E402
from harness import Failure  # noqa: E402

LIMIT_S = 60
MEMORY_KIB = 6 << 20
INTEGERS = [0, 1, -1, 2, 3, 7, -2, 2**31 - 1, 2**31, -2**31, 2**40, 2**62, 2**63 - 1, -2**63]
FLOATS = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e38, 1e-45]
STRINGS = ["", "a", "/", "../x", "SAME_UPPER", "VALID", "\n", "é", "%s%n", "x" * 5000, '"', "constant"]
LONGEST_NOTE = 300


def mutate_bytes(data, rng):
    """The bytes with one flip, cut, copy or run of noise."""
    data = bytearray(data)
    where = rng.randrange(len(data))
    match rng.randrange(5):
        case 0:
            data[where] ^= 1 << rng.randrange(8)
        case 1:
            data[where] = rng.choice([0, 1, 0x7f, 0x80, 0xff])
        case 2:
            del data[where:where + rng.randrange(1, 16)]
        case 3:
            data[where:where] = data[where:where + rng.randrange(1, 64)]
        case 4:
            data[where:where + 4] = rng.randbytes(4)
    return bytes(data) or b"\0"


def mutate_attribute(model, rng):
    """One attribute of one node is another, gone, or of another type."""
    node = rng.choice(model.graph.node)
    if not node.attribute or rng.random() < 0.15:
        name = rng.choice(["axis", "axes", "pads", "strides", "group", "perm", "to", "keepdims",
                           "auto_pad", "dilations", "kernel_shape", "ceil_mode", "equation",
                           "alpha", "epsilon", "mode", "value", "blocksize", "direction"])
        kind = rng.randrange(4)
        values = [rng.choice(INTEGERS), [rng.choice(INTEGERS) for _ in range(rng.randrange(5))],
                  rng.choice(FLOATS), rng.choice(STRINGS)]
        if values[kind] != []:
            node.attribute.append(onnx.helper.make_attribute(name, values[kind]))
        return
    attribute = rng.choice(node.attribute)
    match rng.randrange(6):
        case 0:
            node.attribute.remove(attribute)
        case 1:
            attribute.type = rng.randrange(0, 15)
        case 2 if attribute.ints:
            attribute.ints[rng.randrange(len(attribute.ints))] = rng.choice(INTEGERS)
        case 3:
            attribute.ints.append(rng.choice(INTEGERS))
        case 4 if attribute.ints:
            attribute.ints.pop()
        case _:
            attribute.i = rng.choice(INTEGERS)
            attribute.f = rng.choice(FLOATS)
            attribute.s = rng.choice(STRINGS).encode()


def mutate_shape(model, rng):
    """One dimension or the type of a graph input or output."""
    values = [*model.graph.input, *model.graph.output]
    tensor = rng.choice(values).type.tensor_type
    if rng.random() < 0.2:
        tensor.elem_type = rng.randrange(-1, 30)
    elif tensor.shape.dim and rng.random() < 0.7:
        dim = rng.choice(tensor.shape.dim)
        if rng.random() < 0.1:
            dim.dim_param = rng.choice(STRINGS)
        else:
            dim.dim_value = rng.choice([*INTEGERS, *range(20)])
    elif tensor.shape.dim and rng.random() < 0.5:
        tensor.shape.dim.pop()
    else:
        for _ in range(rng.choice([1, 1, 2, 5, 40])):
            tensor.shape.dim.add().dim_value = rng.choice([1, 1, 1, 2, 2**31])


def mutate_weight(model, rng):
    """The dimensions, type or bytes of an initializer."""
    if not model.graph.initializer:
        return mutate_shape(model, rng)
    weight = rng.choice(model.graph.initializer)
    match rng.randrange(6):
        case 0 if weight.dims:
            weight.dims[rng.randrange(len(weight.dims))] = rng.choice([*INTEGERS, *range(9)])
        case 1:
            weight.dims.append(rng.choice([0, 1, 1, 2, -1, 2**40]))
        case 2:
            weight.data_type = rng.randrange(-1, 30)
        case 3 if weight.raw_data:
            weight.raw_data = mutate_bytes(weight.raw_data, rng)
        case 4 if weight.raw_data and weight.data_type == TensorProto.INT64:
            data = bytearray(weight.raw_data)
            at = rng.randrange(len(data) // 8) * 8
            data[at:at + 8] = rng.choice(INTEGERS).to_bytes(8, "little", signed=True)
            weight.raw_data = bytes(data)
        case _:
            weight.dims[:] = [rng.choice([0, 1, 2, 3]) for _ in range(rng.randrange(5))]
            del weight.int64_data[:], weight.float_data[:], weight.int32_data[:]
            count = 1
            for dim in weight.dims:
                count *= dim
            weight.raw_data = rng.randbytes(8 * count) if weight.data_type == 7 else \
                rng.randbytes(4 * count)
    return None


def mutate_node(model, rng):
    """A node's operator, edges, name or domain, or the node itself."""
    nodes = model.graph.node
    node = rng.choice(nodes)
    names = [value.name for value in [*model.graph.input, *model.graph.initializer]] + [
        name for other in nodes for name in other.output] + ["", "nowhere"]
    match rng.randrange(9):
        case 0:
            node.op_type = rng.choice(OPERATORS)
        case 1 if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(names)
        case 2:
            node.input.append(rng.choice(names))
        case 3 if node.input:
            node.input.pop()
        case 4:
            node.output.append(rng.choice([*names, "fresh"]))
        case 5 if node.output:
            node.output[rng.randrange(len(node.output))] = rng.choice(names)
        case 6:
            node.name, node.domain = rng.choice(STRINGS), rng.choice(["", "", "ai.onnx.ml", "x"])
        case 7:
            copy = nodes.add()
            copy.CopyFrom(node)
            copy.output[:] = [f"{name}_again" for name in copy.output]
            copy.op_type = rng.choice([copy.op_type, *OPERATORS])
            if copy.output and copy.output[0]:
                model.graph.output.add().name = copy.output[0]
        case 8:
            nodes.remove(node)


def mutate_model(model, rng):
    """What stands around the graph."""
    match rng.randrange(7):
        case 0 if model.opset_import:
            model.opset_import[0].version = rng.choice([*range(1, 30), *INTEGERS])
        case 1:
            model.ir_version = rng.choice([0, 1, 3, 4, 10, 2**62])
        case 2:
            model.graph.output.add().CopyFrom(rng.choice([*model.graph.input, *model.graph.output]))
        case 3:
            rng.choice([*model.graph.input, *model.graph.output]).name = rng.choice(STRINGS)
        case 4:
            rng.choice([*model.graph.input, *model.graph.output]).ClearField("type")
        case 5:
            model.graph.input.pop() if model.graph.input else None
        case 6:
            model.opset_import.add(domain=rng.choice(["", "x"]), version=rng.randrange(30))


MUTATIONS = [mutate_attribute, mutate_attribute, mutate_shape, mutate_weight, mutate_weight,
             mutate_node, mutate_node, mutate_model]


def make(models, number):
    """The bytes of case `number` and which model they come from."""
    rng = random.Random(number)
    name, content = rng.choice(models)
    if rng.random() < 0.25:
        for _ in range(rng.randrange(1, 4)):
            content = mutate_bytes(content, rng)
        return name, content
    model = onnx.ModelProto.FromString(content)
    for _ in range(rng.randrange(1, 4)):
        if model.graph.node and (model.graph.input or model.graph.output):
            try:
                rng.choice(MUTATIONS)(model, rng)
            except (ValueError, TypeError, IndexError):
                pass  # a value that protobuf itself does not take
    return name, model.SerializeToString()


def check(product, number, name, content, keep):
    """One case; a Failure if the compiler does anything but compile or refuse."""
    stage = ["pasc", "fused", "graph", "ptx"][number % 4]
    with harness.scratch() as folder:
        model, out = Path(folder) / "model.onnx", Path(folder) / "out"
        model.write_bytes(content)
        before = refusals.snapshot(folder)
        command = [product.compiler, str(model), "-o", str(out), "--emit", stage]
        try:
            # What the compiler may take is bounded, so that a test never takes the machine.
            result = harness.call(["bash", "-c", f'ulimit -v {MEMORY_KIB}; exec "$@"', "sh",
                                   *command], timeout=LIMIT_S)
            written = refusals.snapshot(folder) - before
            judge(result, written, out)
        except Failure as failure:
            if keep:
                keep.mkdir(parents=True, exist_ok=True)
                (keep / f"{number}.onnx").write_bytes(content)
            raise Failure(f"{name} --emit {stage}: {str(failure)[:LONGEST_NOTE]}") from failure


def judge(result, written, out):
    """Exit 0 and the file, or exit 1, a sentence and no file."""
    if result.returncode == 0:
        if [path for path, _ in written] != [str(out)]:
            raise Failure(f"exit 0 and wrote {sorted(written)}")
        return
    if result.returncode != 1:
        raise Failure(harness.describe_exit(result))
    if written:
        raise Failure(f"refused, and wrote {sorted(written)}")
    refusals.check_sentence(result.stderr)


def seed_models():
    """Every model of the end-to-end cases, by name."""
    families = [contraction, convolution, pooling, pointwise, reduction, movement]
    return [(case.name, case.model.SerializeToString())
            for family in families for case in family.cases()]


def prepared_models():
    """The seeds, and their operators known to the mutations."""
    models = seed_models()
    OPERATORS[:] = sorted({node.op_type for _, content in models
                           for node in onnx.ModelProto.FromString(content).graph.node})
    return models


def main():
    """The chosen cases."""
    parser = harness.arguments(__doc__)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, default=300, help="how many")
    parser.add_argument("--keep", type=Path, help="folder for the models that failed")
    args = parser.parse_args()
    product, models = harness.product(args), prepared_models()

    def test(number):
        return lambda: check(product, number, *make(models, number), args.keep)

    report = harness.Report(args)
    report.run_all([(f"mutation/{number}", test(number))
                    for number in range(args.first, args.first + args.cases)], args.jobs)
    report.finish()


OPERATORS = []

if __name__ == "__main__":
    main()
