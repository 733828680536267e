// KernelHarness.cpp - see the header.

#include "test/compiler/KernelHarness.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/Generator.h"
#include "compiler/target/Chip.h"
#include "compiler/target/Ptx.h"
#include "passes/Pipelines.h"
#include "test/compiler/Device.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <random>

using namespace mlir;

namespace pascaline::test {

namespace {
/// A group, its kernel and its PTX.
struct Compiled {
  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> source;
  FusedOp group;
  GeneratedKernel kernel;
  KernelRun run;
};
} // namespace

static void compile(Compiled &c, const std::string &text) {
  DialectRegistry registry;
  registerPtxTranslations(registry);
  c.context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  c.context
      ->loadDialect<PascalineDialect, func::FuncDialect, arith::ArithDialect,
                    math::MathDialect, scf::SCFDialect, cf::ControlFlowDialect,
                    LLVM::LLVMDialect, NVVM::NVVMDialect>();
  std::string said;
  ScopedDiagnosticHandler collect(c.context.get(), [&](Diagnostic &d) {
    said += (said.empty() ? "" : "; ") + d.str();
    return success();
  });
  auto fail = [&](const char *stage) {
    c.run.error = std::string(stage) + ": " + said;
  };
  c.source = parseSourceString<ModuleOp>(text, c.context.get());
  if (!c.source)
    return fail("parse");
  c.source->walk([&](FusedOp group) { c.group = group; });
  FailureOr<GeneratedKernel> kernel =
      generateKernel(c.group, allChips().front());
  if (failed(kernel))
    return fail("generate");
  c.kernel = std::move(*kernel);
  if (failed(c.kernel.module->verify()))
    return fail("verify");
  PassManager passes(c.context.get());
  buildKernelLoweringPipeline(passes);
  if (failed(passes.run(*c.kernel.module)))
    return fail("lower");
  FailureOr<std::string> ptx = emitPtx(*c.kernel.module);
  if (failed(ptx))
    return fail("emit");
  c.run.ptx = *ptx;
  c.run.entry = c.kernel.entry;
  c.run.configuration = c.kernel.configuration;
  c.run.grid = c.kernel.grid;
  c.run.block = c.kernel.block;
}

KernelRun compileGroup(const std::string &text) {
  Compiled c;
  compile(c, text);
  return std::move(c.run);
}

/// Gives results the pointers of the operands that they may replace; false
/// where there are none.
static bool replace(llvm::ArrayRef<KernelArgument> arguments,
                    std::vector<CUdeviceptr> &pointers) {
  bool any = false;
  for (auto [i, argument] : llvm::enumerate(arguments))
    for (auto [j, result] : llvm::enumerate(arguments))
      if (argument.replacedBy && result.kind == KernelArgument::Output &&
          result.index == *argument.replacedBy) {
        pointers[j] = pointers[i];
        any = true;
      }
  return any;
}

KernelRun runGroup(const std::string &text, const std::vector<Bytes> &inputs,
                   bool inPlace) {
  Compiled c;
  compile(c, text);
  if (!c.run.error.empty())
    return std::move(c.run);
  auto bytesOf = [](Value value) {
    return tensorBytes(cast<RankedTensorType>(value.getType()));
  };
  std::vector<Bytes> buffers;
  std::vector<size_t> results;
  for (const KernelArgument &argument : c.kernel.arguments) {
    switch (argument.kind) {
    case KernelArgument::Input: {
      Bytes bytes = inputs.at(argument.index);
      if (int64_t(bytes.size()) !=
          bytesOf(c.group.getInputs()[argument.index])) {
        c.run.error = "input " + std::to_string(argument.index) + " has " +
                      std::to_string(bytes.size()) + " bytes";
        return std::move(c.run);
      }
      if (argument.packing) {
        llvm::SmallVector<char> packed = packWeights(bytes, *argument.packing);
        bytes.assign(packed.begin(), packed.end());
      }
      buffers.push_back(std::move(bytes));
      break;
    }
    case KernelArgument::Output:
      results.push_back(buffers.size());
      // Whatever a kernel leaves unwritten shows.
      buffers.emplace_back(bytesOf(c.group.getOutputs()[argument.index]),
                           char(0xa5));
      break;
    case KernelArgument::Workspace:
      buffers.emplace_back(c.kernel.workspaceBytes, char(0xa5));
      break;
    case KernelArgument::Counters:
      buffers.emplace_back(c.kernel.counterWords * 4, char(0));
      break;
    }
  }
  Device &device = Device::get();
  std::vector<CUdeviceptr> pointers;
  for (const Bytes &buffer : buffers)
    pointers.push_back(device.uploadBytes(buffer));
  std::vector<CUdeviceptr> places = pointers;
  if (inPlace && !replace(c.kernel.arguments, places))
    c.run.error = "no result may lie in an operand's place";
  else
    c.run.error =
        device.run(c.run.ptx, c.run.entry, c.run.grid, c.run.block[0], places);
  for (size_t i : results) {
    device.downloadBytes(places[i], buffers[i]);
    c.run.outputs.push_back(std::move(buffers[i]));
  }
  for (CUdeviceptr pointer : pointers)
    device.free(pointer);
  return std::move(c.run);
}

std::string groupText(const std::vector<std::string> &operands,
                      const std::vector<std::string> &results,
                      const std::string &body) {
  auto list = [](const std::vector<std::string> &types, const char *name) {
    std::string text;
    for (size_t i = 0; i < types.size(); ++i) {
      text += i ? ", " : "";
      if (name)
        text += name + std::to_string(i) + ": ";
      text += types[i];
    }
    return text;
  };
  std::string arguments;
  for (size_t i = 0; i < operands.size(); ++i)
    arguments += (i ? ", %arg" : "%arg") + std::to_string(i);
  std::string out = "(" + list(results, nullptr) + ")";
  return "func.func @main(" + list(operands, "%arg") + ") -> " + out +
         " {\n  %r:" + std::to_string(results.size()) + " = pascaline.fused(" +
         arguments + ") : (" + list(operands, nullptr) + ") -> " + out +
         " {\n  ^bb0(" + list(operands, "%") + "):\n" + body +
         "\n  }\n  return " +
         [&] {
           std::string values;
           for (size_t i = 0; i < results.size(); ++i)
             values += (i ? ", %r#" : "%r#") + std::to_string(i);
           return values;
         }() +
         " : " + list(results, nullptr) + "\n}\n";
}

std::vector<float> randomFloats(size_t count, float low, float high,
                                uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(count);
  for (float &value : values)
    value = low + (high - low) * float(engine() >> 8) / float(1 << 24);
  return values;
}

} // namespace pascaline::test
