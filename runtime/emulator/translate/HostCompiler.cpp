#include "runtime/emulator/translate/HostCompiler.h"
#include "runtime/emulator/translate/ObjectCache.h"
#include "runtime/emulator/translate/TileVectorizer.h"

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

namespace pascaline::emulator {

using namespace llvm::orc;

struct HostCompiler::Implementation {
  explicit Implementation(JITTargetMachineBuilder builder)
      : builder(std::move(builder)) {}
  JITTargetMachineBuilder builder;
  std::unique_ptr<LLJIT> jit;
};

HostCompiler::HostCompiler(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
HostCompiler::~HostCompiler() = default;

static bool failed(llvm::Error error, std::string &problem) {
  if (!error)
    return false;
  problem = llvm::toString(std::move(error));
  return true;
}

std::unique_ptr<HostCompiler> HostCompiler::create(std::string &problem) {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
  });
  auto builder = JITTargetMachineBuilder::detectHost();
  if (!builder) {
    problem = llvm::toString(builder.takeError());
    return nullptr;
  }
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  auto implementation = std::make_unique<Implementation>(std::move(*builder));
  // Nothing of the process is visible to generated code but what define()
  // tells; no platform, since there are no initialisers.
  auto jit = LLJITBuilder()
                 .setJITTargetMachineBuilder(implementation->builder)
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(setUpInactivePlatform)
                 .create();
  if (!jit) {
    problem = llvm::toString(jit.takeError());
    return nullptr;
  }
  implementation->jit = std::move(*jit);
  return std::unique_ptr<HostCompiler>(
      new HostCompiler(std::move(implementation)));
}

const llvm::DataLayout &HostCompiler::dataLayout() const {
  return implementation->jit->getDataLayout();
}

static void optimise(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions options;
  options.SLPVectorization = true;
  options.LoopVectorization = true;
  llvm::PassBuilder builder(&machine, options);
  builder.registerVectorizerStartEPCallback(
      [](llvm::FunctionPassManager &passes, llvm::OptimizationLevel) {
        passes.addPass(TileVectorizer());
      });
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

// All that decides the bytes of an object: the IR before optimisation, which
// names variables and host functions and knows no address, who optimises it
// (this library, LLVM) and for which CPU.
static ObjectCache::Key cacheKey(const llvm::Module &module,
                                 const llvm::TargetMachine &machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  static const std::string build = emulatorBuildId();
  for (llvm::StringRef part :
       {llvm::StringRef(build), llvm::StringRef(LLVM_VERSION_STRING),
        machine.getTargetCPU(), machine.getTargetFeatureString()})
    stream << part.size() << ':' << part;
  llvm::WriteBitcodeToFile(module, stream);
  return llvm::SHA256::hash(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
}

std::unique_ptr<llvm::MemoryBuffer>
HostCompiler::compile(llvm::Module &module, std::string &problem) const {
  JITTargetMachineBuilder builder = implementation->builder;
  auto machine = builder.createTargetMachine();
  if (failed(machine.takeError(), problem))
    return nullptr;
  module.setDataLayout((*machine)->createDataLayout());
  module.setTargetTriple((*machine)->getTargetTriple().str());
  const ObjectCache *cache = ObjectCache::ofUser();
  ObjectCache::Key key;
  if (cache) {
    key = cacheKey(module, **machine);
    if (auto object = cache->load(key))
      return object;
  }
  llvm::raw_string_ostream verdict(problem);
  if (llvm::verifyModule(module, &verdict))
    return nullptr;
  optimise(module, **machine);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager emission;
  llvm::MCContext *unused = nullptr;
  if ((*machine)->addPassesToEmitMC(emission, unused, stream)) {
    problem = "this host's code generator cannot make objects";
    return nullptr;
  }
  emission.run(module);
  if (cache)
    cache->store(key, object);
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(object), module.getModuleIdentifier(),
      /*RequiresNullTerminator=*/false);
}

bool HostCompiler::define(
    const std::vector<std::pair<std::string, uint64_t>> &symbols,
    std::string &problem) {
  LLJIT &jit = *implementation->jit;
  SymbolMap map;
  for (const auto &[name, address] : symbols)
    map[jit.mangleAndIntern(name)] = {ExecutorAddr(address),
                                      llvm::JITSymbolFlags::Exported};
  return !failed(jit.getMainJITDylib().define(absoluteSymbols(std::move(map))),
                 problem);
}

bool HostCompiler::add(std::unique_ptr<llvm::MemoryBuffer> object,
                       std::string &problem) {
  return !failed(implementation->jit->addObjectFile(std::move(object)),
                 problem);
}

void *HostCompiler::find(const std::string &name, std::string &problem) {
  auto address = implementation->jit->lookup(name);
  if (failed(address.takeError(), problem))
    return nullptr;
  return address->toPtr<void *>();
}

} // namespace pascaline::emulator
