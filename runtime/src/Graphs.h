// Graphs.h - a session's launches, captured once and put onto a stream by one
// call of the driver from then on.
//
// What a graph's launches are given is fixed when it is captured, so there is
// one for each set of addresses that runs come back with, up to kMost of them:
// the second run with a set captures it, because most of what is run once is
// not run again. Where the driver has no graphs or refuses a step, the device's
// log is told once and the launches are made one by one: same kernels, same
// bits. Copies from and to the host stay outside, so host pointers may change.
//
// Test: test/runtime/GraphTest.cpp
#pragma once

#include "runtime/src/Stream.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace pascaline::runtime {

// Destroyed with its owner, in the context of a device that outlives it.
class ExecutableGraph {
public:
  ExecutableGraph(const Device &device, CUgraphExec graph)
      : device(&device), graph(graph) {}
  ExecutableGraph(ExecutableGraph &&other) noexcept
      : device(other.device), graph(other.graph) {
    other.graph = nullptr;
  }
  ExecutableGraph &operator=(ExecutableGraph &&other) noexcept {
    std::swap(device, other.device);
    std::swap(graph, other.graph);
    return *this;
  }
  ~ExecutableGraph();
  CUgraphExec get() const { return graph; }

private:
  const Device *device;
  CUgraphExec graph;
};

class Graphs {
public:
  static constexpr size_t kMost = 4;

  // `model` is its name, for the log. Without `wanted`, nothing is captured.
  Graphs(const Device &device, const char *model, bool wanted);

  // Puts on `on`, which does not capture, what `launch` puts onto the stream
  // it is given. `addresses` are all that tells one run's launches from
  // another's. Throws what `launch` throws.
  using Launch = std::function<void(CUstream)>;
  void run(const std::vector<CUdeviceptr> &addresses, CUstream on,
           const Launch &launch);

private:
  struct Entry {
    std::vector<CUdeviceptr> addresses;
    std::optional<ExecutableGraph> graph;
    uint64_t lastUse = 0;
  };

  // The addresses' entry, and whether it was there.
  Entry &find(const std::vector<CUdeviceptr> &addresses, bool *known);
  std::optional<ExecutableGraph> capture(const Launch &launch);
  void giveUp(const std::string &reason);

  const Device &device;
  const char *model;
  bool wanted;
  uint64_t uses = 0;
  std::vector<Entry> entries;
  // Of its own: a capture that could not be ended stays on no other stream.
  std::optional<Stream> stream;
};

// Whether `stream` is being captured by its owner. In the current context.
bool isCapturing(const Device &device, CUstream stream);

// Lets this thread wait for what is on other streams while one is captured.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Device &device) : device(device) { exchange(); }
  RelaxedCapture(const RelaxedCapture &) = delete;
  ~RelaxedCapture() { exchange(); }

private:
  void exchange() { device.call().threadExchangeCaptureMode(&mode); }
  const Device &device;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
};

} // namespace pascaline::runtime
