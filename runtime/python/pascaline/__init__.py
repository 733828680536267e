"""Compile ONNX models for Pascal GPUs and run them there, or on the emulator.

    import pascaline
    with pascaline.compile("m.onnx", shapes={"x": (1, 3, 224, 224)}) as model:
        with model.session(device="auto") as session:
            outputs = session.run({"x": array})   # a dict of numpy arrays

Errors are pascaline.Error with one sentence. A Model may be used by any number of threads at once;
a Session by one thread at a time (it has a lock: others wait). Everything is closed when it is
closed, left as a context, or no longer referenced, in whatever order.
"""

from ._compiler import compile  # pylint: disable=redefined-builtin
from ._libraries import Error, Refused
from ._runtime import Model, Session, Tensor, load

__all__ = ["Error", "Model", "Refused", "Session", "Tensor", "compile", "load"]
__version__ = "0.1.0"
