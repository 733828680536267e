// Api.cpp - the C functions of pascaline.h: arguments checked, exceptions
// turned into statuses, nothing else.
#include "pascaline/pascaline.h"

#include "runtime/src/ApiChecks.h"
#include "runtime/src/Error.h"
#include "runtime/src/Handles.h"

using namespace pascaline;
using namespace pascaline::runtime;
using artifact::ElementType;

static_assert(int(PASCALINE_F32) == int(ElementType::f32) &&
                  int(PASCALINE_BOOL) == int(ElementType::boolean),
              "pascaline.h and artifact.h name the same element types");

namespace {

// An open: *handle is NULL unless all went well.
template <class Handle, class Function>
pascaline_status open(Handle **handle, Function &&make) {
  return guarded([&] {
    require(handle, "the place for the handle");
    *handle = nullptr;
    *handle = new Handle(make());
  });
}

// The caller's options, or the defaults.
template <class Options>
Options optionsOf(const Options *options, const char *what) {
  if (options && options->size < sizeof *options)
    fail(PASCALINE_INVALID_ARGUMENT, "the %s options' size is %zu, not %zu",
         what, options->size, sizeof *options);
  return options ? *options : Options{};
}

pascaline_model makeModel(std::shared_ptr<const Artifact> from,
                          pascaline_device *device) {
  require(device, "device");
  return {std::make_shared<const Model>(from, device->device), {from}};
}

void requireBuffers(const pascaline_buffer *buffers, size_t count,
                    const char *what) {
  if (count)
    require(buffers, what);
}

} // namespace

const char *pascaline_version(void) { return PASCALINE_VERSION; }

const char *pascaline_last_error(void) { return lastError(); }

const char *pascaline_element_type_name(pascaline_element_type type) {
  static const char *const names[artifact::kElementTypeCount] = {
      "?",   "f32", "f16", "bf16", "f64", "i8",  "u8",
      "i16", "u16", "i32", "u32",  "i64", "u64", "bool"};
  return unsigned(type) < artifact::kElementTypeCount ? names[type] : "?";
}

size_t pascaline_element_type_bytes(pascaline_element_type type) {
  return unsigned(type) < artifact::kElementTypeCount
             ? artifact::elementBytes(ElementType(type))
             : 0;
}

pascaline_status pascaline_artifact_open(const char *path,
                                         pascaline_artifact **artifact) {
  return open(artifact, [&]() -> pascaline_artifact {
    require(path, "path");
    return {Artifact::open(path)};
  });
}

pascaline_status pascaline_artifact_open_bytes(const void *data, size_t bytes,
                                               const char *name,
                                               pascaline_artifact **artifact) {
  return open(artifact, [&]() -> pascaline_artifact {
    require(data, "data");
    require(name, "name");
    return {Artifact::openBytes(data, bytes, name)};
  });
}

void pascaline_artifact_close(pascaline_artifact *artifact) { delete artifact; }

pascaline_status pascaline_artifact_get_info(const pascaline_artifact *artifact,
                                             pascaline_artifact_info *info) {
  return guarded([&] {
    const Plan &plan = planOf(artifact);
    require(info, "info");
    const Artifact &file = *artifact->artifact;
    *info = {plan.model,
             plan.producer,
             plan.chip,
             file.header.formatVersion,
             file.header.targetSm,
             plan.inputs.size(),
             plan.outputs.size(),
             plan.kernels.size(),
             plan.launches.size(),
             plan.init.size(),
             file.ptx.c_str(),
             file.ptx.size(),
             file.cubinBytes,
             plan.programCount()};
  });
}

pascaline_status pascaline_artifact_input(const pascaline_artifact *artifact,
                                          size_t index,
                                          pascaline_tensor_info *info) {
  return pascaline_shape_set_input(artifact, 0, index, info);
}

pascaline_status pascaline_artifact_output(const pascaline_artifact *artifact,
                                           size_t index,
                                           pascaline_tensor_info *info) {
  return pascaline_shape_set_output(artifact, 0, index, info);
}

pascaline_status pascaline_artifact_launch(const pascaline_artifact *artifact,
                                           size_t index,
                                           pascaline_launch_info *info) {
  return pascaline_shape_set_launch(artifact, 0, index, info);
}

pascaline_status pascaline_artifact_kernel(const pascaline_artifact *artifact,
                                           size_t index,
                                           pascaline_kernel_info *info) {
  return guarded([&] {
    const Plan &plan = planOf(artifact);
    require(info, "info");
    requireIndex(index, plan.kernels.size(), "kernel");
    const Kernel &kernel = plan.kernels[index];
    *info = {kernel.entry,
             {kernel.block[0], kernel.block[1], kernel.block[2]},
             kernel.staticSharedBytes,
             kernel.dynamicSharedBytes,
             kernel.registers};
  });
}

pascaline_status pascaline_artifact_memory(const pascaline_artifact *artifact,
                                           pascaline_memory *memory) {
  return guarded([&] {
    const Plan &plan = planOf(artifact);
    require(memory, "memory");
    *memory = memoryOf(plan, sessionLayout(plan));
  });
}

