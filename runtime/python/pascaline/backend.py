"""pascaline as an ONNX backend: onnx.backend.base.Backend.

    onnx.backend.test.BackendTest(pascaline.backend, __name__)

Shapes are static here and every ONNX device is one of ours: "CUDA" takes a usable GPU, "CPU" the
emulator. Where the model leaves an input's shape open, or an input's values decide shapes (the new
shape of a Reshape), prepare() leaves compiling to the first run: a compile for each such shape or
value, which is kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from ._compiler import compile as compile_model
from ._libraries import Error
from ._runtime import Session, open_device
from ._static_inputs import static_inputs

_BFLOAT16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
_DEVICES = {"CPU": "emulator", "CUDA": "gpu"}


def _selector(device: str) -> str:
    kind, _, number = device.partition(":")
    if kind not in _DEVICES:
        raise Error(f"device {device!r} is unknown; give CPU (the emulator) or CUDA[:N]")
    return f"gpu:{number}" if kind == "CUDA" and number else _DEVICES[kind]


def _graph_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def _is_static(value: onnx.ValueInfoProto) -> bool:
    tensor = value.type.tensor_type
    return tensor.HasField("shape") and all(dim.HasField("dim_value") for dim in tensor.shape.dim)


def _array(value: Any) -> np.ndarray:
    """An array as Session takes it: of a TensorProto too; bfloat16 as its bits."""
    if isinstance(value, onnx.TensorProto):
        value = onnx.numpy_helper.to_array(value)
    array = np.asarray(value)
    return array.view(np.uint16) if array.dtype == _BFLOAT16 else array


class PascalineRep(BackendRep):
    """A model that is prepared. Inputs are positional, in the graph's order, or a dict."""

    def __init__(self, model: onnx.ModelProto, device: str):
        super().__init__()
        self._model = model
        self._baked = static_inputs(model.graph)
        self._open_inputs = {value.name for value in _graph_inputs(model)
                             if not _is_static(value)}
        self._open_inputs -= self._baked
        self._names = [value.name for value in _graph_inputs(model)]
        self._device = _selector(device)
        self._sessions: dict[tuple[Any, ...], Session] = {}
        tensors = all(value.type.WhichOneof("value") == "tensor_type"
                      for value in model.graph.input)
        # The compiler refuses what is no tensor, whatever its shape.
        if not tensors or (not self._open_inputs and not self._baked):
            self._session({})

    def _session(self, feeds: dict[str, np.ndarray]) -> Session:
        shapes = {name: array.shape for name, array in feeds.items() if name in self._open_inputs}
        baked = {name: array for name, array in feeds.items() if name in self._baked}
        key = (tuple(sorted(shapes.items())),
               tuple((name, array.tobytes()) for name, array in sorted(baked.items())))
        if key not in self._sessions:
            with compile_model(self._specialised(baked), shapes=shapes,
                               name=self._model.graph.name or "model") as model:
                self._sessions[key] = model.session(self._device)
        return self._sessions[key]

    def _specialised(self, baked: dict[str, np.ndarray]) -> bytes:
        """The model with these inputs as constants."""
        if not baked:
            return self._model.SerializeToString()
        model = onnx.ModelProto()
        model.CopyFrom(self._model)
        kept = [value for value in model.graph.input if value.name not in baked]
        del model.graph.input[:]
        model.graph.input.extend(kept)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(array, name)
                                       for name, array in baked.items())
        return model.SerializeToString()

    def run(self, inputs: Any, **_kwargs: Any) -> tuple[np.ndarray, ...]:
        """The outputs, in the graph's order."""
        if isinstance(inputs, dict):
            feeds = dict(inputs)
        else:
            values = inputs if isinstance(inputs, (list, tuple)) else [inputs]
            if len(values) > len(self._names):
                raise Error(f"{len(values)} inputs are given and the model has "
                            f"{len(self._names)}")
            feeds = dict(zip(self._names, values))
        feeds = {name: _array(value) for name, value in feeds.items()}
        session = self._session(feeds)
        results = session.run({name: array for name, array in feeds.items()
                               if name not in self._baked})
        return tuple(results[value.name].view(_BFLOAT16)
                     if value.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16
                     else results[value.name] for value in self._model.graph.output)


class PascalineBackend(Backend):
    """The static methods that onnx.backend asks for."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether prepare() takes it."""
        try:
            cls.prepare(model, device, **kwargs)
        except Error:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU",
                **kwargs: Any) -> PascalineRep:
        """Compiles the model and opens a session for it."""
        super().prepare(model, device, **kwargs)
        return PascalineRep(model, device)

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU",
                  **kwargs: Any) -> tuple[Any, ...]:
        """prepare() and run() at once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """CPU is the emulator and always there; CUDA needs a usable GPU."""
        if device.startswith("CPU"):
            return True
        try:
            _probe(_selector(device))
        except Error:
            return False
        return True


def _probe(selector: str) -> None:
    """Opens and closes a device."""
    open_device(selector).close()


is_compatible = PascalineBackend.is_compatible
prepare = PascalineBackend.prepare
run_model = PascalineBackend.run_model
supports_device = PascalineBackend.supports_device
