"""How lit runs the tests of test/import, ir, passes, ptx and tools.

A test is a file whose first lines say RUN. It finds the project's tools and
FileCheck on PATH, `%python` (with onnx and numpy, to write a model), and, if
this machine has it, `%ptxas`, which goes with `REQUIRES: ptxas`.
"""

import glob
import os

import lit.formats

config.name = "pascaline"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".py", ".test"]
config.excludes = ["lit.cfg.py", "Inputs", "models", "e2e"]
config.test_source_root = config.source_dir
config.test_exec_root = config.binary_dir
config.environment["PATH"] = os.pathsep.join(
    config.tool_dirs + [config.environment["PATH"]])
config.substitutions.append(("%python", config.python))

venv = os.path.dirname(os.path.dirname(config.python))
ptxas = glob.glob(venv + "/lib/python3*/site-packages/nvidia/cuda_nvcc/bin/ptxas")
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas[0]))
