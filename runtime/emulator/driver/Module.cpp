// Module.cpp - loads PTX, and answers questions about what is in it.
#include "runtime/emulator/driver/Capture.h"
#include "runtime/emulator/driver/Counters.h"
#include "runtime/emulator/scheduler/Shadow.h"

#include <cstdio>
#include <cstring>
#include <new>
#include <string_view>

using namespace pascaline::emulator;

namespace {

constexpr int kLastJitOption = 40; // documented ones lie below; most are hints
constexpr uint64_t kMaxAlignment = 256; // of what DeviceMemory gives
constexpr int kBinaryVersion = 61;

struct LogBuffer {
  char *text = nullptr;
  size_t size = 0;
  void **sizeValue = nullptr; // gets the number of bytes written
};

struct JitOptions {
  LogBuffer info, error;
};

CUresult readOptions(unsigned count, CUjit_option *options, void **values,
                     JitOptions *read) {
  if (count && (!options || !values))
    return invalidValue("there are " + std::to_string(count) +
                        " options, but options or values is null");
  for (unsigned i = 0; i < count; ++i) {
    switch (options[i]) {
    case CU_JIT_INFO_LOG_BUFFER:
      read->info.text = static_cast<char *>(values[i]);
      break;
    case CU_JIT_ERROR_LOG_BUFFER:
      read->error.text = static_cast<char *>(values[i]);
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      read->info.size =
          static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
      read->info.sizeValue = &values[i];
      break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      read->error.size =
          static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));
      read->error.sizeValue = &values[i];
      break;
    default:
      if (options[i] < 0 || options[i] > kLastJitOption)
        return invalidValue("JIT option " + std::to_string(options[i]) +
                            " is not known");
    }
  }
  return CUDA_SUCCESS;
}

void writeLog(const LogBuffer &buffer, const std::string &text) {
  size_t written = 0;
  if (buffer.text && buffer.size) {
    written = std::min(text.size(), buffer.size - 1);
    std::memcpy(buffer.text, text.data(), written);
    buffer.text[written] = '\0';
  }
  if (buffer.sizeValue)
    *buffer.sizeValue = reinterpret_cast<void *>(written);
}

CUresult resultOf(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::UnsupportedVersion:
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  case ErrorKind::UnsupportedTarget:
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  case ErrorKind::Unsupported:
    return CUDA_ERROR_NOT_SUPPORTED;
  case ErrorKind::Internal:
    return CUDA_ERROR_UNKNOWN;
  default:
    return CUDA_ERROR_INVALID_PTX;
  }
}

// Machine code is recognised by its first bytes; we run PTX alone.
bool isMachineCode(const void *image) {
  uint32_t magic = 0;
  for (int i = 0; i < 4; ++i) { // stops at the end of a shorter text
    uint32_t byte = static_cast<const unsigned char *>(image)[i];
    magic |= byte << 8 * i;
    if (!byte)
      break;
  }
  constexpr uint32_t kElf = 0x464c457f;
  constexpr uint32_t kFatBinary = 0xba55ed50;
  constexpr uint32_t kFatBinaryWrapper = 0x466243b1;
  return magic == kElf || magic == kFatBinary || magic == kFatBinaryWrapper;
}

int targetOf(std::string_view ptx) {
  size_t at = ptx.find("sm_");
  int target = 0;
  if (at != std::string_view::npos)
    for (at += 3;
         at < ptx.size() && ptx[at] >= '0' && ptx[at] <= '9' && target < 1000;
         ++at)
      target = target * 10 + (ptx[at] - '0');
  return target;
}

void freeVariables(const CUmod_st &module) {
  for (uint64_t address : module.addresses)
    if (address)
      DeviceMemory::get().release(address);
}

