// Api.h - declares every function that the emulator exports.
//
// The functions that Pascaline's runtime calls are declared from the lists in
// cuda_driver.h, so a definition whose signature differs does not compile.
// The list below adds what other programs commonly call. Everything else has
// hidden visibility; exports.map makes sure of it.
//
// Those whose names begin with pascaline are ours: see
// runtime/driver/emulator.h.
#pragma once

#include "runtime/driver/emulator.h"

typedef uint64_t cuuint64_t;
typedef int CUdriverProcAddressQueryResult;
typedef int CUfunc_cache;
typedef struct CUgraphNode_st *CUgraphNode;
typedef void (*CUhostFn)(void *userData);
typedef size_t (*CUoccupancyB2DSize)(int threads);
struct CUuuid {
  char bytes[16];
};
typedef unsigned long long CUtexObject;
typedef struct CUtexref_st *CUtexref;
typedef int CUarray_format;
struct CUDA_RESOURCE_DESC {
  int resType;
  union {
    struct {
      CUdeviceptr devPtr;
      CUarray_format format;
      unsigned numChannels;
      size_t sizeInBytes;
    } linear;
    int reserved[32];
  } res;
  unsigned flags;
};
struct CUDA_TEXTURE_DESC {
  int addressMode[3];
  int filterMode;
  unsigned flags;
  unsigned maxAnisotropy;
  int mipmapFilterMode;
  float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
  float borderColor[4];
  int reserved[12];
};
struct CUDA_RESOURCE_VIEW_DESC; // for arrays, which there are none of

// clang-format off
#define PASCALINE_EMULATOR_MORE_FUNCTIONS(X) \
  X(cuDeviceComputeCapability, (int *major, int *minor, CUdevice device)) \
  X(cuDeviceGetUuid_v2, (CUuuid *uuid, CUdevice device)) \
  X(cuDeviceTotalMem_v2, (size_t *bytes, CUdevice device)) \
  X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned *flags, int *active)) \
  X(cuDevicePrimaryCtxReset_v2, (CUdevice device)) \
  X(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags)) \
  X(cuCtxCreate_v2, (CUcontext *context, unsigned flags, CUdevice device)) \
  X(cuCtxDestroy_v2, (CUcontext context)) \
  X(cuCtxSetCurrent, (CUcontext context)) \
  X(cuCtxGetCurrent, (CUcontext *context)) \
  X(cuCtxSynchronize, (void)) \
  X(cuCtxGetDevice, (CUdevice *device)) \
  X(cuCtxGetApiVersion, (CUcontext context, unsigned *version)) \
  X(cuMemAllocHost_v2, (void **memory, size_t bytes)) \
  X(cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags)) \
  X(cuMemFreeHost, (void *memory)) \
  X(cuMemGetAddressRange_v2, (CUdeviceptr *base, size_t *bytes, CUdeviceptr pointer)) \
  X(cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
  X(cuMemcpyAsync, (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)) \
  X(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes)) \
  X(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes)) \
  X(cuMemcpyDtoD_v2, (CUdeviceptr to, CUdeviceptr from, size_t bytes)) \
  X(cuMemsetD8_v2, (CUdeviceptr to, unsigned char value, size_t count)) \
  X(cuMemsetD16_v2, (CUdeviceptr to, unsigned short value, size_t count)) \
  X(cuMemsetD32_v2, (CUdeviceptr to, unsigned value, size_t count)) \
  X(cuMemsetD16Async, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream)) \
  X(cuMemsetD32Async, (CUdeviceptr to, unsigned value, size_t count, CUstream stream)) \
  X(cuModuleLoad, (CUmodule *module, const char *file)) \
  X(cuModuleLoadData, (CUmodule *module, const void *image)) \
  X(cuModuleLoadFatBinary, (CUmodule *module, const void *image)) \
  X(cuModuleGetGlobal_v2, (CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name)) \
  X(cuModuleGetTexRef, (CUtexref *reference, CUmodule module, const char *name)) \
  X(cuTexRefSetAddress_v2, (size_t *offset, CUtexref reference, CUdeviceptr address, size_t bytes)) \
  X(cuTexRefSetFormat, (CUtexref reference, CUarray_format format, int channels)) \
  X(cuTexRefSetFlags, (CUtexref reference, unsigned flags)) \
  X(cuTexObjectCreate, (CUtexObject *texture, const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *description, const CUDA_RESOURCE_VIEW_DESC *view)) \
  X(cuTexObjectDestroy, (CUtexObject texture)) \
  X(cuTexObjectGetResourceDesc, (CUDA_RESOURCE_DESC *resource, CUtexObject texture)) \
  X(cuFuncSetAttribute, (CUfunction function, CUfunction_attribute attribute, int value)) \
  X(cuFuncSetCacheConfig, (CUfunction function, CUfunc_cache config)) \
  X(cuLaunchHostFunc, (CUstream stream, CUhostFn function, void *userData)) \
  X(cuStreamCreateWithPriority, (CUstream *stream, unsigned flags, int priority)) \
  X(cuStreamQuery, (CUstream stream)) \
  X(cuEventQuery, (CUevent event)) \
  X(cuGraphInstantiate_v2, (CUgraphExec *executable, CUgraph graph, CUgraphNode *errorNode, char *log, size_t logBytes)) \
  X(cuGraphUpload, (CUgraphExec executable, CUstream stream)) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *blocks, CUfunction function, int threads, size_t dynamicShared)) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, (int *blocks, CUfunction function, int threads, size_t dynamicShared, unsigned flags)) \
  X(cuOccupancyMaxPotentialBlockSize, (int *grid, int *block, CUfunction function, CUoccupancyB2DSize sharedOf, size_t dynamicShared, int limit)) \
  X(cuOccupancyMaxPotentialBlockSizeWithFlags, (int *grid, int *block, CUfunction function, CUoccupancyB2DSize sharedOf, size_t dynamicShared, int limit, unsigned flags)) \
  X(cuGetProcAddress, (const char *symbol, void **function, int version, cuuint64_t flags)) \
  X(cuGetProcAddress_v2, (const char *symbol, void **function, int version, cuuint64_t flags, CUdriverProcAddressQueryResult *result))
// clang-format on

#define PASCALINE_EXPORT __attribute__((visibility("default")))

extern "C" {
#define DECLARE(name, symbol, parameters)                                      \
  PASCALINE_EXPORT CUresult symbol parameters;
PASCALINE_CUDA_FUNCTIONS(DECLARE)
PASCALINE_CUDA_GRAPH_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(symbol, parameters) PASCALINE_EXPORT CUresult symbol parameters;
PASCALINE_EMULATOR_MORE_FUNCTIONS(DECLARE)
#undef DECLARE
PASCALINE_EXPORT pascalineEmulatorLastErrorFunction pascalineEmulatorLastError;
PASCALINE_EXPORT pascalineEmulatorSetCountingFunction
    pascalineEmulatorSetCounting;
PASCALINE_EXPORT pascalineEmulatorCountersFunction pascalineEmulatorCounters;
}
