// Memory.cpp - allocations, copies and fills.
//
// Every device range is checked against the live allocations before a byte is
// touched, so a wrong size or a freed pointer is CUDA_ERROR_INVALID_VALUE. So
// is a "host" pointer into the device's window that no allocation covers.
#include "runtime/emulator/driver/Capture.h"
#include "runtime/emulator/scheduler/Shadow.h"

#include <cstring>
#include <new>

using namespace pascaline::emulator;

namespace {

constexpr size_t kHostAlignment = 4096; // pinned memory comes in pages

CUresult badRange(uint64_t address, size_t bytes) {
  auto start = DeviceMemory::get().find(address, 0);
  std::string has =
      start ? "there are " +
                  std::to_string(start->address + start->bytes - address) +
                  " bytes left in its allocation of " +
                  std::to_string(start->bytes)
            : "its start is " + DeviceMemory::get().describe(address);
  return invalidValue("a range of " + std::to_string(bytes) +
                      " bytes is no device memory: " + has);
}

CUresult checkDeviceRange(uint64_t address, size_t bytes) {
  if (!DeviceMemory::get().find(address, bytes))
    return badRange(address, bytes);
  return CUDA_SUCCESS;
}

CUresult checkHostRange(const void *pointer, size_t bytes) {
  if (!pointer)
    return invalidValue("the host pointer is null");
  uint64_t address = reinterpret_cast<uint64_t>(pointer);
  if (address - DeviceMemory::get().windowBase() < kGlobalWindowBytes)
    return checkDeviceRange(address, bytes);
  return CUDA_SUCCESS;
}

enum class Side { Host, Device };

CUresult checkRange(Side side, uint64_t address, size_t bytes) {
  return side == Side::Device
             ? checkDeviceRange(address, bytes)
             : checkHostRange(reinterpret_cast<void *>(address), bytes);
}

CUresult copyNow(Side toSide, uint64_t to, Side fromSide, uint64_t from,
                 size_t bytes) {
  std::shared_lock<std::shared_mutex> lock(Driver::get().device);
  if (CUresult result = checkRange(toSide, to, bytes))
    return result;
  if (CUresult result = checkRange(fromSide, from, bytes))
    return result;
  std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
               bytes);
  Shadow::noteCopy(to, from, bytes);
  return CUDA_SUCCESS;
}

template <class T> CUresult setNow(CUdeviceptr to, T value, size_t count) {
  std::shared_lock<std::shared_mutex> lock(Driver::get().device);
  if (CUresult result = checkDeviceRange(to, count * sizeof(T)))
    return result;
  std::fill_n(reinterpret_cast<T *>(to), count, value);
  Shadow::noteDefined(to, count * sizeof(T));
  return CUDA_SUCCESS;
}

// Whether the caller waits for what it asks for, or a stream may record it.
enum class When { Now, InStream };

// What every copy and fill begins with.
CUresult begin(When when, CUstream stream, ContextRef *context, bool *captures,
               const char *call) {
  if (CUresult result = enter(context, call))
    return result;
  if (when == When::Now)
    if (CUresult result = checkUnsafe())
      return result;
  return beginWork(stream, *context, captures);
}

CUresult copy(When when, Side toSide, uint64_t to, Side fromSide, uint64_t from,
              size_t bytes, CUstream stream = nullptr,
              const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  bool captures;
  if (CUresult result = begin(when, stream, &context, &captures, call))
    return result;
  if (!bytes)
    return CUDA_SUCCESS;
  if (captures)
    return record(stream, context, [=](const ContextRef &) {
      return copyNow(toSide, to, fromSide, from, bytes);
    });
  return copyNow(toSide, to, fromSide, from, bytes);
}

template <class T>
CUresult set(When when, CUdeviceptr to, T value, size_t count,
             CUstream stream = nullptr,
             const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  bool captures;
  if (CUresult result = begin(when, stream, &context, &captures, call))
    return result;
  if (!count)
    return CUDA_SUCCESS;
  if (to % sizeof(T))
    return invalidValue("the address to fill is not a multiple of " +
                        std::to_string(sizeof(T)));
  if (count > SIZE_MAX / sizeof(T))
    return invalidValue("the range to fill has no size in 64 bits");
  if (captures)
    return record(stream, context,
                  [=](const ContextRef &) { return setNow(to, value, count); });
  return setNow(to, value, count);
}

