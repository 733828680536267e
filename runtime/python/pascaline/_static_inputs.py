"""Which graph inputs decide shapes, axes or bounds, and so must be constants for a compiler of
static shapes."""

from __future__ import annotations

import onnx

# Operator: the operands that a static compiler needs to know.
_REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
_SLOTS = {
    "AffineGrid": (1,), "BlackmanWindow": (0,), "CenterCropPad": (1,), "Col2Im": (1, 2),
    "ConstantOfShape": (0,), "CumProd": (1,), "CumSum": (1,), "DFT": (1, 2), "Expand": (1,),
    "HammingWindow": (0,), "HannWindow": (0,), "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1, 2, 3, 4), "OneHot": (1,), "Pad": (1, 3), "Range": (0, 1, 2),
    "Reshape": (1,), "Resize": (1, 2, 3), "STFT": (1, 3), "Slice": (1, 2, 3, 4), "Split": (1,),
    "Squeeze": (1,), "Tile": (1,), "TopK": (1,), "Trilu": (1,), "Unsqueeze": (1,),
    "Upsample": (1,), **{f"Reduce{kind}": (1,) for kind in _REDUCTIONS}}
# Where shapes are static these results are known, whatever the values.
_KNOWN = ("Shape", "Size")


def static_inputs(graph: onnx.GraphProto) -> set[str]:
    """Names of the graph's inputs on which such an operand depends, through other nodes too."""
    makers = {name: node for node in graph.node for name in node.output if name}
    pending = [node.input[slot] for node in graph.node
               for slot in _SLOTS.get(node.op_type, ()) if slot < len(node.input)]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if not name or name in seen:
            continue
        seen.add(name)
        node = makers.get(name)
        if node is not None and node.op_type not in _KNOWN:
            pending.extend(node.input)
    constants = {tensor.name for tensor in graph.initializer}
    return {value.name for value in graph.input} & seen - constants