pascaline_status pascaline_gpu_count(size_t *count) {
  return guarded([&] {
    require(count, "count");
    *count = 0;
    *count = size_t(Device::gpuCount());
  });
}

pascaline_status pascaline_device_open(const char *selector,
                                       const pascaline_device_options *options,
                                       pascaline_device **device) {
  return open(device, [&]() -> pascaline_device {
    require(selector, "selector");
    return {Device::open(selector, optionsOf(options, "device"))};
  });
}

void pascaline_device_close(pascaline_device *device) { delete device; }

pascaline_status pascaline_device_get_info(pascaline_device *handle,
                                           pascaline_device_info *info) {
  return guarded([&] {
    require(handle, "device");
    require(info, "info");
    const Device &device = *handle->device;
    ContextScope scope(device);
    *info = {device.name.c_str(),
             device.reason.c_str(),
             device.emulator,
             uint32_t(device.major),
             uint32_t(device.minor),
             uint32_t(device.driverVersion),
             0,
             0};
    device.memory(info->memory_free, info->memory_total);
  });
}

pascaline_status pascaline_model_open(const char *path,
                                      pascaline_device *device,
                                      pascaline_model **model) {
  return open(model, [&] {
    require(path, "path");
    return makeModel(Artifact::open(path), device);
  });
}

pascaline_status pascaline_model_open_bytes(const void *data, size_t bytes,
                                            const char *name,
                                            pascaline_device *device,
                                            pascaline_model **model) {
  return open(model, [&] {
    require(data, "data");
    require(name, "name");
    return makeModel(Artifact::openBytes(data, bytes, name), device);
  });
}

pascaline_status pascaline_model_open_artifact(pascaline_artifact *artifact,
                                               pascaline_device *device,
                                               pascaline_model **model) {
  return open(model, [&] {
    require(artifact, "artifact");
    return makeModel(artifact->artifact, device);
  });
}

void pascaline_model_close(pascaline_model *model) { delete model; }

const pascaline_artifact *
pascaline_model_artifact(const pascaline_model *model) {
  return model ? &model->artifact : nullptr;
}

pascaline_status pascaline_session_open(pascaline_model *model,
                                        pascaline_session **session) {
  return pascaline_session_open_with(model, nullptr, session);
}

pascaline_status
pascaline_session_open_with(pascaline_model *model,
                            const pascaline_session_options *options,
                            pascaline_session **session) {
  return open(session, [&]() -> pascaline_session {
    require(model, "model");
    return {Session::open(model->model, optionsOf(options, "session"))};
  });
}

pascaline_status pascaline_session_use_shape_set(pascaline_session *session,
                                                 size_t set) {
  return guarded([&] {
    require(session, "session");
    requireIndex(set, session->session->model->plan().programCount(),
                 "shape set");
    session->session->use(set);
  });
}

void pascaline_session_close(pascaline_session *session) { delete session; }

pascaline_status pascaline_session_run(pascaline_session *session,
                                       const pascaline_buffer *inputs,
                                       size_t input_count,
                                       const pascaline_buffer *outputs,
                                       size_t output_count) {
  return guarded([&] {
    require(session, "session");
    requireBuffers(inputs, input_count, "inputs");
    requireBuffers(outputs, output_count, "outputs");
    session->session->run(inputs, input_count, outputs, output_count, nullptr);
  });
}

pascaline_status pascaline_session_run_async(pascaline_session *session,
                                             const pascaline_buffer *inputs,
                                             size_t input_count,
                                             const pascaline_buffer *outputs,
                                             size_t output_count,
                                             void *stream) {
  return guarded([&] {
    require(session, "session");
    requireBuffers(inputs, input_count, "inputs");
    requireBuffers(outputs, output_count, "outputs");
    session->session->runAsync(inputs, input_count, outputs, output_count,
                               static_cast<CUstream>(stream));
  });
}

pascaline_status pascaline_session_run_counted(pascaline_session *session,
                                               const pascaline_buffer *inputs,
                                               size_t input_count,
                                               const pascaline_buffer *outputs,
                                               size_t output_count,
                                               pascaline_counters *counters) {
  return guarded([&] {
    require(session, "session");
    require(counters, "counters");
    requireBuffers(inputs, input_count, "inputs");
    requireBuffers(outputs, output_count, "outputs");
    *counters = session->session->runCounted(inputs, input_count, outputs,
                                             output_count);
  });
}

pascaline_status pascaline_session_run_timed(
    pascaline_session *session, const pascaline_buffer *inputs,
    size_t input_count, const pascaline_buffer *outputs, size_t output_count,
    double *total_us, double *launch_us, size_t launch_count) {
  return guarded([&] {
    require(session, "session");
    require(total_us, "total_us");
    requireBuffers(inputs, input_count, "inputs");
    requireBuffers(outputs, output_count, "outputs");
    size_t launches = session->session->program().launches.size();
    if (launch_us && launch_count != launches)
      fail(PASCALINE_INVALID_ARGUMENT,
           "the model has %zu launches, there is room for %zu times", launches,
           launch_count);
    Timing timing;
    timing.launches = launch_us;
    session->session->run(inputs, input_count, outputs, output_count, &timing);
    *total_us = timing.total;
  });
}
