#include "runtime/emulator/translate/Layout.h"

#include <algorithm>

namespace pascaline::emulator {

using ptx::Operand;
using ptx::Space;
using ptx::Variable;

namespace {

class LayoutBuilder {
public:
  LayoutBuilder(const ptx::Module &module, KernelLayout &layout,
                Diagnostic &diagnostic)
      : module(module), layout(layout), diagnostic(diagnostic) {}

  bool run(const ptx::Function &kernel);
  bool runRest(const std::unordered_set<const ptx::Function *> &reached);

private:
  bool reach();
  bool refuseRecursion();
  bool placeParams(const ptx::Function &kernel);
  void note(const Operand &operand);
  bool place(const Variable &variable, uint64_t &used, uint64_t limit,
             std::string_view space);

  const ptx::Module &module;
  KernelLayout &layout;
  Diagnostic &diagnostic;
  std::vector<const Variable *> referenced; // shared ones, once each
  std::unordered_set<const Variable *> seen;
  std::unordered_map<const ptx::Function *, std::vector<const ptx::Function *>>
      callees;
};

void LayoutBuilder::note(const Operand &operand) {
  if (operand.variable && operand.variable->space == Space::Shared &&
      seen.insert(operand.variable).second)
    referenced.push_back(operand.variable);
  for (const Operand &element : operand.elements)
    note(element);
}

// The function that a call names: its first operand that is a Name.
const ptx::Function *calleeOf(const ptx::Module &module,
                              const ptx::Instruction &call,
                              std::string_view &name) {
  for (const Operand &operand : call.operands)
    if (operand.is(Operand::Kind::Name)) {
      name = operand.name;
      auto found = module.functionsByName.find(name);
      return found == module.functionsByName.end() ? nullptr : found->second;
    }
  return nullptr;
}

// Adds what the layout's functions call.
bool LayoutBuilder::reach() {
  std::unordered_set<const ptx::Function *> known(layout.functions.begin(),
                                                  layout.functions.end());
  for (size_t next = 0; next < layout.functions.size(); ++next) {
    const ptx::Function &function = *layout.functions[next];
    for (const ptx::Instruction &instruction : function.body) {
      for (const Operand &operand : instruction.operands)
        note(operand);
      if (instruction.opcode != "call")
        continue;
      std::string_view name;
      const ptx::Function *callee = calleeOf(module, instruction, name);
      if (!callee || !callee->hasBody)
        return diagnostic.fail(
            name.empty() ? ErrorKind::Unsupported : ErrorKind::InvalidPtx,
            instruction.line,
            name.empty() ? "calls through a register are not supported"
                         : "function '" + std::string(name) +
                               "' is called and not defined");
      if (callee->isEntry)
        return diagnostic.fail(ErrorKind::InvalidPtx, instruction.line,
                               "kernel '" + std::string(name) +
                                   "' is called like a function");
      callees[&function].push_back(callee);
      if (known.insert(callee).second)
        layout.functions.push_back(callee);
    }
  }
  return true;
}

// Takes away functions that call nothing that is left; a rest is a cycle.
bool LayoutBuilder::refuseRecursion() {
  std::unordered_map<const ptx::Function *, size_t> open;
  std::unordered_map<const ptx::Function *, std::vector<const ptx::Function *>>
      callers;
  std::vector<const ptx::Function *> ready;
  for (const ptx::Function *function : layout.functions) {
    open[function] = callees[function].size();
    for (const ptx::Function *callee : callees[function])
      callers[callee].push_back(function);
    if (callees[function].empty())
      ready.push_back(function);
  }
  size_t done = 0;
  while (!ready.empty()) {
    const ptx::Function *function = ready.back();
    ready.pop_back();
    ++done;
    for (const ptx::Function *caller : callers[function])
      if (--open[caller] == 0)
        ready.push_back(caller);
  }
  if (done == layout.functions.size())
    return true;
  for (const ptx::Function *function : layout.functions)
    if (open[function] && !function->isEntry)
      return diagnostic.fail(ErrorKind::Unsupported, function->line,
                             "function '" + std::string(function->name) +
                                 "' takes part in recursion, which is not "
                                 "supported");
  return true;
}

bool LayoutBuilder::place(const Variable &variable, uint64_t &used,
                          uint64_t limit, std::string_view space) {
  uint64_t offset =
      (used + variable.align - 1) / variable.align * variable.align;
  if (variable.bytes > limit || offset + variable.bytes > limit)
    return diagnostic.fail(ErrorKind::InvalidPtx, variable.line,
                           "'" + std::string(variable.name) + "' needs " +
                               std::to_string(variable.bytes) + " bytes at " +
                               std::to_string(offset) + "; kernel '" +
                               layout.info.name + "' may use " +
                               std::to_string(limit) + " of " +
                               std::string(space) + " memory");
  layout.offsets[&variable] = static_cast<uint32_t>(offset);
  used = offset + variable.bytes;
  return true;
}

bool LayoutBuilder::placeParams(const ptx::Function &kernel) {
  uint64_t used = 0;
  for (const Variable *param : kernel.params) {
    if (!param)
      return diagnostic.fail(ErrorKind::InvalidPtx, kernel.line,
                             "a kernel's parameters must be .param");
    if (!place(*param, used, kMaxParamBytes, "parameter"))
      return false;
    layout.info.params.push_back({layout.offsets[param],
                                  static_cast<uint32_t>(param->bytes),
                                  param->align});
  }
  layout.info.paramBytes = static_cast<uint32_t>(used);
  return true;
}

bool LayoutBuilder::run(const ptx::Function &kernel) {
  KernelInfo &info = layout.info;
  info.name = kernel.name;
  layout.functions.push_back(&kernel);
  if (!placeParams(kernel) || !reach() || !refuseRecursion())
    return false;
  uint64_t shared = 0, local = 0;
  uint64_t dynamicAlign = 16;
  for (const Variable *variable : referenced)
    if (variable->isExtern)
      dynamicAlign = std::max<uint64_t>(dynamicAlign, variable->align);
    else if (!place(*variable, shared, kMaxStaticSharedBytes, "shared"))
      return false;
  // All extern arrays start where the static ones end.
  uint64_t dynamicOffset =
      (shared + dynamicAlign - 1) / dynamicAlign * dynamicAlign;
  for (const Variable *variable : referenced)
    if (variable->isExtern) {
      layout.offsets[variable] = static_cast<uint32_t>(dynamicOffset);
      shared = dynamicOffset;
    }
  for (const ptx::Function *function : layout.functions)
    for (const Variable &variable : function->variables)
      if (variable.space == Space::Local &&
          !place(variable, local, kLocalWindowBytes, "local"))
        return false;
  info.staticSharedBytes = static_cast<uint32_t>(shared);
  info.localBytes = static_cast<uint32_t>(local);
  if (kernel.maxThreads[0])
    info.maxThreads =
        kernel.maxThreads[0] * kernel.maxThreads[1] * kernel.maxThreads[2];
  if (kernel.requiredThreads[0]) {
    std::copy(kernel.requiredThreads, kernel.requiredThreads + 3,
              info.requiredBlock);
    info.maxThreads =
        info.requiredBlock[0] * info.requiredBlock[1] * info.requiredBlock[2];
  }
  return true;
}

// Every variable begins at 0: the code is never run.
bool LayoutBuilder::runRest(
    const std::unordered_set<const ptx::Function *> &reached) {
  layout.info.name = "(functions that no kernel calls)";
  for (const ptx::Function &function : module.functions)
    if (function.hasBody && !function.isEntry && !reached.count(&function))
      layout.functions.push_back(&function);
  if (!reach())
    return false;
  auto check = [&](const Variable &variable, uint64_t limit,
                   std::string_view space) {
    uint64_t used = 0;
    return place(variable, used, limit, space);
  };
  for (const Variable *variable : referenced)
    if (!check(*variable, kMaxStaticSharedBytes, "shared"))
      return false;
  for (const ptx::Function *function : layout.functions)
    for (const Variable &variable : function->variables)
      if (variable.space == Space::Local &&
          !check(variable, kLocalWindowBytes, "local"))
        return false;
  return true;
}

} // namespace

bool layOutRest(const ptx::Module &module,
                const std::unordered_set<const ptx::Function *> &reached,
                KernelLayout &layout, Diagnostic &diagnostic) {
  return LayoutBuilder(module, layout, diagnostic).runRest(reached);
}

bool layOut(const ptx::Module &module, const ptx::Function &kernel,
            KernelLayout &layout, Diagnostic &diagnostic) {
  return LayoutBuilder(module, layout, diagnostic).run(kernel);
}

} // namespace pascaline::emulator
