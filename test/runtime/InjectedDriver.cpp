// InjectedDriver.cpp - see InjectedDriver.h.
#include "test/runtime/InjectedDriver.h"

namespace pascaline::testing {
namespace {

using runtime::DriverTable;

InjectedDriver *injected;
DriverTable real;

// The function that stands in for a member of the table.
template <auto member> struct Layer;
template <class... Arguments, CUresult (*DriverTable::*member)(Arguments...)>
struct Layer<member> {
  static inline const char *name;
  static CUresult call(Arguments... arguments) {
    if (injected->around)
      injected->around(true);
    CUresult result = injected->enter(name);
    if (result == CUDA_SUCCESS)
      result = (real.*member)(arguments...);
    injected->account(name, result == CUDA_SUCCESS);
    if (injected->around)
      injected->around(false);
    return result;
  }
};

struct Pair {
  const char *make, *giveBack, *what;
};
const Pair kPairs[] = {
    {"devicePrimaryCtxRetain", "devicePrimaryCtxRelease", "contexts"},
    {"ctxPushCurrent", "ctxPopCurrent", "current contexts"},
    {"memAlloc", "memFree", "memory"},
    {"moduleLoadDataEx", "moduleUnload", "modules"},
    {"streamCreate", "streamDestroy", "streams"},
    {"eventCreate", "eventDestroy", "events"},
    {"streamEndCapture", "graphDestroy", "graphs"},
    {"graphInstantiate", "graphExecDestroy", "executable graphs"}};

} // namespace

InjectedDriver::InjectedDriver(const DriverTable &table) {
  injected = this;
  real = table;
  DriverTable layered = table;
#define LAYER(member, symbol, parameters)                                      \
  Layer<&DriverTable::member>::name = #member;                                 \
  layered.member = Layer<&DriverTable::member>::call;
  PASCALINE_CUDA_FUNCTIONS(LAYER)
  PASCALINE_CUDA_GRAPH_FUNCTIONS(LAYER)
#undef LAYER
  over = std::make_shared<const runtime::Driver>(layered, nullptr);
}

InjectedDriver::~InjectedDriver() { injected = nullptr; }

std::vector<std::string> InjectedDriver::entries() {
  return {
#define ENTRY(member, symbol, parameters) #member,
      PASCALINE_CUDA_FUNCTIONS(ENTRY) PASCALINE_CUDA_GRAPH_FUNCTIONS(ENTRY)
#undef ENTRY
  };
}

void InjectedDriver::failOn(const std::string &call, int which, CUresult with) {
  name = call;
  number = which;
  error = with;
  hit = false;
}

void InjectedDriver::loseAt(int numberOfAnyCall) { lostAt = numberOfAnyCall; }

int InjectedDriver::count(const std::string &of) const {
  auto found = counts.find(of);
  return found == counts.end() ? 0 : found->second;
}

CUresult InjectedDriver::enter(const char *call) {
  ++calls;
  if (isLost())
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (++counts[call] != number || name != call)
    return CUDA_SUCCESS;
  hit = true;
  return error;
}

void InjectedDriver::account(const char *call, bool succeeded) {
  for (const Pair &pair : kPairs) {
    if (succeeded && std::string(call) == pair.make)
      ++balance[pair.what];
    if (std::string(call) == pair.giveBack)
      --balance[pair.what];
  }
}

std::string InjectedDriver::unbalanced() const {
  std::string text;
  for (const auto &[what, number] : balance)
    if (number)
      text += (text.empty() ? "" : ", ") + what + " " + std::to_string(number);
  return text;
}

} // namespace pascaline::testing
