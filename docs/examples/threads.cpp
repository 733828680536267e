// threads.cpp - two threads, each with a session of its own, over one model
// whose code and weights are on the device once.  threads MODEL.pasc [DEVICE]
//
// Built and run by the tests through find_package(pascaline).
#include <pascaline/pascaline.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace {

void check(pascaline_status status) {
  if (status != PASCALINE_OK)
    throw std::runtime_error(pascaline_last_error());
}

// Closes a handle with its scope. Handles may be closed in any order.
template <auto close> struct Close {
  template <class T> void operator()(T *handle) const { close(handle); }
};
using Device = std::unique_ptr<pascaline_device, Close<pascaline_device_close>>;
using Model = std::unique_ptr<pascaline_model, Close<pascaline_model_close>>;
using Session =
    std::unique_ptr<pascaline_session, Close<pascaline_session_close>>;

// What one thread runs with: inputs all of one value, and its outputs.
struct Work {
  explicit Work(pascaline_model *model, uint8_t fill) {
    pascaline_session *opened;
    check(pascaline_session_open(model, &opened));
    session.reset(opened);
    const pascaline_artifact *artifact = pascaline_model_artifact(model);
    pascaline_artifact_info info;
    check(pascaline_artifact_get_info(artifact, &info));
    pascaline_tensor_info tensor;
    for (size_t i = 0; i < info.input_count; ++i) {
      check(pascaline_artifact_input(artifact, i, &tensor));
      place(in, tensor.bytes, fill);
    }
    for (size_t i = 0; i < info.output_count; ++i) {
      check(pascaline_artifact_output(artifact, i, &tensor));
      place(out, tensor.bytes, 0);
    }
  }
  void place(std::vector<pascaline_buffer> &to, uint64_t bytes, uint8_t fill) {
    storage.emplace_back(bytes, fill);
    to.push_back({storage.back().data(), bytes, PASCALINE_HOST});
  }
  void run() {
    check(pascaline_session_run(session.get(), in.data(), in.size(), out.data(),
                                out.size()));
  }

  Session session;
  std::vector<std::vector<uint8_t>> storage;
  std::vector<pascaline_buffer> in, out;
};

} // namespace

int main(int argc, char **argv) try {
  if (argc < 2)
    return 2;
  pascaline_device *device;
  check(pascaline_device_open(argc > 2 ? argv[2] : "auto", nullptr, &device));
  Device holdsDevice(device);
  pascaline_model *model;
  check(pascaline_model_open(argv[1], device, &model));
  Model holdsModel(model);

  Work first(model, 0), second(model, 0x3f);
  std::exception_ptr problem;
  std::thread other([&] {
    try {
      for (int i = 0; i < 10; ++i)
        second.run();
    } catch (...) {
      problem = std::current_exception();
    }
  });
  for (int i = 0; i < 10; ++i)
    first.run();
  other.join();
  if (problem)
    std::rethrow_exception(problem);
  if (!first.out.empty() && first.out[0].bytes >= sizeof(float))
    std::printf("%g %g\n", *static_cast<float *>(first.out[0].data),
                *static_cast<float *>(second.out[0].data));
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "threads: %s\n", error.what());
  return 1;
}
