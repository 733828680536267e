#include "runtime/emulator/translate/Translator.h"
#include "runtime/emulator/ptx/Parser.h"
#include "runtime/emulator/translate/AccessGroups.h"
#include "runtime/emulator/translate/Emitter.h"
#include "runtime/emulator/translate/HostCompiler.h"
#include "runtime/emulator/translate/HostFunctions.h"
#include "runtime/emulator/translate/ObjectCache.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace pascaline::emulator {

namespace {

// A kernel and the functions it reaches, each unit in a context of its own so
// that units compile in parallel.
struct Unit {
  KernelLayout layout;
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  std::unique_ptr<llvm::MemoryBuffer> object;
  std::string problem;
};

llvm::Function *declare(llvm::Module &module, const ptx::Function &function) {
  llvm::LLVMContext &context = module.getContext();
  llvm::Type *pointer = llvm::PointerType::getUnqual(context);
  size_t count = 1; // ThreadState *
  llvm::Type *result = llvm::Type::getVoidTy(context);
  if (!function.isEntry) {
    count += function.params.size() + function.results.size();
    result = llvm::Type::getInt1Ty(context); // has the thread exited?
  }
  auto *type = llvm::FunctionType::get(
      result, std::vector<llvm::Type *>(count, pointer), false);
  auto *code = llvm::Function::Create(type,
                                      function.isEntry
                                          ? llvm::GlobalValue::ExternalLinkage
                                          : llvm::GlobalValue::InternalLinkage,
                                      symbolOf(function), module);
  code->setDoesNotThrow();
  // A huge frame must meet the guard page under the fiber's stack.
  code->addFnAttr("probe-stack", "inline-asm");
  code->addFnAttr("prefer-vector-width", "512");
  if (!function.isEntry)
    code->addFnAttr(llvm::Attribute::InlineHint);
  return code;
}

bool translate(const ptx::Module &source, Unit &unit, bool count,
               Diagnostic &diagnostic) {
  unit.context = std::make_unique<llvm::LLVMContext>();
  unit.module =
      std::make_unique<llvm::Module>(unit.layout.info.name, *unit.context);
  std::vector<llvm::Function *> codes;
  for (const ptx::Function *function : unit.layout.functions) {
    codes.push_back(declare(*unit.module, *function));
    if (unit.layout.info.sanitized)
      noteAccesses(*function, unit.layout.info);
  }
  auto plan = count ? std::make_shared<CountPlan>() : nullptr;
  for (size_t i = 0; i < codes.size(); ++i) {
    Emitter emitter(source, unit.layout, *unit.layout.functions[i], codes[i],
                    diagnostic, plan.get());
    if (!emitter.run())
      return false;
    unit.layout.info.switches |= emitter.switches;
  }
  unit.layout.info.counted = std::move(plan);
  return true;
}

} // namespace

struct TranslatedModule::Implementation {
  std::unique_ptr<ptx::Module> source;
  std::vector<const ptx::Variable *> declared; // as `variables`
  std::vector<ModuleVariable> variables;
  std::unordered_set<std::string_view> definedNames; // of the module itself
  std::vector<Unit> units;
  std::vector<KernelInfo> kernels; // as `units`
  std::unique_ptr<HostCompiler> compiler;

  bool collectVariables(Diagnostic &diagnostic);
  bool addVariable(const ptx::Variable &variable, Diagnostic &diagnostic);
  bool relocate(const std::vector<uint64_t> &addresses, std::string &problem);
  void compileAll();
  uint32_t find(const ptx::Variable &from, std::string_view name) const;
};

