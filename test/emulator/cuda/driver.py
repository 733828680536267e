"""CUDA C on the emulator: NVRTC compiles it, the driver API runs it.

A case is a function decorated with @case(source). It gets a `run` to launch the kernels of
its source with; numpy arrays are copied to the device and back, in place, and numpy scalars
(np.int32(3)) go by value. The case raises if a result is wrong. run.py runs all cases.
"""

import ctypes
import importlib.util
import os
import struct
from pathlib import Path

import numpy as np

CASES = {}
LOG_BYTES = 8192
FORMATS = {"float32": 0x20, "float16": 0x10, "uint8": 1, "int8": 8, "uint16": 2, "int16": 9,
           "uint32": 3, "int32": 10}  # CUarray_format


def case(source):
    """Make a function a case; its name is the name of the first kernel."""
    def add(function):
        if function.__name__ in CASES:
            raise ValueError(f"two cases are called {function.__name__}")
        CASES[function.__name__] = (source, function)
        return function
    return add


def same(got, want):
    """Fail unless two arrays are equal to the bit (NaN equals NaN)."""
    np.testing.assert_array_equal(got, want)


def close(got, want, rtol=1e-5, atol=1e-6):
    """Fail unless two arrays are near one another."""
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


def rng(seed=1):
    """Random numbers, the same in every run."""
    return np.random.default_rng(seed)


class Compiler:
    """NVRTC, from its Python package."""

    def __init__(self):
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
        if spec is None:
            raise RuntimeError("nvidia-cuda-nvrtc-cu12 is not installed; run tools/setup.sh")
        folder = Path(next(iter(spec.submodule_search_locations)))
        self.library = ctypes.CDLL(str(folder / "lib/libnvrtc.so.12"))

    def ptx(self, source, name):
        """The PTX of a CUDA C source, for sm_61."""
        program = ctypes.c_void_p()
        library = self.library
        library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0,
                                   None, None)
        options = (ctypes.c_char_p * 2)(b"--gpu-architecture=compute_61", b"-default-device")
        failed = library.nvrtcCompileProgram(program, len(options), options)
        get = ("GetProgramLogSize", "GetProgramLog") if failed else ("GetPTXSize", "GetPTX")
        size = ctypes.c_size_t()
        getattr(library, "nvrtc" + get[0])(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        getattr(library, "nvrtc" + get[1])(program, text)
        library.nvrtcDestroyProgram(ctypes.byref(program))
        if failed:
            raise RuntimeError(f"nvrtc: {text.value.decode()}")
        return text.value


class Device:
    """The emulator, through the driver API that it exports."""

    def __init__(self, library):
        os.environ.setdefault("PASCALINE_EMULATOR_TIMEOUT", "60")
        os.environ.setdefault("PASCALINE_EMULATOR_POISON", "1")
        self.library = ctypes.CDLL(str(library))
        self.library.pascalineEmulatorLastError.restype = ctypes.c_char_p
        self.call("cuInit", 0)

    def call(self, name, *arguments):
        """Call a function of the API; raises what it says unless it returns 0."""
        code = getattr(self.library, name)(*arguments)
        if code:
            sentence = self.library.pascalineEmulatorLastError() or b""
            raise RuntimeError(f"{name}: error {code}: {sentence.decode()}")


class Module:
    """One module in a context of its own, so that no error outlives it."""

    def __init__(self, device, ptx, entry):
        self.call, self.entry, self.pieces = device.call, entry, []
        self.context, self.module = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuCtxCreate_v2", ctypes.byref(self.context), 0, 0)
        log = ctypes.create_string_buffer(LOG_BYTES)
        options = (ctypes.c_int * 2)(5, 6)  # the error log and its size
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), LOG_BYTES)
        try:
            self.call("cuModuleLoadDataEx", ctypes.byref(self.module), ptx, 2, options, values)
        except RuntimeError as error:
            self.close()
            raise RuntimeError(f"{error} {log.value.decode()}") from error

    def close(self):
        """Give everything back."""
        self.call("cuCtxDestroy_v2", self.context)

    def symbol(self, name, array):
        """Copy an array to a variable of the module."""
        address, size = ctypes.c_uint64(), ctypes.c_size_t()
        self.call("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(size), self.module,
                  name.encode())
        if size.value != array.nbytes:
            raise ValueError(f"{name} has {size.value} bytes, the array has {array.nbytes}")
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes))

    def texture(self, array):
        """The handle of a texture of an array: its last axis is the channels if it has several."""
        channels = array.shape[-1] if array.ndim == 2 else 1
        address, handle = self._upload(array), ctypes.c_uint64()
        resource = struct.pack("<iiQiIQ104xI", 2, 0, address.value, FORMATS[array.dtype.name],
                               channels, array.nbytes, 0)
        self.call("cuTexObjectCreate", ctypes.byref(handle), resource, bytes(112), None)
        return np.uint64(handle.value)

    def __call__(self, grid, block, *arguments, entry=None, shared=0):
        """Launch; arrays among the arguments are written back."""
        function = ctypes.c_void_p()
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module,
                  (entry or self.entry).encode())
        pieces, buffers = [], []
        for argument in arguments:
            if isinstance(argument, np.ndarray):
                address = self._upload(argument)
                buffers.append((argument, address))
                pieces.append(address)
            else:
                pieces.append(ctypes.create_string_buffer(argument.tobytes()))
        pointers = (ctypes.c_void_p * max(len(pieces), 1))(*map(ctypes.addressof, pieces))
        self.call("cuLaunchKernel", function, *_three(grid), *_three(block), shared, None,
                  pointers, None)
        self.call("cuCtxSynchronize")
        for array, address in buffers:
            self.call("cuMemcpyDtoH_v2", array.ctypes.data_as(ctypes.c_void_p), address,
                      ctypes.c_size_t(array.nbytes))
            self.call("cuMemFree_v2", address)

    def _upload(self, array):
        if not array.flags.c_contiguous or not array.nbytes:
            raise ValueError("arrays must be contiguous and have bytes")
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.call("cuMemcpyHtoD_v2", address, array.ctypes.data_as(ctypes.c_void_p),
                  ctypes.c_size_t(array.nbytes))
        return address


def _three(size):
    size = size if isinstance(size, tuple) else (size,)
    return [ctypes.c_uint(n) for n in size + (1,) * (3 - len(size))]
