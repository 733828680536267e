// Session.cpp - see Session.h.
#include "runtime/src/Session.h"

#include "runtime/src/Error.h"

#include <cstring>

namespace pascaline::runtime {

using artifact::BufferKind;

namespace {

CUdeviceptr deviceAddress(const pascaline_buffer &buffer) {
  return CUdeviceptr(reinterpret_cast<uintptr_t>(buffer.data));
}

// Whether launches may use the caller's memory itself.
bool usable(const pascaline_buffer &buffer) {
  return buffer.place == PASCALINE_ON_DEVICE &&
         deviceAddress(buffer) % artifact::kBufferAlignment == 0;
}

// What a C caller wrote as a place. To read a value that the enum lacks as the
// enum is undefined in C++.
int placeGiven(const pascaline_buffer &buffer) {
  int value;
  static_assert(sizeof(value) == sizeof(buffer.place));
  std::memcpy(&value, &buffer.place, sizeof(value));
  return value;
}

} // namespace

std::unique_ptr<Session>
Session::open(std::shared_ptr<const Model> model,
              const pascaline_session_options &options) {
  ContextScope scope(*model->device);
  return std::make_unique<Session>(std::move(model), options);
}

SessionLayout layoutOf(const Program &program) {
  return {program.counterBytes, program.arenaBytes, program.stagingBytes,
          program.lowerBoundBytes, program.onnxOrderBytes};
}

SessionLayout sessionLayout(const Plan &plan) {
  SessionLayout most = layoutOf(plan);
  for (const Program &program : plan.alternatives) {
    SessionLayout other = layoutOf(program);
    most.counterBytes = std::max(most.counterBytes, other.counterBytes);
    most.arenaBytes = std::max(most.arenaBytes, other.arenaBytes);
    most.stagingBytes = std::max(most.stagingBytes, other.stagingBytes);
    most.lowerBoundBytes =
        std::max(most.lowerBoundBytes, other.lowerBoundBytes);
    most.onnxOrderBytes = std::max(most.onnxOrderBytes, other.onnxOrderBytes);
  }
  return most;
}

Session::Session(std::shared_ptr<const Model> of,
                 const pascaline_session_options &options)
    : model(std::move(of)), layout(sessionLayout(plan())),
      memory(device(), layout.total(),
             format("a session of model %s", plan().model).c_str()),
      done(device(), CU_EVENT_DISABLE_TIMING), stream(device()) {
  bases.weights = model->weightsAddress();
  bases.counters = memory.address();
  bases.arena = bases.counters + aligned(layout.counterBytes);
  for (size_t i = 0; i < plan().programCount(); ++i)
    variants.emplace_back(*model, plan().program(i),
                          bases.arena + aligned(layout.arenaBytes),
                          !options.no_graphs);
  use(0);
  addresses.resize(plan().inputs.size() + plan().outputs.size());
  bases.inputs = addresses.data();
  bases.outputs = addresses.data() + plan().inputs.size();
  device().log(format("session of model %s: %s on the device", plan().model,
                      sizeText(layout.total()).c_str()));
}

Session::Variant::Variant(const Model &model, const Program &program,
                          CUdeviceptr at, bool wantsGraphs)
    : program(&program),
      graphs(*model.device, model.plan().model, wantsGraphs) {
  auto take = [&](uint64_t bytes) {
    CUdeviceptr start = at;
    at += aligned(bytes);
    return start;
  };
  for (const Tensor &input : program.inputs)
    inputStaging.push_back(take(input.bytes));
  // An output that no buffer is bound to is copied from where it is.
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    const Tensor &output = program.outputs[i];
    bool bound =
        program.buffers[output.buffer].isBoundTo(BufferKind::output, i);
    outputStaging.push_back(take(bound ? output.bytes : 0));
  }
}

Session::~Session() {
  if (!underWay)
    return;
  ContextScope scope(device(), ContextScope::quiet);
  device().call().eventSynchronize(done.get());
}

void Session::run(const pascaline_buffer *inputs, size_t inputCount,
                  const pascaline_buffer *outputs, size_t outputCount,
                  Timing *timing) {
  checkArguments(inputs, inputCount, program().inputs, "input");
  checkArguments(outputs, outputCount, program().outputs, "output");
  ContextScope scope(device());
  enqueueOrWait(inputs, outputs, stream.get(), timing);
  countersClean = false; // until the device says that all went well
  CUresult result = device().call().streamSynchronize(stream.get());
  if (result != CUDA_SUCCESS)
    device().failed(result, format("running model %s", plan().model));
  countersClean = true;
  underWay = false;
  if (timing)
    readTimes(*timing);
}

