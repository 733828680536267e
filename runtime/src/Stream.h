// Stream.h - a stream and an event of the driver, destroyed with their owner.
// Made in the current context of a device that outlives them.
#pragma once

#include "runtime/src/Device.h"

namespace pascaline::runtime {

class Stream {
public:
  explicit Stream(const Device &device) : device(device) {
    device.check(device.call().streamCreate(&stream, CU_STREAM_NON_BLOCKING),
                 "making a stream");
  }
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;
  // Waits first: what was put on the stream may use memory that is freed next.
  ~Stream() {
    ContextScope scope(device, ContextScope::quiet);
    device.call().streamSynchronize(stream);
    device.call().streamDestroy(stream);
  }
  CUstream get() const { return stream; }

private:
  const Device &device;
  CUstream stream = nullptr;
};

class Event {
public:
  Event(const Device &device, unsigned flags) : device(&device) {
    device.check(device.call().eventCreate(&event, flags), "making an event");
  }
  Event(Event &&other) noexcept : device(other.device), event(other.event) {
    other.event = nullptr;
  }
  Event &operator=(Event &&) = delete;
  ~Event() {
    if (!event)
      return;
    ContextScope scope(*device, ContextScope::quiet);
    device->call().eventDestroy(event);
  }
  CUevent get() const { return event; }

private:
  const Device *device;
  CUevent event = nullptr;
};

} // namespace pascaline::runtime
