// cuda_driver.h - the part of the CUDA driver API that Pascaline speaks.
//
// The runtime loads these functions with dlopen, from NVIDIA's libcuda.so.1 or
// from our emulator; the emulator defines them; a test installs a fake table.
// All three read this one list, so it is written by hand from the public
// documentation ("CUDA Driver API", docs.nvidia.com/cuda/cuda-driver-api) and
// needs no toolkit. Values and signatures are the documented ones.
//
// PASCALINE_CUDA_FUNCTIONS(X) calls X(name, symbol, parameters) for each
// function: `name` is the member of DriverTable, `symbol` the exported name
// (`_v2` where the documentation's macro maps to one). The second list,
// PASCALINE_CUDA_GRAPH_FUNCTIONS, is of those that came with CUDA 10 to 11.4:
// an older driver does without them.
#ifndef PASCALINE_CUDA_DRIVER_H
#define PASCALINE_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef unsigned long long CUdeviceptr;

typedef enum CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_DEINITIALIZED = 4,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_FILE_NOT_FOUND = 301,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_ILLEGAL_STATE = 401,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
  CUDA_ERROR_LAUNCH_TIMEOUT = 702,
  CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
  CUDA_ERROR_ASSERT = 710,
  CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
  CUDA_ERROR_MISALIGNED_ADDRESS = 716,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_STREAM_CAPTURE_MERGE = 902,
  CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = 903,
  CUDA_ERROR_STREAM_CAPTURE_UNJOINED = 904,
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905,
  CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906,
  CUDA_ERROR_CAPTURED_EVENT = 907,
  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD = 908,
  CUDA_ERROR_UNKNOWN = 999
} CUresult;

typedef enum CUdevice_attribute {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3,
  CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6,
  CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY = 9,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK = 12,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81,
  CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR = 82
} CUdevice_attribute;

typedef enum CUfunction_attribute {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES = 2,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_PTX_VERSION = 5,
  CU_FUNC_ATTRIBUTE_BINARY_VERSION = 6
} CUfunction_attribute;

typedef enum CUjit_option {
  CU_JIT_MAX_REGISTERS = 0,
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
} CUjit_option;

enum { CU_STREAM_DEFAULT = 0, CU_STREAM_NON_BLOCKING = 1 };
enum {
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2
};
typedef enum CUstreamCaptureMode {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2
} CUstreamCaptureMode;
typedef enum CUstreamCaptureStatus {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2
} CUstreamCaptureStatus;

// clang-format off
#define PASCALINE_CUDA_FUNCTIONS(X)                                                                        \
  X(init, cuInit, (unsigned flags))                                                                        \
  X(driverGetVersion, cuDriverGetVersion, (int *version))                                                  \
  X(getErrorName, cuGetErrorName, (CUresult error, const char **text))                                     \
  X(getErrorString, cuGetErrorString, (CUresult error, const char **text))                                 \
  X(deviceGetCount, cuDeviceGetCount, (int *count))                                                        \
  X(deviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                              \
  X(deviceGetName, cuDeviceGetName, (char *name, int length, CUdevice device))                             \
  X(deviceGetAttribute, cuDeviceGetAttribute, (int *value, CUdevice_attribute attribute, CUdevice device)) \
  X(devicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))              \
  X(devicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                              \
  X(ctxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                                              \
  X(ctxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context))                                              \
  X(memGetInfo, cuMemGetInfo_v2, (size_t * free, size_t * total))                                          \
  X(memAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                                        \
  X(memFree, cuMemFree_v2, (CUdeviceptr pointer))                                                          \
  X(memcpyHtoDAsync, cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream)) \
  X(memcpyDtoHAsync, cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream))    \
  X(memcpyDtoDAsync, cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
  X(memsetD8Async, cuMemsetD8Async, (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))  \
  X(moduleLoadDataEx, cuModuleLoadDataEx, (CUmodule * module, const void *image, unsigned count, CUjit_option *options, void **values)) \
  X(moduleUnload, cuModuleUnload, (CUmodule module))                                                       \
  X(moduleGetFunction, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char *name))    \
  X(funcGetAttribute, cuFuncGetAttribute, (int *value, CUfunction_attribute attribute, CUfunction function)) \
  X(launchKernel, cuLaunchKernel, (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters, void **extra)) \
  X(streamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                                     \
  X(streamDestroy, cuStreamDestroy_v2, (CUstream stream))                                                  \
  X(streamSynchronize, cuStreamSynchronize, (CUstream stream))                                             \
  X(streamWaitEvent, cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                  \
  X(eventCreate, cuEventCreate, (CUevent * event, unsigned flags))                                         \
  X(eventDestroy, cuEventDestroy_v2, (CUevent event))                                                      \
  X(eventRecord, cuEventRecord, (CUevent event, CUstream stream))                                          \
  X(eventSynchronize, cuEventSynchronize, (CUevent event))                                                 \
  X(eventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent start, CUevent end))

#define PASCALINE_CUDA_GRAPH_FUNCTIONS(X)                                                                  \
  X(streamBeginCapture, cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode))              \
  X(streamEndCapture, cuStreamEndCapture, (CUstream stream, CUgraph * graph))                              \
  X(streamIsCapturing, cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))             \
  X(threadExchangeCaptureMode, cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode))            \
  X(graphInstantiate, cuGraphInstantiateWithFlags, (CUgraphExec * executable, CUgraph graph, unsigned long long flags)) \
  X(graphLaunch, cuGraphLaunch, (CUgraphExec executable, CUstream stream))                                 \
  X(graphDestroy, cuGraphDestroy, (CUgraph graph))                                                         \
  X(graphExecDestroy, cuGraphExecDestroy, (CUgraphExec executable))
// clang-format on

#ifdef __cplusplus
} // extern "C"
#endif

#endif // PASCALINE_CUDA_DRIVER_H