uint64_t number(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

} // namespace

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (free)
    *free = DeviceMemory::get().freeBytes();
  if (total)
    *total = DeviceMemory::get().totalBytes();
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  if (!pointer || !bytes)
    return invalidValue("an allocation of 0 bytes, or nowhere to say where");
  uint64_t address = 0;
  DeviceMemory &memory = DeviceMemory::get();
  if (memory.allocate(bytes, context.get(), &address) != AllocationStatus::Done)
    return fail(
        CUDA_ERROR_OUT_OF_MEMORY,
        "an allocation of " + std::to_string(bytes) +
            " bytes does not fit: " + std::to_string(memory.freeBytes()) +
            " of " + std::to_string(memory.totalBytes()) +
            " bytes are free (PASCALINE_EMULATOR_MEMORY sets the "
            "emulated device's memory)");
  if (memory.poisons())
    std::memset(reinterpret_cast<void *>(address), kPoison, bytes);
  *pointer = address;
  return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  std::unique_lock<std::shared_mutex> alone(Driver::get().device);
  // A module's variables are allocations too, but the module's to free.
  auto found = DeviceMemory::get().find(pointer, 0);
  if (!found || found->address != pointer || found->owner != context.get() ||
      !DeviceMemory::get().release(pointer))
    return invalidValue("the pointer to free is no allocation of this context");
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes,
                                 CUdeviceptr pointer) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  auto found = DeviceMemory::get().find(pointer, 1);
  if (!found)
    return fail(CUDA_ERROR_NOT_FOUND, "the pointer is in no allocation");
  if (base)
    *base = found->address;
  if (bytes)
    *bytes = found->bytes;
  return CUDA_SUCCESS;
}

namespace {

CUresult allocateHost(void **memory, size_t bytes,
                      const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  if (!memory || !bytes)
    return invalidValue("an allocation of 0 bytes, or nowhere to say where");
  void *allocated =
      ::operator new(bytes, std::align_val_t(kHostAlignment), std::nothrow);
  if (!allocated)
    return fail(CUDA_ERROR_OUT_OF_MEMORY,
                "the host has no " + std::to_string(bytes) + " bytes");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.hostMemory.insert(allocated);
  *memory = allocated;
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  return allocateHost(memory, bytes);
}

CUresult cuMemAllocHost_v2(void **memory, size_t bytes) {
  return allocateHost(memory, bytes);
}

CUresult cuMemFreeHost(void *memory) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  Driver &driver = Driver::get();
  {
    std::lock_guard<std::mutex> lock(driver.objects);
    if (!driver.hostMemory.erase(memory))
      return invalidValue("the pointer to free is no pinned host memory");
  }
  ::operator delete(memory, std::align_val_t(kHostAlignment));
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copy(When::Now, Side::Device, to, Side::Host, number(from), bytes);
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copy(When::Now, Side::Host, number(to), Side::Device, from, bytes);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(When::Now, Side::Device, to, Side::Device, from, bytes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream stream) {
  return copy(When::InStream, Side::Device, to, Side::Host, number(from), bytes,
              stream);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return copy(When::InStream, Side::Host, number(to), Side::Device, from, bytes,
              stream);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream stream) {
  return copy(When::InStream, Side::Device, to, Side::Device, from, bytes,
              stream);
}

// Unified addressing: the address says which side it is on.
CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return copy(When::Now, Side::Host, to, Side::Host, from, bytes);
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                       CUstream stream) {
  return copy(When::InStream, Side::Host, to, Side::Host, from, bytes, stream);
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return set(When::Now, to, value, count);
}

CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return set(When::Now, to, value, count);
}

CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return set(When::Now, to, value, count);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
                         CUstream stream) {
  return set(When::InStream, to, value, count, stream);
}

CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
                          CUstream stream) {
  return set(When::InStream, to, value, count, stream);
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count,
                          CUstream stream) {
  return set(When::InStream, to, value, count, stream);
}
