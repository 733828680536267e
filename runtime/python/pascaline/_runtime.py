"""Model and Session over the C API."""

from __future__ import annotations

import ctypes
import logging
import os
import threading
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Optional, Union

import numpy as np

from ._libraries import (ArtifactInfo, Buffer, DeviceInfo, DeviceOptions, Error, KernelInfo,
                         LaunchInfo, LogFunction, SessionOptions, TensorInfo, check, runtime)

# pascaline_element_type. bfloat16 is no type of numpy's: its bits are handed over.
_TYPES = {1: np.float32, 2: np.float16, 3: np.uint16, 4: np.float64, 5: np.int8, 6: np.uint8,
          7: np.int16, 8: np.uint16, 9: np.int32, 10: np.uint32, 11: np.int64, 12: np.uint64,
          13: np.bool_}


@dataclass(frozen=True)
class Tensor:
    """An input or output of a model."""
    name: str
    dtype: np.dtype
    shape: tuple[int, ...]


@dataclass(frozen=True)
class ShapeSet:
    """The inputs and outputs of a model in one of the shapes that it is compiled for."""
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Launch:
    """A launch of a run: its kernel's name in the PTX, and the ONNX nodes that it computes."""
    kernel: str
    nodes: tuple[str, ...]


class _Handle:
    """One opaque handle: closed once, at the latest when nothing refers to it. The C API lets
    handles be closed in any order."""

    def __init__(self, pointer: ctypes.c_void_p, close: Callable[..., None],
                 *keeps: object):
        self.pointer = pointer
        self.keeps = keeps  # borrowed bytes, which live until the handle is closed
        self._finalizer = weakref.finalize(self, _close, close, pointer, keeps)

    def close(self) -> None:
        """May be called again."""
        self._finalizer()

    def use(self, what: str) -> ctypes.c_void_p:
        """The pointer of a handle that is open."""
        if not self._finalizer.alive:
            raise Error(f"the {what} is closed; open another")
        return self.pointer


def _close(close: Callable[..., None], pointer: ctypes.c_void_p, _keeps: object) -> None:
    close(pointer)


def _open(function: Callable[..., int], close: Callable[..., None], *arguments: object,
          keeps: tuple[object, ...] = ()) -> _Handle:
    pointer = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(pointer)))
    return _Handle(pointer, close, *keeps)


def _say(_user: Optional[int], message: bytes) -> None:
    """What the runtime has to say goes to the logger "pascaline"."""
    logging.getLogger("pascaline").info("%s", message.decode("utf-8", "replace"))


_LOG = LogFunction(_say)  # lives as long as any device


def open_device(selector: str) -> _Handle:
    """A device handle, for those who know what they do with it."""
    options = DeviceOptions(size=ctypes.sizeof(DeviceOptions), log=_LOG)
    library = runtime()
    return _open(library.pascaline_device_open, library.pascaline_device_close,
                 selector.encode(), ctypes.byref(options))


class Model:
    """A compiled model: what is in a model.pasc. Needs no device until a session is opened."""

    def __init__(self, artifact: _Handle):
        """Use load() or compile()."""
        self._artifact = artifact
        self._models: dict[str, tuple[_Handle, _Handle]] = {}
        self._lock = threading.Lock()
        library, info = runtime(), ArtifactInfo()
        check(library.pascaline_artifact_get_info(artifact.pointer, ctypes.byref(info)))
        self.name: str = info.model.decode("utf-8", "replace")
        self.chip: str = info.chip.decode("utf-8", "replace")
        self.shape_sets = tuple(
            ShapeSet(self._tensors(library.pascaline_shape_set_input, index, info.input_count),
                     self._tensors(library.pascaline_shape_set_output, index, info.output_count))
            for index in range(info.shape_set_count))
        self.launches = self._launches(info.launch_count)
        self.ptx: str = ctypes.string_at(info.ptx, info.ptx_bytes).decode("utf-8", "replace")

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        """Of the first shape set."""
        return self.shape_sets[0].inputs

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """Of the first shape set."""
        return self.shape_sets[0].outputs

    @classmethod
    def from_bytes(cls, content: bytes, name: str = "model") -> "Model":
        """From the bytes of a model.pasc."""
        library = runtime()
        # The library borrows the bytes; sessions keep them too.
        held = np.frombuffer(content, np.uint8) if content else np.zeros(1, np.uint8)
        artifact = _open(library.pascaline_artifact_open_bytes, library.pascaline_artifact_close,
                         held.ctypes.data, len(content), name.encode(), keeps=(held,))
        return cls(artifact)

    def _tensors(self, get: Callable[..., int], shape_set: int, count: int) -> tuple[Tensor, ...]:
        tensors = []
        for index in range(count):
            info = TensorInfo()
            check(get(self._artifact.pointer, shape_set, index, ctypes.byref(info)))
            tensors.append(Tensor(info.name.decode("utf-8", "replace"),
                                  np.dtype(_TYPES[info.type]), tuple(info.shape[:info.rank])))
        return tuple(tensors)

    def _launches(self, count: int) -> tuple[Launch, ...]:
        launches, library = [], runtime()
        for index in range(count):
            info, kernel = LaunchInfo(), KernelInfo()
            check(library.pascaline_artifact_launch(self._artifact.pointer, index,
                                                    ctypes.byref(info)))
            check(library.pascaline_artifact_kernel(self._artifact.pointer, info.kernel,
                                                    ctypes.byref(kernel)))
            launches.append(Launch(kernel.name.decode("utf-8", "replace"), tuple(
                name.decode("utf-8", "replace") for name in info.nodes[:info.node_count])))
        return tuple(launches)

    def session(self, device: str = "auto", *, graphs: bool = True) -> "Session":
        """A session on "auto", "gpu", "gpu:N" or "emulator". Sessions on one device share the
        model's code and weights there. Without `graphs`, every launch is a call of the driver."""
        library = runtime()
        with self._lock:
            artifact = self._artifact.use("model")
            if device not in self._models:
                opened = open_device(device)
                model = _open(library.pascaline_model_open_artifact,
                              library.pascaline_model_close, artifact, opened.pointer,
                              keeps=self._artifact.keeps)
                self._models[device] = opened, model
            opened, model = self._models[device]
            options = SessionOptions(size=ctypes.sizeof(SessionOptions), no_graphs=not graphs)
            handle = _open(library.pascaline_session_open_with, library.pascaline_session_close,
                           model.pointer, ctypes.byref(options), keeps=self._artifact.keeps)
        return Session(self.shape_sets, handle, _device_reason(opened))

    def close(self) -> None:
        """Sessions that are open go on."""
        with self._lock:
            for opened, model in self._models.values():
                model.close()
                opened.close()
            self._models.clear()
            self._artifact.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _device_reason(device: _Handle) -> str:
    info = DeviceInfo()
    check(runtime().pascaline_device_get_info(device.pointer, ctypes.byref(info)))
    reason: bytes = info.reason
    return reason.decode("utf-8", "replace")