void Session::runAsync(const pascaline_buffer *inputs, size_t inputCount,
                       const pascaline_buffer *outputs, size_t outputCount,
                       CUstream on) {
  checkArguments(inputs, inputCount, program().inputs, "input");
  checkArguments(outputs, outputCount, program().outputs, "output");
  ContextScope scope(device());
  if (isCapturing(device(), on))
    enqueueInto(inputs, outputs, on);
  else
    enqueueOrWait(inputs, outputs, on, nullptr);
}

void Session::checkArguments(const pascaline_buffer *given, size_t count,
                             const std::vector<Tensor> &tensors,
                             const char *what) const {
  if (count != tensors.size())
    fail(PASCALINE_INVALID_ARGUMENT, "model %s has %zu %ss, %zu were given",
         plan().model, tensors.size(), what, count);
  for (size_t i = 0; i < count; ++i) {
    if (given[i].bytes != tensors[i].bytes)
      fail(PASCALINE_INVALID_ARGUMENT,
           "%s \"%s\" of model %s has %llu bytes, %llu were given", what,
           tensors[i].name, plan().model, (unsigned long long)tensors[i].bytes,
           (unsigned long long)given[i].bytes);
    if (!given[i].data && given[i].bytes)
      fail(PASCALINE_INVALID_ARGUMENT, "%s \"%s\" of model %s is NULL", what,
           tensors[i].name, plan().model);
    int place = placeGiven(given[i]);
    if (place != PASCALINE_HOST && place != PASCALINE_ON_DEVICE)
      fail(PASCALINE_INVALID_ARGUMENT,
           "%s \"%s\" of model %s is in place %d, which is none", what,
           tensors[i].name, plan().model, place);
  }
}

void Session::enqueueOrWait(const pascaline_buffer *inputs,
                            const pascaline_buffer *outputs, CUstream on,
                            Timing *timing) {
  try {
    enqueue(inputs, outputs, on, timing);
  } catch (...) {
    // What got onto the stream uses the caller's memory, who takes a failure
    // for the end of it.
    device().call().streamSynchronize(on);
    throw;
  }
}

void Session::enqueue(const pascaline_buffer *inputs,
                      const pascaline_buffer *outputs, CUstream on,
                      Timing *timing) {
  const DriverTable &call = device().call();
  // One run after another: they share the arena. The stream may be another one.
  if (underWay)
    device().check(call.streamWaitEvent(on, done.get(), 0),
                   "waiting for the last run");
  clearCounters(on);
  countersClean = false;
  bindInputs(inputs, on);
  bindOutputs(outputs);
  if (timing)
    launchTimed(on, *timing);
  else
    active->graphs.run(addresses, on,
                       [this](CUstream stream) { launchAll(stream); });
  copyOutputs(outputs, on);
  device().check(call.eventRecord(done.get(), on), "recording an event");
  underWay = true;
  countersClean = true;
}

void Session::clearCounters(CUstream on) {
  if (!countersClean && layout.counterBytes)
    device().check(device().call().memsetD8Async(bases.counters, 0,
                                                 layout.counterBytes, on),
                   "clearing counters");
}

// The caller's graph, which runs who knows when and how often: nothing has run
// when this returns, and no event of ours may take part in the capture.
void Session::enqueueInto(const pascaline_buffer *inputs,
                          const pascaline_buffer *outputs, CUstream captured) {
  waitForLastRun();
  clearCounters(captured);
  bindInputs(inputs, captured);
  bindOutputs(outputs);
  launchAll(captured);
  copyOutputs(outputs, captured);
  device().log(format("model %s: a run became part of the caller's graph",
                      plan().model));
}

void Session::waitForLastRun() {
  if (!underWay)
    return;
  RelaxedCapture relaxed(device());
  device().check(device().call().eventSynchronize(done.get()),
                 "waiting for the last run");
  underWay = false;
}

