// ModelFuzzer.cpp - any bytes as a model: import, graph passes, plan.
//
// What the bytes say may be refused and must do no harm. The last byte chooses
// the precision, so that both storages are seen.
#include "compiler/import/Importer.h"
#include "compiler/target/Ptx.h"
#include "passes/Pipelines.h"
#include "tools/driver/Diagnostics.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include <cstdio>
#include <cstdlib>
#include <memory>

using namespace mlir;

namespace {

// A context keeps every constant and type that it has seen, so it is renewed.
constexpr int kMostRuns = 50;
uint64_t accepted = 0;

std::unique_ptr<MLIRContext> newContext() {
  auto context =
      std::make_unique<MLIRContext>(MLIRContext::Threading::DISABLED);
  DialectRegistry registry;
  pascaline::registerPtxTranslations(registry);
  context->appendDialectRegistry(registry);
  pascaline::loadImportDialects(*context);
  return context;
}

void fail(const char *what, const std::string &sentence) {
  std::fprintf(stderr, "model fuzzer: %s: %s\n", what, sentence.c_str());
  std::abort();
}

} // namespace

extern "C" uint64_t fuzzAccepted() { return accepted; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static std::unique_ptr<MLIRContext> context;
  static int runs = 0;
  if (!context || ++runs % kMostRuns == 0)
    context = newContext();

  std::string error;
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  OwningOpRef<ModuleOp> module = pascaline::importOnnxBytes(
      *context, bytes, "model", /*folder=*/"", {}, error);
  if (!module) {
    if (error.empty())
      fail("refused without a sentence", "");
    return 0;
  }
  pascaline::DiagnosticCollector diagnostics(*context, "model");
  PassManager pm(context.get());
  pascaline::PassChoice choice;
  pascaline::buildGraphPipeline(pm, choice);
  if (size && data[size - 1] % 2)
    pascaline::buildHalfPipeline(pm, choice, "");
  pascaline::buildPlanPipeline(pm, choice, "gtx1080ti");
  if (succeeded(pm.run(*module)))
    ++accepted;
  else if (!diagnostics.failed())
    fail("a pass stopped", diagnostics.sentence());
  return 0;
}
