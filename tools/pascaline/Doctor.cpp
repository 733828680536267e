// Doctor.cpp - `pascaline doctor`: which devices can be used here, and why not
// the others. Exit code 1 where nothing can run a model.
#include "tools/pascaline/Cli.h"

#include <cstdio>
#include <cstring>

namespace pascaline::cli {
namespace {

// One line on a device; whether it can be used.
bool report(const char *label, const std::string &selector) {
  pascaline_device *handle;
  if (pascaline_device_open(selector.c_str(), nullptr, &handle) !=
      PASCALINE_OK) {
    printf("%-10s no: %s\n", label, pascaline_last_error());
    return false;
  }
  DeviceHandle device(handle);
  pascaline_device_info info;
  check(pascaline_device_get_info(handle, &info));
  printf("%-10s %s, compute capability %u.%u, driver for CUDA %u.%u, %s free "
         "of %s: works\n",
         label, info.name, info.compute_major, info.compute_minor,
         info.driver_version / 1000, info.driver_version % 1000 / 10,
         bytesText(info.memory_free).c_str(),
         bytesText(info.memory_total).c_str());
  return true;
}

bool reportGpus() {
  size_t count;
  if (pascaline_gpu_count(&count) != PASCALINE_OK) {
    printf("%-10s no: %s\n", "gpu", pascaline_last_error());
    return false;
  }
  bool usable = false;
  for (size_t i = 0; i < count; ++i)
    usable |= report(format("gpu %zu", i).c_str(), format("gpu:%zu", i));
  return usable;
}

// ptxas is no part of running a model; what people ask is whether theirs can be
// used to look at the code, and by pascaline-compile --cubin.
void reportPtxas() {
  std::string release;
  const char *command = "\"${PASCALINE_PTXAS:-ptxas}\" --version 2>/dev/null";
  if (FILE *pipe = popen(command, "re")) {
    char line[256];
    while (fgets(line, sizeof line, pipe))
      if (const char *at = strstr(line, "release "))
        release.assign(at + 8, strcspn(at + 8, ",\n"));
    pclose(pipe);
  }
  int major = 0;
  if (release.empty() || sscanf(release.c_str(), "%d", &major) != 1)
    printf("%-10s none by $PASCALINE_PTXAS or in $PATH; no model needs it\n",
           "ptxas");
  else if (major > 12)
    printf("%-10s %s, which no longer knows sm_61; 12.9 does, and no model "
           "needs it\n",
           "ptxas", release.c_str());
  else
    printf("%-10s %s, which knows sm_61: pascaline-compile --cubin works\n",
           "ptxas", release.c_str());
}

} // namespace

int doctorCommand(int argc, char **argv) {
  Options options(argc, argv, {}, nullptr);
  printf("%-10s pascaline %s\n", "runtime", pascaline_version());
  bool usable = reportGpus();
  usable |= report("emulator", "emulator");
  reportPtxas();
  if (!usable)
    throw Failure("no device can run a model here; set PASCALINE_EMULATOR to "
                  "libpascaline-emulator.so");
  return 0;
}

} // namespace pascaline::cli
