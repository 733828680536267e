// Session.h - the memory and the stream of one run at a time.
//
// Test: test/runtime/RunTest.cpp
#pragma once

#include "runtime/src/Graphs.h"
#include "runtime/src/Model.h"
#include "runtime/src/Stream.h"

#include "pascaline/pascaline.h"

#include <deque>
#include <vector>

namespace pascaline::runtime {

struct Timing {
  double total = 0;           // microseconds
  double *launches = nullptr; // one a launch, or null: not wanted
  // What each launch counted, one behind the other; only with `launches`.
  std::vector<uint64_t> *counters = nullptr;
};

// What a session takes on the device, in this order.
struct SessionLayout {
  uint64_t counterBytes, arenaBytes, stagingBytes;
  uint64_t lowerBoundBytes, onnxOrderBytes; // of the arena
  uint64_t total() const {
    return aligned(counterBytes) + aligned(arenaBytes) + stagingBytes;
  }
};
SessionLayout layoutOf(const Program &program);
// Of each the most that any of the plan's programs needs.
SessionLayout sessionLayout(const Plan &plan);

class Session {
public:
  static std::unique_ptr<Session>
  open(std::shared_ptr<const Model> model,
       const pascaline_session_options &options);
  // In the context of the model's device.
  Session(std::shared_ptr<const Model> model,
          const pascaline_session_options &options);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session();

  // Runs are of this program of the plan from now on.
  void use(size_t program) { active = &variants[program]; }
  const Program &program() const { return *active->program; }

  // Runs and waits; timing may be null.
  void run(const pascaline_buffer *inputs, size_t inputCount,
           const pascaline_buffer *outputs, size_t outputCount, Timing *timing);
  // Runs and waits. The values are this session's.
  pascaline_counters runCounted(const pascaline_buffer *inputs,
                                size_t inputCount,
                                const pascaline_buffer *outputs,
                                size_t outputCount);
  void runAsync(const pascaline_buffer *inputs, size_t inputCount,
                const pascaline_buffer *outputs, size_t outputCount,
                CUstream on);

  const std::shared_ptr<const Model> model;

private:
  // What is a shape set's own. Memory is shared: runs follow one another.
  struct Variant {
    Variant(const Model &model, const Program &program, CUdeviceptr staging,
            bool wantsGraphs);
    const Program *program;
    // Where inputs and outputs are that the caller has elsewhere.
    std::vector<CUdeviceptr> inputStaging, outputStaging;
    Graphs graphs;
  };

  const Device &device() const { return *model->device; }
  const Plan &plan() const { return model->plan(); }
  void checkArguments(const pascaline_buffer *given, size_t count,
                      const std::vector<Tensor> &tensors,
                      const char *what) const;
  void enqueueOrWait(const pascaline_buffer *inputs,
                     const pascaline_buffer *outputs, CUstream on,
                     Timing *timing);
  void enqueue(const pascaline_buffer *inputs, const pascaline_buffer *outputs,
               CUstream on, Timing *timing);
  void enqueueInto(const pascaline_buffer *inputs,
                   const pascaline_buffer *outputs, CUstream captured);
  void clearCounters(CUstream on);
  void waitForLastRun();
  void bindInputs(const pascaline_buffer *inputs, CUstream on);
  void bindOutputs(const pascaline_buffer *outputs);
  void launchAll(CUstream on);
  void launchTimed(CUstream on, Timing &timing);
  void record(size_t timer, CUstream on);
  void copyOutputs(const pascaline_buffer *outputs, CUstream on);
  void readTimes(Timing &timing);
  void readCounters(std::vector<uint64_t> &values);

  bool countersClean = false; // not so after a run that failed
  bool underWay = false;      // `done` was recorded and not waited for

  const SessionLayout layout;
  DeviceMemory memory;
  Bases bases;
  // What launches of the present run use: of the inputs, then of the outputs.
  std::vector<CUdeviceptr> addresses;
  ParameterBlock parameters;
  std::vector<uint64_t> counterValues;
  std::deque<Variant> variants; // one a program of the plan
  Variant *active;
  std::vector<Event> timers;
  Event done;
  // Last, so that it is waited for before anything else goes.
  Stream stream;
};

} // namespace pascaline::runtime
