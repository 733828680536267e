// pascaline-compile - an ONNX model to model.pasc, or to the text of a stage.

#include "tools/driver/Compile.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace llvm;
using namespace pascaline;

namespace {

enum class Precision { Float, Half };
enum Exit { kDone = 0, kRefused = 1, kUsage = 2 };

[[noreturn]] void refuse(const std::string &sentence) {
  errs() << "pascaline-compile: " << sentence << '\n';
  errs().flush();
  // No destructors: after a fatal error inside LLVM there is nothing to save.
  _exit(kRefused);
}

void onFatalError(void *, const char *reason, bool) {
  refuse(std::string("internal error in code generation: ") + reason);
}

} // namespace

int main(int argc, char **argv) {
  cl::OptionCategory category("pascaline-compile options");
  cl::opt<std::string> model(cl::Positional, cl::Required,
                             cl::value_desc("MODEL.onnx"),
                             cl::desc("MODEL.onnx"), cl::cat(category));
  cl::opt<std::string> output("o", cl::value_desc("file"),
                              cl::desc("Where the result goes; text goes to "
                                       "standard output without it"),
                              cl::cat(category));
  cl::list<std::string> shapes(
      "shape", cl::value_desc("NAME=1x3x224x224"),
      cl::desc("Bind an input's dimensions; again for each input. Several "
               "shapes, NAME=1x3x224x224,8x3x224x224, make one artifact for "
               "all of them"),
      cl::cat(category));
  cl::opt<Stage> stage(
      "emit", cl::desc("Stop after a stage and print it:"),
      cl::values(clEnumValN(Stage::Graph, "graph", "the graph as imported"),
                 clEnumValN(Stage::Fused, "fused", "groups, one a kernel"),
                 clEnumValN(Stage::Plan, "plan", "launches and memory"),
                 clEnumValN(Stage::Kernel, "kernel", "the kernels' IR"),
                 clEnumValN(Stage::Llvm, "llvm", "the kernels' LLVM IR"),
                 clEnumValN(Stage::Ptx, "ptx", "the PTX module"),
                 clEnumValN(Stage::Pasc, "pasc", "the artifact (default)")),
      cl::init(Stage::Pasc), cl::cat(category));
  cl::opt<std::string> dump(
      "dump-ir", cl::value_desc("folder"),
      cl::desc("Write a numbered file after each pass that changed something"),
      cl::cat(category));
  cl::opt<std::string> chip(
      "chip", cl::value_desc("card"), cl::init("gtx1080ti"),
      cl::desc("Tune tiles for gtx1080ti, titanx, titanxp, p40, p4 or p6000"),
      cl::cat(category));
  cl::opt<Precision> precision(
      "precision",
      cl::desc("How weights and intermediate tensors are stored; arithmetic is "
               "float either way, so fp16 saves memory and bandwidth:"),
      cl::values(
          clEnumValN(Precision::Float, "fp32", "as float (default)"),
          clEnumValN(Precision::Half, "fp16", "as half where that is safe")),
      cl::init(Precision::Float), cl::cat(category));
  cl::opt<std::string> keepFloat(
      "keep-fp32", cl::value_desc("regex"),
      cl::desc("With --precision fp16: what nodes whose name matches read and "
               "write stays float, as does all else in their kernels"),
      cl::cat(category));
  cl::opt<std::string> calibrate(
      "calibrate", cl::value_desc("folder"),
      cl::desc("With --precision fp16: run the sample inputs there, NAME.npy "
               "or a subfolder of them a sample; what reaches 32752, half of "
               "half's largest number, stays float and is named"),
      cl::cat(category));
  cl::list<std::string> exposed(
      "expose", cl::value_desc("tensor"),
      cl::desc("Make a tensor of the model an output too, as it is stored; "
               "again for each"),
      cl::cat(category));
  cl::list<std::string> skipped(
      "skip-pass", cl::value_desc("name"),
      cl::desc("Leave out an optional pass, to find or get round a fault in "
               "it; a name that is none lists them all; again for each"),
      cl::cat(category));
  cl::opt<bool> cubin(
      "cubin",
      cl::desc("Put machine code for sm_61 beside the PTX, which the driver "
               "then need not compile; takes a ptxas of CUDA 12.9 or earlier"),
      cl::cat(category));
  cl::opt<std::string> ptxas(
      "ptxas", cl::value_desc("file"),
      cl::desc("With --cubin: the ptxas to use; without, $PASCALINE_PTXAS, one "
               "in $PATH or one of the Python package"),
      cl::cat(category));
  cl::list<std::string> reports(
      "report", cl::value_desc("file"),
      cl::desc("Write what was decided about each node, kernel and byte, and "
               "why, to a .json or .html file; may be given again"),
      cl::cat(category));
  cl::opt<std::string> memoryLimit(
      "memory-limit", cl::value_desc("bytes|8GiB"),
      cl::desc("Refuse a model that needs more device memory: weights, and a "
               "session's arena and staging"),
      cl::cat(category));
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "pascaline-compile " PASCALINE_VERSION "\n";
  });
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Compiles an ONNX model for Pascal GPUs (sm_61).\n",
          &errs()))
    return kUsage;
  if (stage == Stage::Pasc && (output.empty() || output == "-")) {
    errs() << "pascaline-compile: an artifact needs a file: -o OUT.pasc\n";
    return kUsage;
  }

  if (!keepFloat.empty() && precision == Precision::Float) {
    errs() << "pascaline-compile: --keep-fp32 makes exceptions from "
              "--precision fp16; give both\n";
    return kUsage;
  }

  if (!ptxas.empty() && !cubin) {
    errs() << "pascaline-compile: --ptxas says what --cubin uses; give both\n";
    return kUsage;
  }
  if (cubin && stage != Stage::Pasc) {
    errs() << "pascaline-compile: --cubin is for artifacts; leave out --emit\n";
    return kUsage;
  }
  if (!calibrate.empty() && precision == Precision::Float) {
    errs() << "pascaline-compile: --calibrate finds what --precision fp16 "
              "cannot hold; give both\n";
    return kUsage;
  }
  for (StringRef report : reports)
    if (!report.ends_with(".json") && !report.ends_with(".html")) {
      errs() << "pascaline-compile: --report " << report
             << ": a report is a .json or .html file\n";
      return kUsage;
    }
  if (stage != Stage::Pasc && (!reports.empty() || !memoryLimit.empty())) {
    errs() << "pascaline-compile: --report and --memory-limit need the whole "
              "compile; drop --emit\n";
    return kUsage;
  }
  std::optional<uint64_t> limit = parseBytes(memoryLimit);
  if (!memoryLimit.empty() && !limit) {
    errs() << "pascaline-compile: --memory-limit " << memoryLimit
           << ": a number of bytes above 0, or one with KiB, MiB or GiB\n";
    return kUsage;
  }

  install_fatal_error_handler(onFatalError);
  CompileOptions options;
  options.model = model;
  options.output = output;
  options.shapes.assign(shapes.begin(), shapes.end());
  options.stage = stage;
  options.dumpDirectory = dump;
  options.chip = chip;
  options.storeHalf = precision == Precision::Half;
  options.keepFloat = keepFloat;
  options.calibrate = calibrate;
  options.exposed.assign(exposed.begin(), exposed.end());
  options.skippedPasses.assign(skipped.begin(), skipped.end());
  options.cubin = cubin;
  options.ptxas = ptxas;
  options.reports.assign(reports.begin(), reports.end());
  options.memoryLimit = limit.value_or(0);
  std::vector<std::string> notes;
  options.notes = &notes;
  std::string error;
  if (!compileModel(options, error))
    refuse(error);
  for (const std::string &note : notes)
    errs() << "pascaline-compile: " << note << '\n';
  return kDone;
}
