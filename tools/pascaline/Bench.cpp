// Bench.cpp - `pascaline bench`: how long a run takes, and which kernels take
// it.
//
// On a GPU two kinds of runs are made: undisturbed ones for the total, then
// some with an event between any two launches for the kernels, which slows them
// a little. On the emulator the times are the host's and say nothing about a
// GPU; events cost nothing there, so one kind of run gives both.
#include "tools/pascaline/Counters.h"
#include "tools/pascaline/Summary.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>

namespace pascaline::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Tensors = std::vector<pascaline_tensor_info>;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Made-up values, the same each time: floats in [-1, 1), because zeros and
// denormals run at another speed on a host; zeros elsewhere, because integers
// may be indices.
std::vector<uint8_t> makeInput(const pascaline_tensor_info &tensor) {
  std::vector<uint8_t> result(tensor.bytes);
  std::mt19937 random(1);
  auto fill = [&](auto convert) {
    using T = decltype(convert(0.0f));
    T *to = reinterpret_cast<T *>(result.data());
    for (size_t i = 0; i < tensor.bytes / sizeof(T); ++i)
      to[i] = convert(float(int32_t(random())) * 0x1p-31f);
  };
  auto bits = [](float value) {
    uint32_t result;
    std::memcpy(&result, &value, sizeof result);
    return result;
  };
  switch (tensor.type) {
  case PASCALINE_F32:
    fill([](float value) { return value; });
    break;
  case PASCALINE_F64:
    fill([](float value) { return double(value); });
    break;
  case PASCALINE_BF16:
    fill([&](float value) { return uint16_t(bits(value) >> 16); });
    break;
  case PASCALINE_F16:
    // Rounded towards zero; below half's least exponent, zero.
    fill([&](float value) {
      uint32_t sign = bits(value) >> 16 & 0x8000;
      int32_t rest = int32_t(bits(value) >> 13 & 0x3ffff) - (112 << 10);
      return uint16_t(sign | uint32_t(std::max(rest, 0)));
    });
    break;
  default:
    break;
  }
  return result;
}

class Bench {
public:
  Bench(const ArtifactHandle &artifact, size_t set, const DeviceHandle &device)
      : model(openModel(artifact, device)), session(openSession(model)),
        launches(shapeSetOf(artifact, set).launch_count) {
    check(pascaline_session_use_shape_set(session.get(), set));
    for (const pascaline_tensor_info &tensor : inputsOf(artifact, set))
      place(makeInput(tensor), in);
    for (const pascaline_tensor_info &tensor : outputsOf(artifact, set))
      place(std::vector<uint8_t>(tensor.bytes), out);
  }

  // The total; with eachLaunch, kernels[i] gets launch i's time too.
  double run(bool eachLaunch) {
    double total = 0;
    std::vector<double> times(eachLaunch ? launches : 0);
    check(pascaline_session_run_timed(
        session.get(), in.data(), in.size(), out.data(), out.size(), &total,
        times.empty() ? nullptr : times.data(), times.size()));
    if (eachLaunch)
      kernels.push_back(std::move(times));
    return total;
  }

  void count(const Options &options, const ArtifactHandle &artifact, size_t set,
             PendingFiles &files) {
    countRun(options, artifact, set, session, in, out, files);
  }

  // One a launch: the median over the runs.
  std::vector<double> kernelTimes() const {
    std::vector<double> result(launches);
    std::vector<double> column(kernels.size());
    for (size_t i = 0; i < launches; ++i) {
      for (size_t run = 0; run < kernels.size(); ++run)
        column[run] = kernels[run][i];
      std::sort(column.begin(), column.end());
      result[i] = column[column.size() / 2];
    }
    return result;
  }

private:
  void place(std::vector<uint8_t> data, std::vector<pascaline_buffer> &to) {
    storage.push_back(std::move(data));
    to.push_back(
        {storage.back().data(), storage.back().size(), PASCALINE_HOST});
  }

  ModelHandle model;
  SessionHandle session;
  size_t launches;
  std::vector<std::vector<uint8_t>> storage;
  std::vector<pascaline_buffer> in, out;
  std::vector<std::vector<double>> kernels;
};

struct Statistics {
  size_t runs;
  double min, median, p90, p99, mean;
};

Statistics statisticsOf(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  // The least time that this share of the runs do not exceed.
  auto quantile = [&](double share) {
    size_t rank = size_t(share * double(times.size()) + 0.999999);
    return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
  };
  double sum = 0;
  for (double time : times)
    sum += time;
  return {times.size(),  times[0],       quantile(0.5),
          quantile(0.9), quantile(0.99), sum / double(times.size())};
}

std::string asJson(const ArtifactHandle &artifact, size_t set,
                   const pascaline_device_info &device, const Statistics &total,
                   const std::vector<KernelSummary> &kernels) {
  Json json;
  json.open('{').key("model").value(infoOf(artifact).model);
  json.key("device").value(device.name);
  json.key("kind").value(device.emulator ? "emulated" : "measured");
  json.key("total_us").open('{');
  json.key("min").value(total.min).key("median").value(total.median);
  json.key("p90").value(total.p90).key("p99").value(total.p99);
  json.key("mean").value(total.mean).close('}');
  json.key("iterations").value(uint64_t(total.runs));
  writeKernels(json, kernels, true);
  writeMemory(json, shapeSetOf(artifact, set).memory);
  return json.close('}').finish();
}

