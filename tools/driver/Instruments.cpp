#include "tools/driver/Instruments.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/Pass/Pass.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <unistd.h>

using namespace mlir;

namespace pascaline {

void printIr(Operation *op, llvm::raw_ostream &os) {
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(/*largeElementLimit=*/64);
  flags.elideLargeResourceString(/*largeResourceLimit=*/64);
  flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
  op->print(os, flags);
  os << '\n';
}

//===- IrDump
//--------------------------------------------------------------===//

std::unique_ptr<IrDump> IrDump::open(const std::string &directory,
                                     std::string &error) {
  auto dump = std::make_unique<IrDump>();
  if (directory.empty())
    return dump;
  if (std::error_code code = llvm::sys::fs::create_directories(directory)) {
    error =
        directory + ": cannot make this folder for IR dumps: " + code.message();
    return nullptr;
  }
  dump->directory = directory;
  return dump;
}

void IrDump::write(ModuleOp module, StringRef name) {
  if (directory.empty())
    return;
  std::string path;
  llvm::raw_string_ostream(path)
      << directory << '/' << llvm::format("%03d", ++count) << '-' << name
      << ".mlir";
  std::error_code code;
  llvm::raw_fd_ostream os(path, code);
  if (!code) {
    printIr(module, os);
    os.flush();
    code = os.error();
    os.clear_error();
  }
  if (code && problem.empty())
    problem = path + ": cannot write this IR dump: " + code.message();
}

namespace {

// Compares fingerprints around each pass over the module.
class DumpInstrumentation : public PassInstrumentation {
public:
  explicit DumpInstrumentation(IrDump &dump) : dump(dump) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (isDumped(pass, op))
      before.insert_or_assign(pass, OperationFingerPrint(op));
  }

  void runAfterPass(Pass *pass, Operation *op) override {
    if (!isDumped(pass, op))
      return;
    auto found = before.find(pass);
    if (found == before.end() || found->second == OperationFingerPrint(op))
      return;
    StringRef name = pass->getArgument();
    name.consume_front("pascaline-");
    auto module = dyn_cast<ModuleOp>(op);
    dump.write(module ? module : op->getParentOfType<ModuleOp>(), name);
  }

private:
  // Kernels are lowered side by side: the driver dumps them once, together.
  static bool isDumped(Pass *pass, Operation *op) {
    Operation *parent = op->getParentOp();
    return !pass->getArgument().empty() &&
           (!parent || (isa<ModuleOp>(parent) && !parent->getParentOp() &&
                        op->getName().getStringRef() == "func.func"));
  }

  IrDump &dump;
  std::map<Pass *, OperationFingerPrint> before;
};

} // namespace

std::unique_ptr<PassInstrumentation> IrDump::instrumentation() {
  if (directory.empty())
    return nullptr;
  return std::make_unique<DumpInstrumentation>(*this);
}

//===- Progress
//------------------------------------------------------------===//

Progress::Progress(bool wanted)
    : terminal(wanted && isatty(STDERR_FILENO)),
      start(std::chrono::steady_clock::now()) {}

Progress::~Progress() {
  if (shown)
    llvm::errs() << "\r\033[K";
}

void Progress::show(const std::string &line) {
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!terminal || elapsed.count() < 1)
    return;
  shown = true;
  llvm::errs() << "\r\033[K" << llvm::format("%5.1f s  ", elapsed.count())
               << line;
}

void Progress::stage(StringRef what) {
  std::lock_guard<std::mutex> lock(mutex);
  show(what.str());
}

void Progress::countKernel(int64_t total) {
  std::lock_guard<std::mutex> lock(mutex);
  show("kernel " + std::to_string(++kernels) + " of " + std::to_string(total));
}

void KernelCounter::runAfterPass(Pass *pass, Operation *op) {
  if (pass->getArgument() == "pascaline-emit-ptx")
    progress.countKernel(total);
}

} // namespace pascaline
