// Driver.cpp - see Driver.h.
#include "runtime/src/Driver.h"

#include "runtime/src/Error.h"

#include <cstdlib>
#include <dlfcn.h>

namespace pascaline::runtime {

std::shared_ptr<const Driver> Driver::load(const std::string &path) {
  // NODELETE: the driver (and LLVM in the emulator) may have threads and exit
  // handlers of its own, which must not lose their code.
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char *reason = dlerror();
    fail(PASCALINE_NO_DEVICE, "%s", reason ? reason : path.c_str());
  }
  DriverTable table;
  const char *missing = nullptr;
  auto find = [&](auto &member, const char *symbol) {
    void *address = dlsym(library, symbol);
    if (!address && !missing)
      missing = symbol;
    member =
        reinterpret_cast<std::remove_reference_t<decltype(member)>>(address);
  };
#define PASCALINE_FIND(name, symbol, parameters) find(table.name, #symbol);
  PASCALINE_CUDA_FUNCTIONS(PASCALINE_FIND)
  const char *missingRequired = missing;
  missing = nullptr;
  PASCALINE_CUDA_GRAPH_FUNCTIONS(PASCALINE_FIND)
  table.graphs = !missing;
#undef PASCALINE_FIND
  auto driver = std::make_shared<Driver>(table, library);
  if (missingRequired)
    fail(PASCALINE_NO_DEVICE,
         "%s: has no function %s; install a driver of CUDA 9 or later",
         path.c_str(), missingRequired);
  auto findOurs = [&](auto &member, const char *symbol) {
    member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(
        dlsym(library, symbol));
  };
  findOurs(driver->explanation, "pascalineEmulatorLastError");
  findOurs(driver->setCounting, "pascalineEmulatorSetCounting");
  findOurs(driver->counters, "pascalineEmulatorCounters");
  if (CUresult result = table.init(0); result != CUDA_SUCCESS)
    fail(PASCALINE_NO_DEVICE, "%s: cuInit gives %s", path.c_str(),
         driver->errorText(result).c_str());
  return driver;
}

Driver::~Driver() {
  if (library)
    dlclose(library);
}

std::string Driver::errorText(CUresult result) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (call.getErrorName(result, &name) != CUDA_SUCCESS || !name)
    return format("error %d of the CUDA driver", int(result));
  if (const char *sentence = explanation ? explanation() : nullptr;
      sentence && *sentence)
    return format("%s (%s)", name, sentence);
  if (call.getErrorString(result, &text) != CUDA_SUCCESS || !text)
    return name;
  return format("%s (%s)", name, text);
}

std::string emulatorPath() {
  if (const char *path = getenv("PASCALINE_EMULATOR"); path && *path)
    return path;
  std::string file = "libpascaline-emulator.so";
  Dl_info info;
  if (dladdr(reinterpret_cast<const void *>(&emulatorPath), &info) == 0 ||
      !info.dli_fname)
    return file;
  std::string beside = info.dli_fname;
  size_t slash = beside.rfind('/');
  return slash == std::string::npos ? file : beside.substr(0, slash + 1) + file;
}

} // namespace pascaline::runtime