class Session:
    """What one run at a time needs. `device` says which device it is on and why."""

    def __init__(self, shape_sets: tuple[ShapeSet, ...], handle: _Handle, device: str):
        """Use Model.session()."""
        self.shape_sets = shape_sets
        self.device = device
        self._handle = handle
        self._lock = threading.Lock()

    def run(self, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Runs once. Types and shapes must be the model's; nothing is converted. Of a model that is
        compiled for several shapes, the inputs' shapes choose."""
        names = [tensor.name for tensor in self.shape_sets[0].inputs]
        unknown = set(inputs) - set(names)
        if unknown:
            raise Error(f"input {sorted(unknown)[0]!r} is not one of the model's: "
                        f"{', '.join(names) or 'it has none'}")
        index = self._find(inputs)
        chosen = self.shape_sets[index]
        given = [_input(tensor, inputs.get(tensor.name)) for tensor in chosen.inputs]
        results = [np.empty(tensor.shape, tensor.dtype) for tensor in chosen.outputs]
        with self._lock:
            session = self._handle.use("session")
            check(runtime().pascaline_session_use_shape_set(session, index))
            check(runtime().pascaline_session_run(
                session, _buffers(given), len(given), _buffers(results), len(results)))
        return {tensor.name: array for tensor, array in zip(chosen.outputs, results)}

    def _find(self, inputs: Mapping[str, np.ndarray]) -> int:
        """The shape set that the inputs have, as far as they are given."""
        for index, candidate in enumerate(self.shape_sets):
            if all(tensor.name not in inputs or np.shape(inputs[tensor.name]) == tensor.shape
                   for tensor in candidate.inputs):
                return index
        if len(self.shape_sets) == 1:
            return 0  # whose first wrong input is then named
        known = "; ".join(", ".join(f"{tensor.name} {list(tensor.shape)}"
                                    for tensor in candidate.inputs)
                          for candidate in self.shape_sets)
        shapes = ", ".join(f"{name} {list(np.shape(value))}" for name, value in inputs.items())
        raise Error(f"the model is compiled for {known}, and not for {shapes}; compile it for "
                    "these shapes too")

    def close(self) -> None:
        """Waits for a run that is under way."""
        with self._lock:
            self._handle.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


def _input(tensor: Tensor, value: Optional[np.ndarray]) -> np.ndarray:
    wanted = f"{tensor.dtype} {list(tensor.shape)}"
    if value is None:
        raise Error(f"input {tensor.name!r} is missing; give an array of {wanted}")
    array = np.asarray(value)
    if array.dtype != tensor.dtype or array.shape != tensor.shape:
        raise Error(f"input {tensor.name!r} is {array.dtype} {list(array.shape)} and should be "
                    f"{wanted}; convert it or compile for its shape")
    return np.asarray(array, order="C")


def _buffers(arrays: list[np.ndarray]) -> ctypes.Array[Buffer]:
    return (Buffer * max(len(arrays), 1))(
        *[Buffer(array.ctypes.data, array.nbytes, 0) for array in arrays])


def load(model: Union[str, os.PathLike[str], bytes]) -> Model:
    """A model.pasc: its path, or its bytes."""
    if isinstance(model, (bytes, bytearray, memoryview)):
        return Model.from_bytes(bytes(model))
    library = runtime()
    return Model(_open(library.pascaline_artifact_open, library.pascaline_artifact_close,
                       os.fsencode(model)))
