#include "runtime/emulator/driver/Counters.h"
#include "runtime/emulator/driver/Api.h"
#include "runtime/emulator/scheduler/CounterTable.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace pascaline::emulator {
namespace {

thread_local bool switchedOn = false;

struct Values {
  bool valid = false;
  std::vector<uint64_t> values;
};
thread_local Values lastLaunch;

// Launches of one kernel with one shape, summed.
struct Entry {
  std::string kernel;
  std::array<uint32_t, 3> grid, block;
  uint32_t sharedBytes;
  std::vector<uint64_t> values;
};

// A program that launches ever new shapes must not fill the host's memory:
// those beyond are summed in one entry.
constexpr size_t kMostEntries = 4096;

class Report {
public:
  explicit Report(std::string path)
      : path(std::move(path)),
        temporary(this->path + "." + std::to_string(getpid()) + ".tmp") {
    // A rename would put a file in the place of a device or a pipe.
    struct stat status;
    inPlace = stat(this->path.c_str(), &status) == 0 &&
              !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
    if (inPlace)
      return;
    // Where nothing can be written shows now and not at the end.
    if (std::FILE *file = std::fopen(temporary.c_str(), "wxe")) {
      std::fclose(file);
      std::remove(temporary.c_str());
    } else {
      fail(errno);
    }
  }

  void add(const Launch &launch, const std::vector<uint64_t> &values) {
    Entry entry{launch.kernel->name, {}, {}, launch.dynamicSharedBytes, values};
    std::copy_n(launch.grid, 3, entry.grid.begin());
    std::copy_n(launch.block, 3, entry.block.begin());
    std::lock_guard<std::mutex> lock(mutex);
    Key key{entry.kernel, entry.grid, entry.block, entry.sharedBytes};
    auto found = places.find(key);
    if (found == places.end() && entries.size() < kMostEntries) {
      places.emplace(key, entries.size());
      entries.push_back(std::move(entry));
      return;
    }
    if (found == places.end() && entries.size() == kMostEntries)
      entries.push_back({"", {}, {}, 0, std::vector<uint64_t>(values.size())});
    Entry &sum =
        found == places.end() ? entries.back() : entries[found->second];
    for (size_t i = 0; i < values.size(); ++i)
      sum.values[i] += values[i];
  }

  void write() {
    std::lock_guard<std::mutex> lock(mutex);
    std::string text = "{\"kernels\": [";
    for (const Entry &entry : entries)
      text += (&entry == entries.data() ? "\n  " : ",\n  ") + json(entry);
    text += "\n]}\n";
    std::FILE *file = inPlace ? std::fopen(path.c_str(), "we")
                              : std::fopen(temporary.c_str(), "wxe");
    bool done =
        file && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    int reason = errno;
    if (file && std::fclose(file) != 0 && done) {
      done = false;
      reason = errno;
    }
    if (done && (inPlace || std::rename(temporary.c_str(), path.c_str()) == 0))
      return;
    fail(done ? errno : reason);
    if (file && !inPlace)
      std::remove(temporary.c_str());
    std::fprintf(stderr, "%s\n", problem.c_str());
  }

  std::string problem;

private:
  using Key = std::tuple<std::string, std::array<uint32_t, 3>,
                         std::array<uint32_t, 3>, uint32_t>;

  void fail(int reason) {
    problem = "PASCALINE_EMULATOR_COUNTERS: " + path +
              " cannot be written: " + std::strerror(reason);
  }

  // PTX's names need no escapes.
  static std::string json(const Entry &entry) {
    auto three = [](const std::array<uint32_t, 3> &extents) {
      return "[" + std::to_string(extents[0]) + ", " +
             std::to_string(extents[1]) + ", " + std::to_string(extents[2]) +
             "]";
    };
    std::string text =
        "{\"name\": \"" + entry.kernel + "\", \"grid\": " + three(entry.grid) +
        ", \"block\": " + three(entry.block) +
        ", \"dynamic_shared_bytes\": " + std::to_string(entry.sharedBytes) +
        ", \"counters\": {";
    const auto &names = counterNames();
    for (size_t i = 0; i < names.size(); ++i) {
      text += i ? ", \"" : "\"";
      text += names[i];
      text += "\": " + std::to_string(entry.values[i]);
    }
    return text + "}}";
  }

  const std::string path, temporary;
  bool inPlace = false;
  std::mutex mutex; // guards what follows
  std::vector<Entry> entries;
  std::map<Key, size_t> places;
};

// Null: no file is wanted. Never destroyed, as the driver.
Report *report() {
  static Report *only = []() -> Report * {
    const char *path = std::getenv("PASCALINE_EMULATOR_COUNTERS");
    if (!path || !*path)
      return nullptr;
    return new Report(path);
  }();
  return only;
}

} // namespace

bool countingWanted() { return switchedOn || report(); }

const char *counterFileProblem() {
  Report *wanted = report();
  if (!wanted)
    return nullptr;
  if (!wanted->problem.empty())
    return wanted->problem.c_str();
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { report()->write(); }); });
  return nullptr;
}

void noteCounters(const Launch &launch, const LaunchCounts &counts) {
  lastLaunch.values = counterValues(launch, counts);
  lastLaunch.valid = true;
  if (Report *wanted = report())
    wanted->add(launch, lastLaunch.values);
}

void noteNoCounters() { lastLaunch.valid = false; }

} // namespace pascaline::emulator

using namespace pascaline::emulator;

void pascalineEmulatorSetCounting(int on) { switchedOn = on != 0; }

size_t pascalineEmulatorCounters(const char *const **names,
                                 const uint64_t **values) {
  if (names)
    *names = counterNames().data();
  if (values)
    *values = lastLaunch.valid ? lastLaunch.values.data() : nullptr;
  return counterNames().size();
}
