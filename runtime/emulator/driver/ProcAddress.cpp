// ProcAddress.cpp - functions by name, for programs that load no symbol but
// cuGetProcAddress.
#include "runtime/emulator/driver/Objects.h"

#include <string_view>

using namespace pascaline::emulator;

namespace {

struct Symbol {
  std::string_view name;
  void *function;
};

const Symbol kSymbols[] = {
#define ENTRY(name, symbol, parameters)                                        \
  {#symbol, reinterpret_cast<void *>(&symbol)},
    PASCALINE_CUDA_FUNCTIONS(ENTRY) PASCALINE_CUDA_GRAPH_FUNCTIONS(ENTRY)
#undef ENTRY
#define ENTRY(symbol, parameters) {#symbol, reinterpret_cast<void *>(&symbol)},
        PASCALINE_EMULATOR_MORE_FUNCTIONS(ENTRY)
#undef ENTRY
#define ENTRY(symbol)                                                          \
  { #symbol, reinterpret_cast < void *>(&symbol) }
            ENTRY(pascalineEmulatorCounters),
    ENTRY(pascalineEmulatorLastError),
    ENTRY(pascalineEmulatorSetCounting),
#undef ENTRY
};

void *lookUp(std::string_view name) {
  for (const Symbol &symbol : kSymbols)
    if (symbol.name == name)
      return symbol.function;
  return nullptr;
}

} // namespace

CUresult cuGetProcAddress_v2(const char *symbol, void **function, int version,
                             cuuint64_t,
                             CUdriverProcAddressQueryResult *result) {
  if (!symbol || !function)
    return invalidValue("symbol or function is null");
  // The plain name stands for the newest version, and since CUDA 12 this one
  // for a function of another name.
  constexpr int kCuda12 = 12000;
  if (version >= kCuda12 && std::string_view(symbol) == "cuGraphInstantiate")
    symbol = "cuGraphInstantiateWithFlags";
  *function = lookUp(std::string(symbol) + "_v2");
  if (!*function)
    *function = lookUp(symbol);
  constexpr int kFound = 0, kNotFound = 1;
  if (result)
    *result = *function ? kFound : kNotFound;
  if (!*function)
    return fail(CUDA_ERROR_NOT_FOUND,
                "the emulator has no " + std::string(symbol));
  return CUDA_SUCCESS;
}

// Its second version takes a fifth parameter: a caller of this one who asks for
// cuGetProcAddress gets this one.
CUresult cuGetProcAddress(const char *symbol, void **function, int version,
                          cuuint64_t flags) {
  if (symbol && function && std::string_view(symbol) == "cuGetProcAddress") {
    *function = reinterpret_cast<void *>(&cuGetProcAddress);
    return CUDA_SUCCESS;
  }
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
