// Streams.cpp - streams and events. Work is done by the call that asks for it
// (Objects.h), so nothing is ever pending and waiting only checks its handles.
#include "runtime/emulator/driver/Capture.h"

using namespace pascaline::emulator;

namespace {

constexpr unsigned kEventInterprocess = 4;
constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | kEventInterprocess;

// To wait for the stream.
CUresult enterWith(CUstream stream, const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  return checkWait(stream, context);
}

CUresult enterWith(CUevent event, ContextRef *context,
                   std::shared_ptr<CUevent_st> *found,
                   const char *call = __builtin_FUNCTION()) {
  if (CUresult result = enter(context, call))
    return result;
  Driver &driver = Driver::get();
  *found = driver.find(driver.events, event);
  return *found ? CUDA_SUCCESS : invalidHandle("the event");
}

} // namespace

namespace {

CUresult createStream(CUstream *stream, unsigned flags,
                      const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
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

} // namespace

CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  return createStream(stream, flags);
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int) {
  return createStream(stream, flags);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.streams.find(stream);
  if (found == driver.streams.end())
    return invalidHandle("the stream");
  forgetCapture(*found->second);
  driver.streams.erase(found);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream stream) { return enterWith(stream); }

CUresult cuStreamQuery(CUstream stream) { return enterWith(stream); }

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  ContextRef context;
  std::shared_ptr<CUevent_st> found;
  if (CUresult result = enterWith(event, &context, &found))
    return result;
  if (flags > 1) // 1: an external event, in captures
    return invalidValue("cuStreamWaitEvent flags " + std::to_string(flags) +
                        " are not known");
  return captureWait(stream, *found, context);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *userData) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (!function)
    return invalidValue("the host function is null");
  bool captures;
  if (CUresult result = beginWork(stream, context, &captures))
    return result;
  if (captures)
    return record(stream, context, [function, userData](const ContextRef &) {
      function(userData);
      return CUDA_SUCCESS;
    });
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
  if (found->context != context.get())
    return invalidHandle("the event");
  bool captures;
  if (CUresult result = captureRecord(*found, stream, context, &captures))
    return result;
  if (captures)
    return CUDA_SUCCESS;
  found->time = std::chrono::duration_cast<std::chrono::nanoseconds>(
                    std::chrono::steady_clock::now().time_since_epoch())
                    .count();
  return CUDA_SUCCESS;
}

namespace {

CUresult waitFor(CUevent event, const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  std::shared_ptr<CUevent_st> found;
  if (CUresult result = enterWith(event, &context, &found, call))
    return result;
  return checkWait(*found);
}

} // namespace

CUresult cuEventSynchronize(CUevent event) { return waitFor(event); }

CUresult cuEventQuery(CUevent event) { return waitFor(event); }

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  ContextRef context;
  std::shared_ptr<CUevent_st> first, last;
  if (CUresult result = enterWith(start, &context, &first))
    return result;
  Driver &driver = Driver::get();
  last = driver.find(driver.events, end);
  if (!last)
    return invalidHandle("the event");
  for (auto &event : {first, last})
    if (CUresult result = checkWait(*event))
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