// The trace event format: one complete event a launch, one behind another.
std::string asTrace(const ArtifactHandle &artifact, size_t set,
                    const std::vector<double> &times) {
  std::vector<pascaline_launch_info> launches = launchesOf(artifact, set);
  Json json;
  json.open('{').key("traceEvents").open('[');
  double start = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    pascaline_kernel_info kernel;
    check(
        pascaline_artifact_kernel(artifact.get(), launches[i].kernel, &kernel));
    json.open('{').key("name").value(kernel.name).key("ph").value("X");
    json.key("pid").value(uint64_t(0)).key("tid").value(uint64_t(0));
    json.key("ts").value(start).key("dur").value(times[i]);
    json.key("args").open('{').key("nodes").open('[');
    for (size_t n = 0; n < launches[i].node_count; ++n)
      json.value(launches[i].nodes[n]);
    json.close(']').key("flops").value(launches[i].flops);
    json.key("bytes").value(launches[i].bytes).close('}').close('}');
    start += times[i];
  }
  return json.close(']').close('}').finish();
}

void print(const char *model, const pascaline_device_info &device,
           const Statistics &total, std::vector<KernelSummary> kernels) {
  printf("%s on %s, %s, %zu runs\n", printable(model).c_str(), device.name,
         device.emulator ? "host wall times of the emulator, not GPU times"
                         : "GPU events",
         total.runs);
  printf("total us: min %.1f, median %.1f, p90 %.1f, p99 %.1f, mean %.1f\n\n",
         total.min, total.median, total.p90, total.p99, total.mean);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const KernelSummary &a, const KernelSummary &b) {
                     return a.time > b.time;
                   });
  double sum = 0;
  for (const KernelSummary &each : kernels)
    sum += each.time;
  printf("%11s %5s %8s %9s %8s %-8s kernel: nodes\n", "us a run", "%",
         "launches", "GFLOP/s", "GB/s", "limit");
  for (const KernelSummary &each : kernels) {
    double seconds = each.time > 0 ? each.time * 1e-6 : 1;
    printf("%11.1f %5.1f %8llu %9.1f %8.2f %-8s %s: %s\n", each.time,
           sum > 0 ? 100 * each.time / sum : 0.0,
           (unsigned long long)each.launches,
           double(each.flops) / seconds / 1e9,
           double(each.bytes) / seconds / 1e9, each.limit, each.kernel.name,
           nodesText(each.nodes, 60).c_str());
  }
}

} // namespace

int benchCommand(int argc, char **argv) {
  Options options(argc, argv,
                  {{"--device", true},
                   {"--sanitize", false},
                   {"--counters", false},
                   {"--shape-set", true},
                   {"--iterations", true},
                   {"--warmup", true},
                   {"--duration", true},
                   {"--json", true},
                   {"--trace", true}},
                  "MODEL.pasc");
  checkCounterOptions(options);
  bool counted = options.has("--iterations");
  size_t most = size_t(options.number("--iterations", 100, 1, 1e9));
  size_t warmup = size_t(options.number("--warmup", 3, 0, 1e9));
  double duration =
      options.number("--duration", counted ? 1e9 : 10, 0.001, 1e9);

  ArtifactHandle artifact = openArtifact(options.positional());
  size_t set = chosenShapeSet(options, artifact);
  DeviceHandle handle = openDevice(options);
  pascaline_device_info device;
  check(pascaline_device_get_info(handle.get(), &device));
  Bench bench(artifact, set, handle);
  PendingFiles files(options.positional());
  if (options.has("--counters")) {
    bench.count(options, artifact, set, files);
    files.commit();
    return 0;
  }

  Clock::time_point start = Clock::now();
  for (size_t i = 0; i < warmup; ++i) {
    bench.run(false);
    if (!options.has("--warmup") && secondsSince(start) > duration / 4)
      break;
  }
  std::vector<double> totals;
  start = Clock::now();
  do
    totals.push_back(bench.run(device.emulator));
  while (totals.size() < most && secondsSince(start) < duration);
  if (!device.emulator)
    for (size_t i = 0; i < std::min<size_t>(totals.size(), 20); ++i)
      bench.run(true);

  std::vector<double> times = bench.kernelTimes();
  std::vector<KernelSummary> kernels = summarize(artifact, set, times);
  Statistics total = statisticsOf(totals);
  if (const std::string *path = options.value("--json"))
    files.add(*path, asJson(artifact, set, device, total, kernels));
  if (const std::string *path = options.value("--trace"))
    files.add(*path, asTrace(artifact, set, times));
  files.commit();
  print(infoOf(artifact).model, device, total, kernels);
  return 0;
}

} // namespace pascaline::cli