TranslatedModule::TranslatedModule(
    std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
TranslatedModule::~TranslatedModule() = default;

bool TranslatedModule::Implementation::addVariable(
    const ptx::Variable &variable, Diagnostic &diagnostic) {
  if (variable.space != Space::Global && variable.space != Space::Const)
    return true;
  // An extern variable that nothing defines is defined by its first
  // declaration, as for ptxas when it is given a whole program; the host finds
  // it by name.
  if (variable.isExtern && !definedNames.insert(variable.name).second)
    return true;
  if (variable.isExtern && variable.bytes == 0)
    return diagnostic.fail(ErrorKind::InvalidPtx, variable.line,
                           "variable '" + std::string(variable.name) +
                               "' is extern, has no size and is nowhere "
                               "defined");
  declared.push_back(&variable);
  variables.push_back({symbolOf(variable).substr(strlen("ptx.variable.")),
                       variable.bytes, variable.align,
                       variable.space == Space::Const, variable.isTexture,
                       variable.initial});
  return true;
}

bool TranslatedModule::Implementation::collectVariables(
    Diagnostic &diagnostic) {
  for (const ptx::Variable &variable : source->variables)
    if (!variable.isExtern)
      definedNames.insert(variable.name);
  for (const ptx::Variable &variable : source->variables)
    if (!addVariable(variable, diagnostic))
      return false;
  for (const ptx::Function &function : source->functions)
    for (const ptx::Variable &variable : function.variables)
      if (!addVariable(variable, diagnostic))
        return false;
  for (const ptx::Variable *variable : declared)
    for (const ptx::Relocation &relocation : variable->relocations)
      if (find(*variable, relocation.target) == declared.size())
        return diagnostic.fail(ErrorKind::InvalidPtx, relocation.line,
                               "'" + std::string(relocation.target) +
                                   "' is no variable whose address is known");
  return true;
}

uint32_t TranslatedModule::Implementation::find(const ptx::Variable &from,
                                                std::string_view name) const {
  uint32_t found = static_cast<uint32_t>(declared.size());
  for (uint32_t i = 0; i < declared.size(); ++i)
    if (declared[i]->name == name &&
        (!declared[i]->owner || declared[i]->owner == from.owner))
      found = i;
  return found;
}

std::unique_ptr<TranslatedModule>
TranslatedModule::create(std::string_view ptx, std::string *log,
                         ErrorKind *kind, bool sanitize, bool count) {
  Diagnostic diagnostic;
  auto made = std::make_unique<Implementation>();
  auto refuse = [&]() -> std::unique_ptr<TranslatedModule> {
    if (log)
      *log += diagnostic.text();
    if (kind)
      *kind = diagnostic.kind;
    return nullptr;
  };
  made->source = ptx::parse(ptx, diagnostic);
  if (!made->source || !made->collectVariables(diagnostic))
    return refuse();
  std::unordered_set<const ptx::Function *> reached;
  for (const ptx::Function &function : made->source->functions) {
    if (!function.isEntry || !function.hasBody)
      continue;
    Unit &unit = made->units.emplace_back();
    unit.layout.info.sanitized = sanitize;
    if (!layOut(*made->source, function, unit.layout, diagnostic) ||
        !translate(*made->source, unit, count, diagnostic))
      return refuse();
    made->kernels.push_back(unit.layout.info);
    reached.insert(unit.layout.functions.begin(), unit.layout.functions.end());
  }
  // The rest is translated to be checked.
  Unit rest;
  if (!layOutRest(*made->source, reached, rest.layout, diagnostic) ||
      !translate(*made->source, rest, /*count=*/false, diagnostic))
    return refuse();
  if (kind)
    *kind = ErrorKind::None;
  return std::unique_ptr<TranslatedModule>(
      new TranslatedModule(std::move(made)));
}

// Writes the addresses that initializers name.
bool TranslatedModule::Implementation::relocate(
    const std::vector<uint64_t> &addresses, std::string &problem) {
  if (addresses.size() != declared.size()) {
    problem = "the module has " + std::to_string(declared.size()) +
              " variables, " + std::to_string(addresses.size()) +
              " addresses were given";
    return false;
  }
  for (size_t i = 0; i < declared.size(); ++i)
    for (const ptx::Relocation &relocation : declared[i]->relocations) {
      uint64_t value = addresses[find(*declared[i], relocation.target)] +
                       static_cast<uint64_t>(relocation.addend);
      std::memcpy(variables[i].initial.data() + relocation.offset, &value,
                  sizeof value);
    }
  return true;
}

void TranslatedModule::Implementation::compileAll() {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < units.size(); i = next++) {
      Unit &unit = units[i];
      unit.object = compiler->compile(*unit.module, unit.problem);
      unit.module.reset();
      unit.context.reset();
    }
  };
  size_t count =
      std::min<size_t>(std::thread::hardware_concurrency(), units.size());
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < count; ++i)
    helpers.emplace_back(work);
  work();
  for (std::thread &helper : helpers)
    helper.join();
  if (const ObjectCache *cache = ObjectCache::ofUser())
    cache->trim();
}

bool TranslatedModule::link(const std::vector<uint64_t> &variableAddresses,
                            std::string *log) {
  Implementation &all = *implementation;
  std::string problem;
  auto refuse = [&] {
    if (log)
      *log += problem;
    return false;
  };
  if (all.compiler) {
    problem = "the module is linked already";
    return refuse();
  }
  if (!all.relocate(variableAddresses, problem))
    return refuse();
  all.compiler = HostCompiler::create(problem);
  if (!all.compiler)
    return refuse();
  std::vector<std::pair<std::string, uint64_t>> symbols;
  for (size_t i = 0; i < all.declared.size(); ++i)
    symbols.emplace_back(symbolOf(*all.declared[i]), variableAddresses[i]);
  for (const HostFunction &function : hostFunctions())
    symbols.emplace_back(function.name,
                         reinterpret_cast<uint64_t>(function.address));
  if (!all.compiler->define(symbols, problem))
    return refuse();
  all.compileAll();
  for (Unit &unit : all.units) {
    problem = unit.problem;
    if (!unit.object || !all.compiler->add(std::move(unit.object), problem))
      return refuse();
  }
  for (size_t i = 0; i < all.units.size(); ++i) {
    const ptx::Function &function = *all.units[i].layout.functions[0];
    void *address = all.compiler->find(symbolOf(function), problem);
    if (!address)
      return refuse();
    all.kernels[i].function = reinterpret_cast<ThreadFunction>(address);
  }
  return true;
}

const std::vector<ModuleVariable> &TranslatedModule::variables() const {
  return implementation->variables;
}

const std::vector<KernelInfo> &TranslatedModule::kernels() const {
  return implementation->kernels;
}

} // namespace pascaline::emulator
