#include "runtime/emulator/driver/Capture.h"

#include <algorithm>
#include <thread>

namespace pascaline::emulator {

struct Capture {
  CUctx_st *context;
  CUstream_st *origin;
  CUstreamCaptureMode mode;
  std::thread::id thread;
  bool invalidated = false;
  std::vector<GraphNode> nodes;
  // All that take part; given back by finish().
  std::vector<std::shared_ptr<CUstream_st>> streams;
};

namespace {

// CU_STREAM_LEGACY is 1, the same stream as null.
bool isLegacy(CUstream stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 1;
}
constexpr uintptr_t kPerThread = 2;

// The interaction mode of cuThreadExchangeStreamCaptureMode.
thread_local CUstreamCaptureMode threadMode = CU_STREAM_CAPTURE_MODE_GLOBAL;

CUresult invalidate(Capture &capture, CUresult result, std::string sentence) {
  capture.invalidated = true;
  return fail(result, std::move(sentence));
}

CUresult invalidated() {
  return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
              "the stream's capture is invalid since an earlier call that is "
              "not allowed while capturing; end it");
}

// Driver::objects is held; null and the per-thread stream have no object.
std::shared_ptr<CUstream_st> find(CUstream stream) {
  Driver &driver = Driver::get();
  auto found = driver.streams.find(stream);
  return found == driver.streams.end() ? nullptr : found->second;
}

// Every capture that is going on, of any context.
template <class Visit> void forEachCapture(Visit visit) {
  Driver &driver = Driver::get();
  if (driver.captures)
    for (auto &[handle, stream] : driver.streams)
      if (stream->position.capture &&
          stream->position.capture->origin == handle)
        visit(*stream->position.capture);
}

// The legacy stream waits for blocking streams and they for it: that would be
// an edge from or to a capture which nobody asked for.
CUresult checkLegacy(const ContextRef &context) {
  CUresult result = CUDA_SUCCESS;
  Driver &driver = Driver::get();
  if (driver.captures)
    for (auto &[handle, stream] : driver.streams)
      if (stream->context == context.get() && stream->position.capture &&
          stream->flags != CU_STREAM_NON_BLOCKING)
        result = invalidate(*stream->position.capture,
                            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                            "the default stream would wait for a stream that "
                            "captures; create it with CU_STREAM_NON_BLOCKING, "
                            "or use another one here");
  return result;
}

void finish(Capture &capture) {
  --Driver::get().captures;
  auto streams = std::move(capture.streams); // hold the last references
  for (auto &stream : streams)
    if (stream->position.capture.get() == &capture)
      stream->position.after.clear();
  for (auto &stream : streams)
    if (stream->position.capture.get() == &capture)
      stream->position.capture = nullptr;
}

void join(std::vector<uint32_t> &after, const std::vector<uint32_t> &more) {
  after.insert(after.end(), more.begin(), more.end());
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
}

// Is all that the streams recorded before what the origin waits for?
bool isJoined(const Capture &capture) {
  std::vector<bool> reached(capture.nodes.size());
  for (uint32_t node : capture.origin->position.after)
    reached[node] = true;
  for (size_t node = reached.size(); node-- > 0;)
    if (reached[node])
      for (uint32_t before : capture.nodes[node].after)
        reached[before] = true;
  for (auto &stream : capture.streams)
    for (uint32_t node : stream->position.after)
      if (!reached[node])
        return false;
  return true;
}

} // namespace

CUresult beginWork(CUstream stream, const ContextRef &context, bool *captures) {
  *captures = false;
  if (CUresult result = checkStream(stream, context))
    return result;
  Driver &driver = Driver::get();
  if (!driver.captures)
    return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(driver.objects);
  if (isLegacy(stream))
    return checkLegacy(context);
  auto found = find(stream);
  if (!found || !found->position.capture)
    return CUDA_SUCCESS;
  *captures = true;
  return found->position.capture->invalidated ? invalidated() : CUDA_SUCCESS;
}

CUresult record(CUstream stream, const ContextRef &, GraphWork work) {
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  auto found = find(stream);
  if (!found || !found->position.capture)
    return invalidHandle("the stream"); // ended by another thread meanwhile
  Capture &capture = *found->position.capture;
  uint32_t node = uint32_t(capture.nodes.size());
  capture.nodes.push_back({std::move(work), found->position.after});
  found->position.after = {node};
  return CUDA_SUCCESS;
}

CUresult checkWait(CUstream stream, const ContextRef &context) {
  if (CUresult result = checkStream(stream, context))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  if (isLegacy(stream))
    return checkLegacy(context);
  auto found = find(stream);
  if (found && found->position.capture)
    return invalidate(*found->position.capture,
                      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                      "the stream captures: there is nothing to wait for");
  return CUDA_SUCCESS;
}

CUresult checkWait(const CUevent_st &event) {
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  if (!event.position.capture)
    return CUDA_SUCCESS;
  return invalidate(*event.position.capture, CUDA_ERROR_CAPTURED_EVENT,
                    "the event was last recorded while its stream captured: "
                    "it stands in a graph and for no moment");
}

