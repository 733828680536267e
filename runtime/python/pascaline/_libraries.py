"""Where the two shared libraries are, and the types of what they export.

The signatures follow pascaline/pascaline.h and pascaline/compile.h.
"""

from __future__ import annotations

import ctypes
import functools
import os
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Iterator


class Error(RuntimeError):
    """What is wrong, in one sentence. `status` is the C API's."""

    def __init__(self, sentence: str, status: int = 0):
        super().__init__(sentence)
        self.status = status


class Refused(Error):
    """The compiler does not take a model or an option."""


class TensorInfo(ctypes.Structure):
    """pascaline_tensor_info"""
    _fields_ = [("name", c_char_p), ("type", c_int), ("rank", c_size_t),
                ("shape", POINTER(c_int64)), ("bytes", c_uint64)]


class ArtifactInfo(ctypes.Structure):
    """pascaline_artifact_info"""
    _fields_ = [("model", c_char_p), ("producer", c_char_p), ("chip", c_char_p),
                ("format_version", c_uint32), ("target_sm", c_uint32), ("input_count", c_size_t),
                ("output_count", c_size_t), ("kernel_count", c_size_t),
                ("launch_count", c_size_t), ("init_launch_count", c_size_t), ("ptx", c_void_p),
                ("ptx_bytes", c_size_t), ("cubin_bytes", c_size_t), ("shape_set_count", c_size_t)]


class KernelInfo(ctypes.Structure):
    """pascaline_kernel_info"""
    _fields_ = [("name", c_char_p), ("block", c_uint32 * 3), ("static_shared_bytes", c_uint32),
                ("dynamic_shared_bytes", c_uint32), ("registers", c_uint32)]


class LaunchInfo(ctypes.Structure):
    """pascaline_launch_info"""
    _fields_ = [("kernel", c_size_t), ("grid", c_uint32 * 3), ("node_count", c_size_t),
                ("nodes", POINTER(c_char_p)), ("flops", c_uint64), ("bytes", c_uint64),
                ("secondary", c_int), ("limit", c_char_p)]


class DeviceInfo(ctypes.Structure):
    """pascaline_device_info"""
    _fields_ = [("name", c_char_p), ("reason", c_char_p), ("emulator", c_int),
                ("compute_major", c_uint32), ("compute_minor", c_uint32),
                ("driver_version", c_uint32), ("memory_total", c_uint64),
                ("memory_free", c_uint64)]


class Buffer(ctypes.Structure):
    """pascaline_buffer"""
    _fields_ = [("data", c_void_p), ("bytes", c_uint64), ("place", c_int)]


Diagnostic = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class CompileOptions(ctypes.Structure):
    """pascaline_compile_options"""
    _fields_ = [("size", c_size_t), ("shapes", POINTER(c_char_p)), ("shape_count", c_size_t),
                ("chip", c_char_p), ("precision", c_char_p), ("keep_fp32", c_char_p),
                ("calibrate", c_char_p), ("expose", POINTER(c_char_p)), ("expose_count", c_size_t),
                ("skip_passes", POINTER(c_char_p)), ("skip_pass_count", c_size_t),
                ("cubin", c_int), ("ptxas", c_char_p),
                ("memory_limit", c_uint64),
                ("diagnostic", Diagnostic), ("diagnostic_user", c_void_p)]


LogFunction = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)


class DeviceOptions(ctypes.Structure):
    """pascaline_device_options"""
    _fields_ = [("size", c_size_t), ("log", LogFunction), ("log_user", c_void_p),
                ("counting", c_int)]


class SessionOptions(ctypes.Structure):
    """pascaline_session_options"""
    _fields_ = [("size", c_size_t), ("no_graphs", c_int)]


_Functions = dict[str, tuple[Any, Any]]  # the result and the arguments, by name