void Session::bindInputs(const pascaline_buffer *inputs, CUstream on) {
  const DriverTable &call = device().call();
  for (size_t i = 0; i < program().inputs.size(); ++i) {
    const pascaline_buffer &input = inputs[i];
    addresses[i] = active->inputStaging[i];
    if (input.bytes == 0)
      continue;
    if (usable(input))
      addresses[i] = deviceAddress(input);
    else if (input.place == PASCALINE_HOST)
      device().check(call.memcpyHtoDAsync(active->inputStaging[i], input.data,
                                          input.bytes, on),
                     "copying an input");
    else
      device().check(call.memcpyDtoDAsync(active->inputStaging[i],
                                          deviceAddress(input), input.bytes,
                                          on),
                     "copying an input");
  }
}

void Session::bindOutputs(const pascaline_buffer *outputs) {
  CUdeviceptr *to = addresses.data() + program().inputs.size();
  for (size_t i = 0; i < program().outputs.size(); ++i)
    to[i] = usable(outputs[i]) && outputs[i].bytes ? deviceAddress(outputs[i])
                                                   : active->outputStaging[i];
}

void Session::launchAll(CUstream on) {
  const std::vector<Launch> &launches = program().launches;
  for (size_t i = 0; i < launches.size(); ++i)
    model->launch(program(), launches[i], bases, parameters, on, "launch", i);
}

void Session::record(size_t timer, CUstream on) {
  device().check(device().call().eventRecord(timers[timer].get(), on),
                 "recording an event");
}

void Session::launchTimed(CUstream on, Timing &timing) {
  const std::vector<Launch> &launches = program().launches;
  size_t events = timing.launches ? launches.size() + 1 : 2;
  while (timers.size() < events)
    timers.emplace_back(device(), CU_EVENT_DEFAULT);
  record(0, on);
  if (timing.launches) {
    for (size_t i = 0; i < launches.size(); ++i) {
      model->launch(program(), launches[i], bases, parameters, on, "launch", i);
      if (timing.counters)
        readCounters(*timing.counters);
      record(i + 1, on);
    }
  } else {
    active->graphs.run(addresses, on,
                       [this](CUstream stream) { launchAll(stream); });
    record(1, on);
  }
}

// The emulator has done a launch when the call returns.
void Session::readCounters(std::vector<uint64_t> &values) {
  const char *const *names = nullptr;
  const uint64_t *row = nullptr;
  size_t count = device().driver->counters(&names, &row);
  if (!row)
    fail(PASCALINE_DRIVER_ERROR,
         "device %s: a launch of model %s has no "
         "counters",
         device().name.c_str(), plan().model);
  values.insert(values.end(), row, row + count);
}

pascaline_counters Session::runCounted(const pascaline_buffer *inputs,
                                       size_t inputCount,
                                       const pascaline_buffer *outputs,
                                       size_t outputCount) {
  if (!device().counts())
    fail(PASCALINE_UNSUPPORTED,
         "device %s was opened without counting; set `counting` in its options",
         device().name.c_str());
  counterValues.clear();
  std::vector<double> times(program().launches.size());
  Timing timing;
  timing.launches = times.data();
  timing.counters = &counterValues;
  run(inputs, inputCount, outputs, outputCount, &timing);
  pascaline_counters counters = {};
  counters.count = device().driver->counters(&counters.names, nullptr);
  counters.launch_count = times.size();
  counters.values = counterValues.data();
  return counters;
}

void Session::copyOutputs(const pascaline_buffer *outputs, CUstream on) {
  const DriverTable &call = device().call();
  for (size_t i = 0; i < program().outputs.size(); ++i) {
    const pascaline_buffer &output = outputs[i];
    const Buffer &buffer = program().buffers[program().outputs[i].buffer];
    CUdeviceptr from = addressOf(buffer, bases);
    if (output.bytes == 0)
      continue;
    if (output.place == PASCALINE_HOST)
      device().check(call.memcpyDtoHAsync(output.data, from, output.bytes, on),
                     "copying an output");
    else if (from != deviceAddress(output))
      device().check(
          call.memcpyDtoDAsync(deviceAddress(output), from, output.bytes, on),
          "copying an output");
  }
}

void Session::readTimes(Timing &timing) {
  auto between = [&](size_t first, size_t last) {
    float milliseconds = 0;
    device().check(device().call().eventElapsedTime(
                       &milliseconds, timers[first].get(), timers[last].get()),
                   "reading an event's time");
    return double(milliseconds) * 1000;
  };
  size_t count = program().launches.size();
  timing.total = between(0, timing.launches ? count : 1);
  if (timing.launches)
    for (size_t i = 0; i < count; ++i)
      timing.launches[i] = between(i, i + 1);
}

} // namespace pascaline::runtime
