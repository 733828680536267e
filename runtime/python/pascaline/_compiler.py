"""compile(): an ONNX model to a Model, in this process."""

from __future__ import annotations

import ctypes
import operator
import os
import warnings
from typing import Any, Mapping, Optional, Sequence, Union

from ._libraries import CompileOptions, Diagnostic, Error, Refused, compiler
from ._runtime import Model

_ERROR = 1     # pascaline_compile_severity
_REFUSED = 2   # pascaline_compile_status


Shape = Sequence[int]
# One shape an input, or several: a shape set for each, as many for every such input.
Shapes = Mapping[str, Union[Shape, Sequence[Shape]]]


def _shape_texts(shapes: Shapes) -> list[bytes]:
    def texts(shape: Any) -> list[str]:
        several = len(shape) > 0 and not hasattr(shape[0], "__index__")
        return ["x".join(str(operator.index(size)) for size in each)
                for each in (shape if several else [shape])]

    return [f"{name}={','.join(texts(shape))}".encode() for name, shape in shapes.items()]


def _strings(texts: Sequence[bytes]) -> tuple[ctypes.Array[ctypes.c_char_p], int]:
    return (ctypes.c_char_p * len(texts))(*texts), len(texts)


def optional_passes(precision: Optional[str] = None) -> list[str]:
    """What `skip_passes` may name, in the order in which they run."""
    names: list[str] = []
    wanted = precision and precision.encode()
    while (name := compiler().pascaline_compile_optional_pass(wanted, len(names))) is not None:
        names.append(name.decode())
    return names


def _names(what: str, names: Sequence[str]) -> tuple[ctypes.Array[ctypes.c_char_p], int]:
    """Names for C. The letters of a lone string would be taken for names, so it is refused."""
    if isinstance(names, (str, bytes)):
        raise Error(f"{what} is {names!r} and should be a list of names")
    return _strings([name.encode() for name in names])


def compile_to_bytes(model: Union[str, os.PathLike[str], bytes], *,
                     shapes: Optional[Shapes] = None,
                     chip: Optional[str] = None, precision: Optional[str] = None,
                     keep_fp32: Optional[str] = None,
                     calibrate: Union[str, os.PathLike[str], None] = None,
                     expose: Sequence[str] = (), skip_passes: Sequence[str] = (), cubin: bool = False,
                     ptxas: Union[str, os.PathLike[str], None] = None, memory_limit: int = 0,
                     name: str = "model") -> bytes:
    """The bytes of model.pasc."""
    bindings = _strings(_shape_texts(shapes or {}))
    exposed, skipped = _names("expose", expose), _names("skip_passes", skip_passes)
    if operator.index(memory_limit) < 0:
        raise Error(f"memory_limit is {memory_limit} and should be a number of bytes, or 0 for none")
    errors: list[str] = []
    notes: list[str] = []

    def collect(_user: Optional[int], severity: int, message: bytes) -> None:
        (errors if severity == _ERROR else notes).append(message.decode("utf-8", "replace"))

    options = CompileOptions(
        size=ctypes.sizeof(CompileOptions), shapes=bindings[0], shape_count=bindings[1],
        expose=exposed[0], expose_count=exposed[1], skip_passes=skipped[0],
        skip_pass_count=skipped[1], chip=chip and chip.encode(),
        precision=precision and precision.encode(), keep_fp32=keep_fp32 and keep_fp32.encode(),
        cubin=cubin, ptxas=None if ptxas is None else os.fsencode(ptxas),
        calibrate=calibrate and os.fsencode(calibrate),
        memory_limit=operator.index(memory_limit), diagnostic=Diagnostic(collect))
    library, artifact, size = compiler(), ctypes.c_void_p(), ctypes.c_size_t()
    result = [ctypes.byref(options), ctypes.byref(artifact), ctypes.byref(size)]
    if isinstance(model, (bytes, bytearray, memoryview)):
        data = bytes(model)
        status = library.pascaline_compile_bytes(data, len(data), name.encode(), *result)
    else:
        status = library.pascaline_compile_file(os.fsencode(model), *result)
    if status:
        sentence = errors[0] if errors else "the compiler stopped without saying why"
        raise (Refused if status == _REFUSED else Error)(sentence, status)
    try:
        content = ctypes.string_at(artifact, size.value)
    finally:
        library.pascaline_compile_free(artifact)
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return content


def compile(model: Union[str, os.PathLike[str], bytes], *,  # pylint: disable=redefined-builtin
            shapes: Optional[Shapes] = None,
            chip: Optional[str] = None, precision: Optional[str] = None,
            keep_fp32: Optional[str] = None,
            calibrate: Union[str, os.PathLike[str], None] = None,
            expose: Sequence[str] = (), skip_passes: Sequence[str] = (), cubin: bool = False,
            ptxas: Union[str, os.PathLike[str], None] = None, memory_limit: int = 0,
            name: str = "model") -> Model:
    """Compiles a path or the bytes of a model. `shapes` binds inputs, as --shape does; `calibrate`
    is a folder of samples, with fp16; `expose` names tensors that become outputs too;
    `skip_passes` leaves out optional passes; `cubin` adds machine code for sm_61, by `ptxas` or
    one that is found; a model that needs more than `memory_limit` bytes of device memory (0: no
    limit) is refused; `name` is what errors call a model of bytes. Notes of the compiler are
    warnings."""
    content = compile_to_bytes(model, shapes=shapes, chip=chip, precision=precision,
                               keep_fp32=keep_fp32, calibrate=calibrate, expose=expose,
                               skip_passes=skip_passes, cubin=cubin, ptxas=ptxas,
                               memory_limit=memory_limit, name=name)
    return Model.from_bytes(content, name)