CUresult checkWait(const ContextRef &context) {
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  CUresult result = CUDA_SUCCESS;
  forEachCapture([&](Capture &capture) {
    if (capture.context == context.get())
      result = invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                          "a stream of the context captures: there is nothing "
                          "to wait for");
  });
  return result;
}

CUresult checkUnsafe() {
  if (!Driver::get().captures || threadMode == CU_STREAM_CAPTURE_MODE_RELAXED)
    return CUDA_SUCCESS;
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  CUresult result = CUDA_SUCCESS;
  forEachCapture([&](Capture &capture) {
    bool own = capture.thread == std::this_thread::get_id();
    if (own ? capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED
            : capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
                  threadMode == CU_STREAM_CAPTURE_MODE_GLOBAL)
      result = invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                          "the call may wait for the device and is not allowed "
                          "while a stream captures in this mode");
  });
  return result;
}

CUresult captureRecord(CUevent_st &event, CUstream stream,
                       const ContextRef &context, bool *captures) {
  if (CUresult result = beginWork(stream, context, captures))
    return result;
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  auto found = *captures ? find(stream) : nullptr;
  event.position = found ? found->position : CapturePosition();
  return CUDA_SUCCESS;
}

CUresult captureWait(CUstream stream, const CUevent_st &event,
                     const ContextRef &context) {
  bool captures = false;
  if (CUresult result = beginWork(stream, context, &captures))
    return result;
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  const CapturePosition &from = event.position;
  auto found = find(stream);
  if (captures && found && found->position.capture) {
    Capture &capture = *found->position.capture;
    if (!from.capture) {
      if (!event.time)
        return CUDA_SUCCESS; // never recorded: nothing to wait for
      return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                        "the event was recorded outside the capture that is "
                        "to wait for it");
    }
    if (from.capture.get() != &capture) {
      from.capture->invalidated = true;
      return invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                        "the event belongs to another capture; two captures "
                        "cannot become one");
    }
    join(found->position.after, from.after);
    return CUDA_SUCCESS;
  }
  if (!from.capture)
    return CUDA_SUCCESS;
  if (from.capture->streams.empty()) // has ended
    return fail(CUDA_ERROR_CAPTURED_EVENT,
                "the event stands in a graph and for no moment");
  if (from.capture->invalidated)
    return invalidated();
  if (!found)
    return invalidate(*from.capture, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                      "a default stream cannot take part in a capture");
  // The fork of a capture into a further stream.
  from.capture->streams.push_back(found);
  found->position = from;
  return CUDA_SUCCESS;
}

void forgetCapture(CUstream_st &stream) {
  auto capture = stream.position.capture;
  if (capture && capture->origin == &stream) {
    capture->invalidated = true;
    finish(*capture);
  }
}

} // namespace pascaline::emulator

using namespace pascaline::emulator;

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkStream(stream, context))
    return result;
  if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return invalidValue("capture mode " + std::to_string(mode) +
                        " is not known");
  if (isLegacy(stream))
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                "the default stream cannot capture");
  if (reinterpret_cast<uintptr_t>(stream) == kPerThread)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "the emulator's per-thread stream cannot capture");
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = find(stream);
  if (!found)
    return invalidHandle("the stream");
  if (found->position.capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
  auto capture = std::make_shared<Capture>();
  capture->context = context.get();
  capture->origin = stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams = {found};
  found->position = {capture, {}};
  ++driver.captures;
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkStream(stream, context))
    return result;
  if (!graph)
    return invalidValue("graph is null");
  *graph = nullptr;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = find(stream);
  auto capture = found ? found->position.capture : nullptr;
  if (!capture)
    return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  if (capture->origin != stream)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                "the capture began in another stream, which has to end it");
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                "another thread began the capture, which has to end it unless "
                "it is CU_STREAM_CAPTURE_MODE_RELAXED");
  bool joined = isJoined(*capture);
  finish(*capture);
  if (capture->invalidated)
    return invalidated();
  capture->invalidated = true; // for events that still name it
  if (!joined)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                "a stream that joined the capture was not joined to the one "
                "that began it; record an event there and wait for it here");
  auto made = std::make_shared<CUgraph_st>();
  made->context = context.get();
  made->nodes =
      std::make_shared<std::vector<GraphNode>>(std::move(capture->nodes));
  driver.graphs[made.get()] = made;
  *graph = made.get();
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkStream(stream, context))
    return result;
  if (!status)
    return invalidValue("status is null");
  std::lock_guard<std::mutex> lock(Driver::get().objects);
  if (isLegacy(stream))
    if (CUresult result = checkLegacy(context))
      return result;
  auto found = find(stream);
  if (!found || !found->position.capture)
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
  else if (found->position.capture->invalidated)
    *status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  else
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL ||
      *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
    return invalidValue("the capture mode is null or not known");
  std::swap(*mode, threadMode);
  return CUDA_SUCCESS;
}