CUresult placeVariables(CUmod_st &module, std::string *log) {
  for (const ModuleVariable &variable : module.translated->variables()) {
    uint64_t address = 0;
    if (variable.align > kMaxAlignment) {
      *log += "variable " + variable.name + " is aligned to " +
              std::to_string(variable.align) +
              " bytes, the emulator aligns to 256 at most";
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    // Owned by the module, so that cuMemFree cannot take it away.
    if (DeviceMemory::get().allocate(std::max<uint64_t>(variable.bytes, 1),
                                     &module,
                                     &address) != AllocationStatus::Done) {
      *log += "variable " + variable.name + " of " +
              std::to_string(variable.bytes) +
              " bytes does not fit in device memory";
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    module.addresses.push_back(address);
    Shadow::noteDefined(address, variable.bytes);
  }
  return CUDA_SUCCESS;
}

CUresult load(CUmod_st &module, const char *ptx, std::string *log) {
  ErrorKind kind = ErrorKind::InvalidPtx;
  module.translated = TranslatedModule::create(
      ptx, log, &kind, Shadow::wanted(), countingWanted());
  if (!module.translated)
    return resultOf(kind);
  if (CUresult result = placeVariables(module, log))
    return result;
  if (!module.translated->link(module.addresses, log))
    return CUDA_ERROR_UNKNOWN;
  size_t index = 0;
  for (const ModuleVariable &variable : module.translated->variables()) {
    if (!variable.initial.empty())
      std::memcpy(reinterpret_cast<void *>(module.addresses[index]),
                  variable.initial.data(), variable.initial.size());
    if (variable.isTexture &&
        !addTextureReference(module, variable.name, module.addresses[index]))
      return CUDA_ERROR_OUT_OF_MEMORY;
    ++index;
  }
  for (const KernelInfo &kernel : module.translated->kernels())
    module.functions.push_back(std::make_unique<CUfunc_st>(
        CUfunc_st{&module, module.context, &kernel}));
  module.ptxTarget = targetOf(ptx);
  return CUDA_SUCCESS;
}

} // namespace

CUmod_st::~CUmod_st() {
  removeTextures(*this);
  freeVariables(*this);
}

namespace {

CUresult loadImage(CUmodule *module, const void *image, unsigned count = 0,
                   CUjit_option *options = nullptr, void **values = nullptr,
                   const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  JitOptions jit;
  if (CUresult result = readOptions(count, options, values, &jit))
    return result;
  if (!module || !image)
    return invalidValue("module or image is null");
  std::string log;
  CUresult result;
  auto created = std::make_shared<CUmod_st>();
  created->context = context.get();
  if (isMachineCode(image)) {
    log =
        "the image is machine code (a cubin or fatbin); the emulator runs PTX";
    result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  } else {
    try {
      result = load(*created, static_cast<const char *>(image), &log);
    } catch (const std::bad_alloc &) {
      log = "the host has no memory to translate the image";
      result = CUDA_ERROR_OUT_OF_MEMORY;
    }
  }
  writeLog(jit.info, "");
  writeLog(jit.error, log);
  if (result != CUDA_SUCCESS)
    return fail(result, log);

  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  driver.modules[created.get()] = created;
  for (auto &function : created->functions)
    driver.functions[function.get()] = created;
  for (auto &texture : created->textures)
    driver.textureReferences[texture.get()] = created;
  *module = created.get();
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  return loadImage(module, image, count, options, values);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  return loadImage(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  return loadImage(module, image);
}

CUresult cuModuleLoad(CUmodule *module, const char *file) {
  if (!file)
    return invalidValue("file is null");
  std::FILE *input = std::fopen(file, "rb");
  if (!input)
    return fail(CUDA_ERROR_FILE_NOT_FOUND,
                std::string(file) + " cannot be read");
  std::string text;
  char part[4096];
  while (size_t got = std::fread(part, 1, sizeof part, input))
    text.append(part, got);
  std::fclose(input);
  return loadImage(module, text.c_str());
}

CUresult cuModuleUnload(CUmodule module) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  Driver &driver = Driver::get();
  std::unique_lock<std::shared_mutex> alone(driver.device);
  std::shared_ptr<CUmod_st> last; // dies after the objects lock
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.modules.find(module);
  if (found == driver.modules.end())
    return invalidHandle("the module");
  last = found->second;
  forgetParts(*last);
  driver.modules.erase(found);
  return CUDA_SUCCESS;
}

CUresult pascaline::emulator::enterModule(CUmodule module,
                                          std::shared_ptr<CUmod_st> *found,
                                          const char *call) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  Driver &driver = Driver::get();
  *found = driver.find(driver.modules, module);
  return *found ? CUDA_SUCCESS : invalidHandle("the module");
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name) {
  std::shared_ptr<CUmod_st> found;
  if (CUresult result = enterModule(module, &found))
    return result;
  if (!function || !name)
    return invalidValue("function or name is null");
  for (auto &candidate : found->functions)
    if (candidate->kernel->name == name) {
      *function = candidate.get();
      return CUDA_SUCCESS;
    }
  return fail(CUDA_ERROR_NOT_FOUND,
              "the module has no kernel named " + std::string(name));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes,
                              CUmodule module, const char *name) {
  std::shared_ptr<CUmod_st> found;
  if (CUresult result = enterModule(module, &found))
    return result;
  if (!name)
    return invalidValue("name is null");
  const auto &variables = found->translated->variables();
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].name == name) {
      if (pointer)
        *pointer = found->addresses[i];
      if (bytes)
        *bytes = variables[i].bytes;
      return CUDA_SUCCESS;
    }
  return fail(CUDA_ERROR_NOT_FOUND,
              "the module has no variable named " + std::string(name));
}