RUNTIME: _Functions = {
    "pascaline_last_error": (c_char_p, []),
    "pascaline_artifact_open": (c_int, [c_char_p, POINTER(c_void_p)]),
    "pascaline_artifact_open_bytes": (c_int, [c_void_p, c_size_t, c_char_p, POINTER(c_void_p)]),
    "pascaline_artifact_close": (None, [c_void_p]),
    "pascaline_artifact_get_info": (c_int, [c_void_p, POINTER(ArtifactInfo)]),
    "pascaline_shape_set_input": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(TensorInfo)]),
    "pascaline_shape_set_output": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(TensorInfo)]),
    "pascaline_artifact_kernel": (c_int, [c_void_p, c_size_t, POINTER(KernelInfo)]),
    "pascaline_artifact_launch": (c_int, [c_void_p, c_size_t, POINTER(LaunchInfo)]),
    "pascaline_device_open": (c_int, [c_char_p, POINTER(DeviceOptions), POINTER(c_void_p)]),
    "pascaline_device_close": (None, [c_void_p]),
    "pascaline_device_get_info": (c_int, [c_void_p, POINTER(DeviceInfo)]),
    "pascaline_model_open_artifact": (c_int, [c_void_p, c_void_p, POINTER(c_void_p)]),
    "pascaline_model_close": (None, [c_void_p]),
    "pascaline_session_open_with": (c_int, [c_void_p, POINTER(SessionOptions),
                                            POINTER(c_void_p)]),
    "pascaline_session_close": (None, [c_void_p]),
    "pascaline_session_use_shape_set": (c_int, [c_void_p, c_size_t]),
    "pascaline_session_run": (c_int, [c_void_p, POINTER(Buffer), c_size_t, POINTER(Buffer),
                                      c_size_t]),
}
_COMPILED = [POINTER(CompileOptions), POINTER(c_void_p), POINTER(c_size_t)]
COMPILER: _Functions = {
    "pascaline_compile_file": (c_int, [c_char_p, *_COMPILED]),
    "pascaline_compile_bytes": (c_int, [c_char_p, c_size_t, c_char_p, *_COMPILED]),
    "pascaline_compile_free": (None, [c_void_p]),
    "pascaline_compile_optional_pass": (c_char_p, [c_char_p, c_size_t]),
}


def _candidates(name: str) -> Iterator[str]:
    """Where a library may be: $PASCALINE_LIBRARY_DIR and nowhere else, where that is set; else
    beside this package, in build/lib of the checkout, and wherever the system looks."""
    chosen = os.environ.get("PASCALINE_LIBRARY_DIR")
    if chosen:
        yield str(Path(chosen) / name)
        return
    package = Path(__file__).resolve().parent
    for folder in (package, package / "lib", package.parents[2] / "build" / "lib"):
        if (folder / name).is_file():
            yield str(folder / name)
    yield name + ".0"
    yield name


def _load(name: str, functions: _Functions) -> ctypes.CDLL:
    tried = []
    for path in _candidates(name):
        try:
            library = ctypes.CDLL(path)
            for function, (result, arguments) in functions.items():
                getattr(library, function).restype = result
                getattr(library, function).argtypes = arguments
            return library
        except (OSError, AttributeError) as error:
            tried.append(str(error))
    raise Error(f"{name} cannot be loaded ({'; '.join(tried)}); set PASCALINE_LIBRARY_DIR to the "
                "folder that holds it")


@functools.lru_cache(maxsize=None)
def runtime() -> ctypes.CDLL:
    """libpascaline.so"""
    return _load("libpascaline.so", RUNTIME)


@functools.lru_cache(maxsize=None)
def compiler() -> ctypes.CDLL:
    """libpascaline-compiler.so; needed by compile() alone."""
    return _load("libpascaline-compiler.so", COMPILER)


def check(status: int) -> None:
    """Raises what the runtime's last call on this thread has to say."""
    if status:
        sentence = runtime().pascaline_last_error() or b""
        raise Error(sentence.decode("utf-8", "replace"), status)
