"""Turns every FOLDER/*.onnxtxt (ONNX's textual syntax) into FOLDER/*.onnx.

Nothing is checked: the tests want damaged models too.
"""

import pathlib
import sys

import onnx.parser

for path in sorted(pathlib.Path(sys.argv[1]).glob("*.onnxtxt")):
    model = onnx.parser.parse_model(path.read_text())
    path.with_suffix(".onnx").write_bytes(model.SerializeToString())
