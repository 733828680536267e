#include "tools/driver/Compile.h"

#include "compiler/artifact/OutputFile.h"
#include "compiler/artifact/PlanToArtifact.h"
#include "compiler/import/Importer.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/plan/PlanDialect.h"
#include "compiler/target/Chip.h"
#include "compiler/target/Ptx.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "tools/driver/Assembler.h"
#include "tools/driver/Calibrate.h"
#include "tools/driver/Diagnostics.h"
#include "tools/driver/FateWatch.h"
#include "tools/driver/Instruments.h"
#include "tools/driver/Report.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

using namespace mlir;

namespace pascaline {
namespace {

class Compilation {
public:
  Compilation(const CompileOptions &options, std::string &error)
      : options(options), error(error),
        context(options.pool ? MLIRContext::Threading::DISABLED
                             : MLIRContext::Threading::ENABLED),
        progress(/*wanted=*/!options.artifact) {
    if (options.pool)
      context.setThreadPool(*options.pool);
    DialectRegistry registry;
    registerPtxTranslations(registry);
    if (!options.reports.empty())
      decisions.listenTo(registry);
    context.appendDialectRegistry(registry);
    loadImportDialects(context);
  }

  bool run();

private:
  // Whether all IR dumps so far were written.
  bool dumped();
  bool import();
  bool runPasses(StringRef what,
                 const std::function<void(PassManager &)> &fill);
  bool lowerKernels(bool emit);
  /// Marks each group with the largest values that the samples make of it.
  bool calibrate();
  bool measure(func::FuncOp function, bool &hasSamples);
  bool storeHalf(PassChoice &choice);
  bool makeArtifact(PlannedArtifact &artifact);
  bool writeArtifactFile();
  bool writeReports(const Report &report);
  bool writeIr(Operation *op);
  bool writePrograms();
  bool writeKernels(
      const std::function<bool(plan::KernelOp, llvm::raw_ostream &)> &print);
  bool writeText(const std::function<void(llvm::raw_ostream &)> &print);

