#include "runtime/emulator/driver/Injection.h"
#include "runtime/emulator/driver/Objects.h"

#include <charconv>
#include <cstdlib>

namespace pascaline::emulator {
namespace {

struct Rule {
  std::string_view call; // without version; "*": any
  uint64_t number = 0;   // which call fails
  bool lost = false;
  CUresult error = CUDA_SUCCESS;
  std::atomic<uint64_t> count{0};
};

struct Plan {
  std::vector<std::unique_ptr<Rule>> rules;
  std::string problem;
  std::atomic<bool> lost{false};
};

std::string_view withoutVersion(std::string_view call) {
  size_t end = call.size();
  while (end > 0 && call[end - 1] >= '0' && call[end - 1] <= '9')
    --end;
  if (end < call.size() && end > 2 && call.substr(end - 2, 2) == "_v")
    return call.substr(0, end - 2);
  return call;
}

template <class T> bool toNumber(std::string_view text, T *number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse(std::string_view text, Rule &rule) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return false;
  rule.call = withoutVersion(text.substr(0, colon));
  void *function = nullptr;
  if (rule.call != "*" &&
      cuGetProcAddress_v2(std::string(rule.call).c_str(), &function, 0, 0,
                          nullptr) != CUDA_SUCCESS)
    return false;
  text.remove_prefix(colon + 1);
  size_t equals = text.find('=');
  std::string_view error = equals == std::string_view::npos
                               ? std::string_view()
                               : text.substr(equals + 1);
  if (!toNumber(text.substr(0, equals), &rule.number) || rule.number == 0)
    return false;
  rule.lost = error == "lost";
  if (rule.lost || equals == std::string_view::npos) {
    bool allocates = rule.call.substr(0, 10) == "cuMemAlloc" ||
                     rule.call == "cuMemHostAlloc";
    rule.error =
        allocates && !rule.lost ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
    return true;
  }
  int code = 0;
  if (!toNumber(error, &code) || code <= 0)
    return false;
  rule.error = CUresult(code);
  return true;
}

Plan *readPlan() {
  const char *setting = std::getenv("PASCALINE_EMULATOR_FAIL");
  if (!setting || !*setting)
    return nullptr;
  auto *plan = new Plan; // never destroyed, as the driver
  // Rules name parts of the setting, which programs may change.
  std::string_view text = *new std::string(setting);
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    auto rule = std::make_unique<Rule>();
    if (!parse(text.substr(0, comma), *rule))
      plan->problem = "PASCALINE_EMULATOR_FAIL: '" +
                      std::string(text.substr(0, comma)) +
                      "' is not of the form call:number, call:number=error or "
                      "call:number=lost, with a call that there is";
    plan->rules.push_back(std::move(rule));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return plan;
}

Plan *plan() {
  static Plan *const read = readPlan();
  return read;
}

} // namespace

CUresult injectedFailure(const char *call) {
  Plan *all = plan();
  if (!all)
    return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  std::string_view name = withoutVersion(call);
  for (auto &rule : all->rules)
    if ((rule->call == name || rule->call == "*") &&
        ++rule->count == rule->number) {
      result = rule->error;
      if (rule->lost)
        all->lost = true;
    }
  if (all->lost)
    return fail(CUDA_ERROR_UNKNOWN,
                "the device is lost (PASCALINE_EMULATOR_FAIL)");
  if (result != CUDA_SUCCESS)
    return fail(result, std::string(call) +
                            " fails on request (PASCALINE_EMULATOR_FAIL)");
  return CUDA_SUCCESS;
}

const char *injectionProblem() {
  Plan *all = plan();
  return all && !all->problem.empty() ? all->problem.c_str() : nullptr;
}

bool isSticky(CUresult error) {
  switch (int(error)) {
  case CUDA_ERROR_ILLEGAL_ADDRESS:
  case CUDA_ERROR_LAUNCH_TIMEOUT:
  case CUDA_ERROR_ASSERT:
  case 714: // hardware stack error
  case CUDA_ERROR_ILLEGAL_INSTRUCTION:
  case CUDA_ERROR_MISALIGNED_ADDRESS:
  case 717: // invalid address space
  case 718: // invalid program counter
  case CUDA_ERROR_LAUNCH_FAILED:
    return true;
  }
  return false;
}

} // namespace pascaline::emulator