namespace {

CUresult enterWith(CUfunction function, ContextRef *context,
                   std::shared_ptr<CUmod_st> *module,
                   const char *call = __builtin_FUNCTION()) {
  if (CUresult result = enter(context, call))
    return result;
  Driver &driver = Driver::get();
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.functions.find(function);
  if (found == driver.functions.end())
    return invalidHandle("the function");
  *module = found->second;
  return CUDA_SUCCESS;
}

} // namespace

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute,
                            CUfunction function) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, &context, &module))
    return result;
  if (!value)
    return invalidValue("value is null");
  const KernelInfo &kernel = *function->kernel;
  switch (static_cast<int>(attribute)) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = kernel.maxThreads;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = kernel.staticSharedBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    *value = 0;
    for (const ModuleVariable &variable : module->translated->variables())
      *value += variable.isConst ? variable.bytes : 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = kernel.localBytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 0; // PTX's registers are virtual: only ptxas knows
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    *value = module->ptxTarget;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = kBinaryVersion;
    return CUDA_SUCCESS;
  case 8: // the most dynamic shared memory
    *value = int(kMaxSharedBytesPerBlock) - int(kernel.staticSharedBytes);
    return CUDA_SUCCESS;
  }
  return invalidValue("function attribute " + std::to_string(attribute) +
                      " is not known");
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute,
                            int value) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, &context, &module))
    return result;
  constexpr int kMaxDynamicShared = 8, kCarveout = 9;
  int most =
      int(kMaxSharedBytesPerBlock) - int(function->kernel->staticSharedBytes);
  if (attribute == kMaxDynamicShared && value >= 0 && value <= most)
    return CUDA_SUCCESS;
  if (attribute == kCarveout && value >= -1 && value <= 100)
    return CUDA_SUCCESS; // a hint
  return invalidValue("function attribute " + std::to_string(attribute) +
                      " cannot be set to " + std::to_string(value));
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config) {
  ContextRef context;
  std::shared_ptr<CUmod_st> module;
  if (CUresult result = enterWith(function, &context, &module))
    return result;
  constexpr CUfunc_cache kPreferEqual = 3;
  if (config < 0 || config > kPreferEqual)
    return invalidValue("cache configuration " + std::to_string(config) +
                        " is not known");
  return CUDA_SUCCESS; // a hint
}