  const CompileOptions &options;
  std::string &error;
  DecisionLog decisions;
  MLIRContext context;
  std::unique_ptr<IrDump> dump;
  Progress progress;
  OwningOpRef<ModuleOp> module;
  std::string ptxas; // empty: no cubin is wanted
};

bool Compilation::dumped() {
  if (dump->problem.empty())
    return true;
  error = dump->problem;
  return false;
}

bool Compilation::import() {
  progress.stage("importing " + options.model);
  ImportOptions import;
  if (!parseShapeSets(options.shapes, import.shapeSets, error))
    return false;
  import.exposed = options.exposed;
  module = options.modelBytes
               ? importOnnxBytes(context, *options.modelBytes, options.model,
                                 /*folder=*/"", import, error)
               : importOnnxFile(context, options.model, import, error);
  if (!module)
    return false;
  dump->write(*module, "import");
  return dumped();
}

bool Compilation::runPasses(StringRef what,
                            const std::function<void(PassManager &)> &fill) {
  progress.stage(what);
  DiagnosticCollector diagnostics(context, options.model);
  PassManager pm(&context);
  if (auto instrumentation = dump->instrumentation())
    pm.addInstrumentation(std::move(instrumentation));
  if (!options.reports.empty())
    pm.addInstrumentation(std::make_unique<FateWatch>(decisions));
  fill(pm);
  if (succeeded(pm.run(*module)) && !diagnostics.failed()) {
    if (options.notes)
      llvm::append_range(*options.notes, diagnostics.notes());
    return dumped();
  }
  error = diagnostics.sentence();
  return false;
}

bool Compilation::lowerKernels(bool emit) {
  int64_t total = llvm::range_size(module->getOps<plan::KernelOp>());
  bool done = runPasses("lowering kernels", [&](PassManager &pm) {
    OpPassManager &kernel = pm.nest<plan::KernelOp>();
    buildKernelLoweringPipeline(kernel.nest<ModuleOp>());
    if (emit) {
      kernel.addPass(createEmitPtx());
      pm.addInstrumentation(std::make_unique<KernelCounter>(progress, total));
    }
  });
  if (!done)
    return false;
  dump->write(*module, "lower-kernels");
  return dumped();
}

/// Whether two paths, of files that may not exist yet, name one file.
static bool isSameFile(StringRef one, StringRef other) {
  if (llvm::sys::fs::equivalent(one, other))
    return true;
  SmallString<128> paths[] = {one, other};
  for (SmallString<128> &path : paths) {
    llvm::sys::fs::make_absolute(path);
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
  }
  return paths[0] == paths[1];
}

/// That nothing is written over the model, nor two things to one file; a
/// sentence, or nothing.
static std::string checkOutputs(const CompileOptions &options) {
  SmallVector<StringRef> outputs(options.reports.begin(),
                                 options.reports.end());
  if (!options.output.empty())
    outputs.insert(outputs.begin(), options.output);
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (isSameFile(output, options.model))
      return (output + ": is the model itself; give " +
              (output == options.output ? "-o" : "--report") + " another name")
          .str();
    for (StringRef other : ArrayRef(outputs).take_front(i))
      if (isSameFile(output, other))
        return (output + ": is to hold two results; give each a name").str();
  }
  return "";
}

bool Compilation::run() {
  const Chip *chip = findChip(options.chip);
  if (!chip) {
    error = "unknown chip \"" + options.chip + "\"; known are";
    for (const Chip &known : allChips())
      error += " " + known.name.str();
    return false;
  }
  error = checkOutputs(options);
  if (!error.empty())
    return false;
  error = checkSkippedPasses(options.skippedPasses, options.storeHalf);
  if (!error.empty())
    return false;
  // Found missing before minutes of work.
  if (options.cubin) {
    ptxas = findPtxas(options.ptxas, error);
    if (ptxas.empty())
      return false;
  }
  // A dump is of the whole module, which must not change meanwhile.
  if (!options.dumpDirectory.empty())
    context.disableMultithreading();
  dump = IrDump::open(options.dumpDirectory, error);
  if (!dump || !import())
    return false;
  if (options.stage == Stage::Graph)
    return writeIr(*module);

  PassChoice choice(options.skippedPasses);
  if (!runPasses("optimising the graph",
                 [&](PassManager &pm) { buildGraphPipeline(pm, choice); }))
    return false;
  if (!options.calibrate.empty() && !calibrate())
    return false;
  if (options.storeHalf && !storeHalf(choice))
    return false;
  if (options.stage == Stage::Fused)
    return writeIr(*module);

  if (!runPasses("generating kernels", [&](PassManager &pm) {
        buildPlanPipeline(pm, choice, options.chip);
      }))
    return false;
  if (options.stage == Stage::Plan)
    return writePrograms();
  if (options.stage == Stage::Kernel)
    return writeKernels([](plan::KernelOp kernel, llvm::raw_ostream &os) {
      printIr(kernel, os);
      return true;
    });

  if (!lowerKernels(/*emit=*/options.stage != Stage::Llvm))
    return false;
  switch (options.stage) {
  case Stage::Llvm:
    return writeKernels([&](plan::KernelOp kernel, llvm::raw_ostream &os) {
      DiagnosticCollector diagnostics(context, options.model);
      FailureOr<std::string> text = emitLlvmIr(kernel.getKernelModule());
      if (failed(text)) {
        error = diagnostics.sentence();
        return false;
      }
      os << *text;
      return true;
    });
  case Stage::Ptx: {
    std::vector<std::string> kernels;
    for (auto kernel : module->getOps<plan::KernelOp>())
      kernels.push_back(kernel.getPtx()->str());
    return writeText([&](llvm::raw_ostream &os) { os << linkPtx(kernels); });
  }
  default:
    return writeArtifactFile();
  }
}

// On one thread: where functions (of shape sets) are worked on side by side,
// MLIR 19 loses remarks of all but one.
bool Compilation::storeHalf(PassChoice &choice) {
  context.disableMultithreading();
  bool done =
      runPasses("choosing what is stored as half", [&](PassManager &pm) {
        buildHalfPipeline(pm, choice, options.keepFloat);
      });
  context.enableMultithreading();
  return done;
}

bool Compilation::makeArtifact(PlannedArtifact &artifact) {
  DiagnosticCollector diagnostics(context, options.model);
  if (succeeded(planToArtifact(*module,
                               llvm::sys::path::filename(options.model),
                               *findChip(options.chip), artifact)))
    return true;
  error = diagnostics.sentence();
  return false;
}

namespace {

/// A copy of a fused function as a module of its own, whose groups' float
/// results are results behind its own: `measured` says which, as (group's
/// number, result's number).
OwningOpRef<ModuleOp>
exposeGroups(func::FuncOp function,
             SmallVectorImpl<std::pair<size_t, unsigned>> &measured) {
  OwningOpRef<ModuleOp> probe = ModuleOp::create(function.getLoc());
  auto copy = cast<func::FuncOp>(function->clone());
  probe->push_back(copy);
  copy.setName("main");
  Operation *end = copy.getBody().front().getTerminator();
  Builder builder(copy.getContext());
  for (auto [number, group] : llvm::enumerate(copy.getOps<FusedOp>()))
    for (OpResult result : group->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      if (!type.getElementType().isF32())
        continue;
      auto name = builder.getStringAttr("calibrate #" +
                                        std::to_string(measured.size()));
      copy.insertResult(copy.getNumResults(), type,
                        builder.getDictionaryAttr(
                            builder.getNamedAttr("pascaline.name", name)));
      end->insertOperands(end->getNumOperands(), result);
      measured.emplace_back(number, result.getResultNumber());
    }
  return probe;
}

} // namespace

bool Compilation::measure(func::FuncOp function, bool &hasSamples) {
  SmallVector<std::pair<size_t, unsigned>> measured;
  size_t ownResults = function.getNumResults();
  OwningOpRef<ModuleOp> probe = exposeGroups(function, measured);
  PlannedArtifact artifact;
  std::string bytes;
  // The passes below run on `module`; what they do here is nothing to dump.
  auto silent = IrDump::open("", error);
  std::swap(module, probe);
  std::swap(dump, silent);
  bool made = runPasses("generating kernels for calibration",
                        [&](PassManager &pm) {
                          PassChoice choice(options.skippedPasses);
                          buildPlanPipeline(pm, choice, options.chip);
                        }) &&
              lowerKernels(/*emit=*/true) && makeArtifact(artifact) &&
              serializeArtifact(artifact.contents, bytes, error);
  std::swap(dump, silent);
  std::swap(module, probe);
  std::vector<double> largest;
  progress.stage("running the samples");
  if (!made ||
      !measureRanges(bytes, options.calibrate, ownResults, largest, error))
    return false;
  if (largest.empty())
    return true;
  hasSamples = true;
  SmallVector<FusedOp> groups(function.getOps<FusedOp>());
  std::vector<SmallVector<double>> ranges;
  for (FusedOp group : groups)
    ranges.emplace_back(group->getNumResults(), 0.0);
  for (auto [i, place] : llvm::enumerate(measured))
    ranges[place.first][place.second] = largest[i];
  for (auto [group, range] : llvm::zip_equal(groups, ranges))
    group->setAttr(kLargestAttr, DenseF64ArrayAttr::get(&context, range));
  return true;
}

bool Compilation::calibrate() {
  bool hasSamples = false;
  for (auto function : module->getOps<func::FuncOp>())
    if (!measure(function, hasSamples))
      return false;
  if (!hasSamples)
    error = "calibrate " + options.calibrate +
            ": no sample has the shapes that the model is compiled for";
  return hasSamples;
}

bool Compilation::writeArtifactFile() {
  PlannedArtifact artifact;
  if (!makeArtifact(artifact))
    return false;
  if (!ptxas.empty()) {
    progress.stage("assembling with " + ptxas);
    if (!addCubin(ptxas, artifact.contents, options.notes, error))
      return false;
  }
  progress.stage("writing " + options.output);
  if (!options.reports.empty() || options.memoryLimit) {
    Report report =
        makeReport(*module, decisions, artifact.contents, options.storeHalf);
    for (const Report::Program &program : report.programs)
      if (options.memoryLimit && program.memory.total > options.memoryLimit) {
        error =
            options.model + ": " + overLimitText(program, options.memoryLimit);
        return false;
      }
    if (!writeReports(report))
      return false;
  }
  bool written =
      options.artifact
          ? serializeArtifact(artifact.contents, *options.artifact, error)
          : writeArtifact(artifact.contents, options.output, error);
  // A report of an artifact that is not there would mislead.
  if (!written)
    for (const std::string &path : options.reports)
      llvm::sys::fs::remove(path);
  return written;
}

bool Compilation::writeReports(const Report &report) {
  for (size_t i = 0; i < options.reports.size(); ++i) {
    StringRef path = options.reports[i];
    std::string text =
        path.ends_with(".html") ? reportAsHtml(report) : reportAsJson(report);
    if (writeOutputFile(path.str(), {text}, error))
      continue;
    while (i-- > 0)
      llvm::sys::fs::remove(options.reports[i]);
    return false;
  }
  return true;
}

// Without the kernels, which are most of the module.
bool Compilation::writePrograms() {
  for (auto kernel :
       llvm::make_early_inc_range(module->getOps<plan::KernelOp>()))
    kernel.erase();
  return writeIr(*module);
}

bool Compilation::writeIr(Operation *op) {
  if (!StringRef(options.output).ends_with(".mlirbc"))
    return writeText([&](llvm::raw_ostream &os) { printIr(op, os); });
  return writeText(
      [&](llvm::raw_ostream &os) { (void)writeBytecodeToFile(op, os); });
}

bool Compilation::writeKernels(
    const std::function<bool(plan::KernelOp, llvm::raw_ostream &)> &print) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto kernel : module->getOps<plan::KernelOp>())
    if (!print(kernel, os))
      return false;
  return writeText([&](llvm::raw_ostream &os) { os << text; });
}

bool Compilation::writeText(
    const std::function<void(llvm::raw_ostream &)> &print) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  if (!options.output.empty() && options.output != "-")
    return writeOutputFile(options.output, {text}, error);
  llvm::outs() << text;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return true;
  error =
      "standard output cannot be written: " + llvm::outs().error().message();
  llvm::outs().clear_error();
  return false;
}

} // namespace

bool compileModel(const CompileOptions &options, std::string &error) {
  Compilation compilation(options, error);
  return compilation.run();
}

} // namespace pascaline
