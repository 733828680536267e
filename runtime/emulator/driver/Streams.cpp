// Streams.cpp - streams and events. Work is done by the call that asks for it
// (Objects.h), so nothing is ever pending and waiting only checks its handles.
#include "runtime/emulator/driver/Objects.h"

using namespace pascaline::emulator;

namespace {

constexpr unsigned kEventInterprocess = 4;
constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | kEventInterprocess;

CUresult enterWith(CUstream stream, ContextRef *context) {
  if (CUresult result = enter(context))
    return result;
  return checkStream(stream, *context);
}

CUresult enterWith(CUevent event, ContextRef *context,
                   std::shared_ptr<CUevent_st> *found) {
  if (CUresult result = enter(context))
    return result;
  Driver &driver = Driver::get();
  *found = driver.find(driver.events, event);
  return *found ? CUDA_SUCCESS : invalidHandle("the event");
}

} // namespace

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (!stream || flags > CU_STREAM_NON_BLOCKING)
    return invalidValue("stream flags " + std::to_string(flags) +
                        " are not known, or stream is null");
  auto created = std::make_shared<CUstream_st>();
  created->context = context.get();
  created->flags = flags;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.streams[created.get()] = created;
  *stream = created.get();
  return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  return cuStreamCreate(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  if (!driver.streams.erase(stream))
    return invalidHandle("the stream");
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) {
  ContextRef context;
  return enterWith(stream, &context);
}

CUresult cuStreamQuery(CUstream stream) {
  ContextRef context;
  return enterWith(stream, &context);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  ContextRef context;
  std::shared_ptr<CUevent_st> found;
  if (CUresult result = enterWith(event, &context, &found))
    return result;
  if (flags > 1) // 1: an external event, in captures
    return invalidValue("cuStreamWaitEvent flags " + std::to_string(flags) +
                        " are not known");
  return checkStream(stream, context);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
  ContextRef context;
  if (CUresult result = enterWith(stream, &context))
    return result;
  if (!function)
    return invalidValue("the host function is null");
  function(userData);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *event, unsigned flags) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (!event || flags & ~kEventFlags)
    return invalidValue("event flags " + std::to_string(flags) +
                        " are not known, or event is null");
  if (flags & kEventInterprocess)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "the emulator has no events between processes");
  auto created = std::make_shared<CUevent_st>();
  created->context = context.get();
  created->flags = flags;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.events[created.get()] = created;
  *event = created.get();
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent event) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  if (!driver.events.erase(event))
    return invalidHandle("the event");
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  ContextRef context;
  std::shared_ptr<CUevent_st> found;
  if (CUresult result = enterWith(event, &context, &found))
    return result;
  if (CUresult result = checkStream(stream, context))
    return result;
  if (found->context != context.get())
    return invalidHandle("the event");
  found->time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count();
  return CUDA_SUCCESS;
}

CUresult cuEventSynchronize(CUevent event) {
  ContextRef context;
  std::shared_ptr<CUevent_st> found;
  return enterWith(event, &context, &found);
}

CUresult cuEventQuery(CUevent event) { return cuEventSynchronize(event); }

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  ContextRef context;
  std::shared_ptr<CUevent_st> first, last;
  if (CUresult result = enterWith(start, &context, &first))
    return result;
  if (CUresult result = enterWith(end, &context, &last))
    return result;
  if (!milliseconds)
    return invalidValue("milliseconds is null");
  for (auto &event : {first, last})
    if (!event->time || event->flags & CU_EVENT_DISABLE_TIMING)
      return fail(CUDA_ERROR_INVALID_HANDLE,
                  "an event has no time: it was not recorded, or created with "
                  "CU_EVENT_DISABLE_TIMING");
  *milliseconds = float((last->time - first->time) * 1e-6);
  return CUDA_SUCCESS;
}
