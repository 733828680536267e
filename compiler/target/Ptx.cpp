// Ptx - see Ptx.h.
//
// Between translation and code generation only cleaning passes run (common
// subexpressions, dead code, empty blocks). Nothing may reorder arithmetic: the
// order in which a contraction's multiply-adds are emitted decides how ptxas
// allots register banks, and generators have chosen it.

#include "compiler/target/Ptx.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Scalar/ADCE.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/InstSimplifyPass.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"

#include <mutex>

using namespace llvm;

namespace pascaline {

static constexpr StringLiteral kTriple = "nvptx64-nvidia-cuda";
static constexpr StringLiteral kHeader =
    ".version 6.0\n.target sm_61\n.address_size 64\n";

/// A target machine is not shared between threads, so each call makes one.
static std::unique_ptr<TargetMachine> createMachine(std::string &error) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  const Target *target = TargetRegistry::lookupTarget(kTriple.str(), error);
  if (!target)
    return nullptr;
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      kTriple, "sm_61", "+ptx60", TargetOptions(), std::nullopt));
}

static void clean(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager components;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  FunctionPassManager passes;
  passes.addPass(InstSimplifyPass());
  passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/true));
  passes.addPass(ADCEPass());
  passes.addPass(SimplifyCFGPass());
  for (Function &function : module)
    if (!function.isDeclaration())
      passes.run(function, functions);
}

void registerPtxTranslations(mlir::DialectRegistry &registry) {
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

namespace {

/// A kernel as a clean LLVM module, with the machine to compile it for.
struct Translation {
  std::string error; ///< what LLVM reported
  std::unique_ptr<TargetMachine> machine;
  LLVMContext context;
  std::unique_ptr<Module> module;

  mlir::LogicalResult translate(mlir::ModuleOp kernel);
};

} // namespace

mlir::LogicalResult Translation::translate(mlir::ModuleOp kernel) {
  machine = createMachine(error);
  if (!machine)
    return kernel.emitError("this LLVM has no NVPTX target: ") << error;
  // Without a handler LLVM prints errors and ends the process.
  context.setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *info, void *sink) {
        if (info->getSeverity() != DS_Error)
          return;
        raw_string_ostream stream(*static_cast<std::string *>(sink));
        DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &error);
  module = mlir::translateModuleToLLVMIR(kernel, context);
  if (!module)
    return mlir::failure();
  module->setTargetTriple(kTriple);
  module->setDataLayout(machine->createDataLayout());
  clean(*module, *machine);
  return mlir::success();
}

mlir::FailureOr<std::string> emitLlvmIr(mlir::ModuleOp kernel) {
  Translation translation;
  if (failed(translation.translate(kernel)))
    return mlir::failure();
  std::string text;
  raw_string_ostream(text) << *translation.module;
  return text;
}

mlir::FailureOr<std::string> emitPtx(mlir::ModuleOp kernel) {
  Translation translation;
  if (failed(translation.translate(kernel)))
    return mlir::failure();
  SmallString<0> text;
  raw_svector_ostream stream(text);
  legacy::PassManager codegen;
  if (translation.machine->addPassesToEmitFile(codegen, stream, nullptr,
                                               CodeGenFileType::AssemblyFile))
    return kernel.emitError("this LLVM's NVPTX target writes no assembly");
  codegen.run(*translation.module);
  if (!translation.error.empty())
    return kernel.emitError("kernel does not compile to PTX: ")
           << translation.error;
  return text.str().str();
}

std::string linkPtx(ArrayRef<std::string> modules) {
  std::string linked = kHeader.str();
  for (StringRef module : modules) {
    // Each starts with comments and its own header, whose last line is this.
    StringRef body = module.split(".address_size 64\n").second;
    linked += body.empty() ? module : body;
  }
  return linked;
}

} // namespace pascaline
