// Graphs.cpp - see Graphs.h.
#include "runtime/src/Graphs.h"

#include "runtime/src/Error.h"

#include <algorithm>

namespace pascaline::runtime {

ExecutableGraph::~ExecutableGraph() {
  if (!graph)
    return;
  ContextScope scope(*device, ContextScope::quiet);
  device->call().graphExecDestroy(graph);
}

Graphs::Graphs(const Device &device, const char *model, bool wanted)
    : device(device), model(model), wanted(wanted) {
  if (wanted && !device.call().graphs)
    giveUp("the driver has no graphs; CUDA 11.4 and later have");
}

void Graphs::run(const std::vector<CUdeviceptr> &addresses, CUstream on,
                 const Launch &launch) {
  if (!wanted)
    return launch(on);
  bool known;
  Entry &entry = find(addresses, &known);
  if (known && !entry.graph)
    entry.graph = capture(launch);
  if (!entry.graph)
    return launch(on);
  CUresult result = device.call().graphLaunch(entry.graph->get(), on);
  if (result != CUDA_SUCCESS)
    device.failed(result, format("launching the graph of model %s", model));
}

Graphs::Entry &Graphs::find(const std::vector<CUdeviceptr> &addresses,
                            bool *known) {
  auto found =
      std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) {
        return entry.addresses == addresses;
      });
  *known = found != entries.end();
  if (!*known && entries.size() < kMost) {
    entries.push_back({addresses, {}, 0});
    found = entries.end() - 1;
  } else if (!*known) {
    found = std::min_element(
        entries.begin(), entries.end(),
        [](const Entry &a, const Entry &b) { return a.lastUse < b.lastUse; });
    *found = {addresses, {}, 0};
  }
  found->lastUse = ++uses;
  return *found;
}

std::optional<ExecutableGraph> Graphs::capture(const Launch &launch) {
  const DriverTable &call = device.call();
  std::string reason;
  // Says what went wrong first.
  auto good = [&](CUresult result, const char *doing) {
    if (result != CUDA_SUCCESS && reason.empty())
      reason = format("%s gives %s", doing,
                      device.driver->errorText(result).c_str());
    return result == CUDA_SUCCESS;
  };
  CUgraph graph = nullptr;
  std::optional<ExecutableGraph> result;
  try {
    if (!stream)
      stream.emplace(device);
    // Relaxed: it holds up no call of any thread.
    if (good(call.streamBeginCapture(stream->get(),
                                     CU_STREAM_CAPTURE_MODE_RELAXED),
             "beginning a capture")) {
      try {
        launch(stream->get());
      } catch (const std::exception &error) {
        reason = error.what();
      }
      good(call.streamEndCapture(stream->get(), &graph), "ending a capture");
    }
  } catch (const Error &error) {
    reason = error.what();
  }
  CUgraphExec executable = nullptr;
  if (reason.empty() && good(call.graphInstantiate(&executable, graph, 0),
                             "instantiating a graph"))
    result.emplace(device, executable);
  if (graph)
    call.graphDestroy(graph);
  if (result)
    device.log(format("model %s: its launches are captured as a graph", model));
  else
    giveUp(reason);
  return result;
}

// Entries stay: the caller holds one.
void Graphs::giveUp(const std::string &reason) {
  wanted = false;
  stream.reset();
  device.log(format("model %s: its launches are made one by one, without a "
                    "graph: %s",
                    model, reason.c_str()));
}

bool isCapturing(const Device &device, CUstream stream) {
  if (!device.call().graphs)
    return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  device.check(device.call().streamIsCapturing(stream, &status),
               "asking whether the stream captures");
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

} // namespace pascaline::runtime
