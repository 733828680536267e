// Context.cpp - contexts, the primary one among them, and who is current.
#include "runtime/emulator/driver/Capture.h"

using namespace pascaline::emulator;

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!context)
    return invalidValue("context is null");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  Driver::Primary &primary = driver.primaries[device];
  if (!primary.context) {
    primary.context = std::make_shared<CUctx_st>();
    primary.context->device = device;
    primary.context->flags = primary.flags;
    driver.contexts[primary.context.get()] = primary.context;
  }
  ++primary.count;
  *context = primary.context.get();
  return CUDA_SUCCESS;
}

namespace {

// Takes the device's primary context away when `last` says so.
template <class Last> CUresult endPrimary(CUdevice device, Last last) {
  Driver &driver = Driver::get();
  std::unique_lock<std::shared_mutex> alone(driver.device);
  ContextRef ended;
  {
    std::lock_guard<std::mutex> lock(driver.objects);
    Driver::Primary &primary = driver.primaries[device];
    if (!last(primary))
      return CUDA_SUCCESS;
    ended = std::move(primary.context);
    primary.context = nullptr;
  }
  if (ended)
    destroyContext(ended);
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  bool retained = true;
  endPrimary(device, [&](Driver::Primary &primary) {
    retained = primary.count > 0;
    return retained && --primary.count == 0;
  });
  return retained ? CUDA_SUCCESS
                  : fail(CUDA_ERROR_INVALID_CONTEXT,
                         "the primary context is released more often than it "
                         "was retained");
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  // As documented, the count of retains stays; the next retain starts anew.
  return endPrimary(device, [](Driver::Primary &) { return true; });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags,
                                    int *active) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!flags || !active)
    return invalidValue("flags or active is null");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  *flags = driver.primaries[device].flags;
  *active = driver.primaries[device].context != nullptr;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags) {
  if (CUresult result = checkDevice(device))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.primaries[device].flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device) {
  if (CUresult result = checkDevice(device))
    return result;
  if (!context)
    return invalidValue("context is null");
  auto created = std::make_shared<CUctx_st>();
  created->device = device;
  created->flags = flags;
  Driver &driver = Driver::get();
  {
    std::lock_guard<std::mutex> lock(driver.objects);
    driver.contexts[created.get()] = created;
  }
  contextStack().push_back(created.get());
  *context = created.get();
  return CUDA_SUCCESS;
}

CUresult cuCtxDestroy_v2(CUcontext context) {
  Driver &driver = Driver::get();
  ContextRef found = driver.find(driver.contexts, context);
  if (!found)
    return fail(CUDA_ERROR_INVALID_CONTEXT, "the context does not exist");
  {
    std::lock_guard<std::mutex> lock(driver.objects);
    if (found == driver.primaries[found->device].context)
      return fail(CUDA_ERROR_INVALID_CONTEXT,
                  "the primary context is released, not destroyed");
  }
  std::unique_lock<std::shared_mutex> alone(driver.device);
  destroyContext(found);
  if (!contextStack().empty() && contextStack().back() == context)
    contextStack().pop_back();
  return CUDA_SUCCESS;
}

namespace {

CUresult checkContext(CUcontext context) {
  Driver &driver = Driver::get();
  if (!driver.initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  if (!driver.find(driver.contexts, context))
    return fail(CUDA_ERROR_INVALID_CONTEXT, "the context does not exist");
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (CUresult result = checkContext(context))
    return result;
  contextStack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  if (!Driver::get().initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  if (contextStack().empty())
    return fail(CUDA_ERROR_INVALID_CONTEXT,
                "no context is current on this thread");
  if (context)
    *context = contextStack().back();
  contextStack().pop_back();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext context) {
  if (context)
    if (CUresult result = checkContext(context))
      return result;
  if (!contextStack().empty())
    contextStack().pop_back();
  if (context)
    contextStack().push_back(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *context) {
  if (!Driver::get().initialized)
    return fail(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called");
  if (!context)
    return invalidValue("context is null");
  *context = contextStack().empty() ? nullptr : contextStack().back();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *device) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (!device)
    return invalidValue("device is null");
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext context, unsigned *version) {
  if (context)
    if (CUresult result = checkContext(context))
      return result;
  if (!version)
    return invalidValue("version is null");
  *version = 3020; // of the _v2 functions
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize(void) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  return checkWait(context);
}
