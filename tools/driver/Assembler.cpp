// Assembler.cpp - see Assembler.h.
#include "tools/driver/Assembler.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <dlfcn.h>
#include <optional>

using namespace llvm;

namespace pascaline {
namespace {

/// A file that goes with its object; an empty path if it could not be made.
struct TemporaryFile {
  explicit TemporaryFile(StringRef suffix) {
    if (sys::fs::createTemporaryFile("pascaline", suffix, path))
      path.clear();
  }
  TemporaryFile(const TemporaryFile &) = delete;
  ~TemporaryFile() {
    if (!path.empty())
      sys::fs::remove(path);
  }
  std::string read() const {
    auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false,
                                        /*RequiresNullTerminator=*/false);
    return buffer ? (*buffer)->getBuffer().str() : "";
  }
  SmallString<64> path;
};

/// Runs it; what it printed on both streams. False if it could not be run or
/// ended with an error.
bool run(const std::string &program, ArrayRef<StringRef> arguments,
         std::string &printed) {
  TemporaryFile output("txt");
  SmallVector<StringRef> all = {program};
  all.append(arguments.begin(), arguments.end());
  std::optional<StringRef> redirects[] = {StringRef(), output.path.str(),
                                          output.path.str()};
  std::string problem;
  int result =
      sys::ExecuteAndWait(program, all, std::nullopt, redirects,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &problem);
  printed = output.read();
  if (printed.empty())
    printed = problem;
  return result == 0;
}

/// Empty if it knows sm_61; else what is wrong with it.
std::string whatIsWrong(const std::string &program) {
  std::string printed;
  bool ran = run(program, {"--version"}, printed);
  StringRef release = StringRef(printed).split("release ").second;
  release = release.take_until([](char c) { return c == ',' || c == '\n'; });
  int major = 0;
  if (!ran || release.split('.').first.getAsInteger(10, major))
    return program + " does not say its release as ptxas does";
  if (major > 12)
    return program + " is of CUDA " + release.str() +
           ", which no longer knows sm_61";
  return "";
}

/// Of the Python package, in a virtual environment.
void addOfEnvironment(StringRef environment, std::vector<std::string> &to) {
  std::error_code problem;
  SmallString<128> folder(environment);
  sys::path::append(folder, "lib");
  for (sys::fs::directory_iterator at(folder, problem), end;
       at != end && !problem; at.increment(problem)) {
    SmallString<128> path(at->path());
    sys::path::append(path, "site-packages/nvidia/cuda_nvcc/bin/ptxas");
    if (sys::fs::can_execute(path))
      to.push_back(path.str().str());
  }
}

std::vector<std::string> candidates() {
  std::vector<std::string> all;
  if (auto inPath = sys::findProgramByName("ptxas"))
    all.push_back(*inPath);
  if (auto environment = sys::Process::GetEnv("VIRTUAL_ENV"))
    addOfEnvironment(*environment, all);
  Dl_info info;
  SmallString<128> here;
  if (dladdr(reinterpret_cast<void *>(&findPtxas), &info) && info.dli_fname &&
      !sys::fs::real_path(info.dli_fname, here)) {
    SmallString<128> beside =
        sys::path::parent_path(sys::path::parent_path(here));
    sys::path::append(beside, "venv");
    addOfEnvironment(beside, all);
  }
  return all;
}

const char *const kRemedy = "; give --ptxas one of CUDA 12.9 or earlier, such "
                            "as the Python package nvidia-cuda-nvcc-cu12 has";

/// What `ptxas -v` says of each kernel:
///   ptxas info    : Compiling entry function 'add' for 'sm_61'
///       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
///   ptxas info    : Used 8 registers, 348 bytes cmem[0]
struct KernelReport {
  unsigned registers = 0;
  std::string spills;
};
StringMap<KernelReport> readReport(StringRef text) {
  StringMap<KernelReport> reports;
  KernelReport *current = nullptr;
  for (StringRef line : split(text, '\n')) {
    if (line.contains("Compiling entry function '"))
      current = &reports[line.split('\'').second.split('\'').first];
    if (!current)
      continue;
    unsigned spilled = 0;
    StringRef stores = line.split("stack frame, ").second;
    if (!stores.consumeInteger(10, spilled) && spilled > 0)
      current->spills = line.trim().str();
    StringRef used = line.split("Used ").second;
    unsigned registers = 0;
    if (!used.consumeInteger(10, registers) && used.starts_with(" registers"))
      current->registers = registers;
  }
  return reports;
}

} // namespace

std::string findPtxas(const std::string &given, std::string &error) {
  std::string chosen = given;
  if (chosen.empty())
    chosen = sys::Process::GetEnv("PASCALINE_PTXAS").value_or("");
  if (!chosen.empty()) {
    error = whatIsWrong(chosen);
    if (error.empty())
      return chosen;
    error += kRemedy;
    return "";
  }
  std::string problems;
  for (const std::string &candidate : candidates()) {
    std::string problem = whatIsWrong(candidate);
    if (problem.empty())
      return candidate;
    problems += (problems.empty() ? "" : "; ") + problem;
  }
  error = "a cubin needs ptxas: " +
          (problems.empty() ? "there is none in $PATH" : problems) + kRemedy;
  return "";
}

bool addCubin(const std::string &ptxas, ArtifactContents &contents,
              std::vector<std::string> *notes, std::string &error) {
  TemporaryFile source("ptx"), result("cubin");
  {
    std::error_code problem;
    raw_fd_ostream file(source.path, problem);
    if (!problem) {
      file << contents.ptx;
      file.close();
      problem = file.error();
      file.clear_error();
    }
    if (problem || result.path.empty()) {
      error =
          "a temporary file for ptxas cannot be written: " + problem.message() +
          "; is $TMPDIR full?";
      return false;
    }
  }
  std::string printed;
  if (!run(ptxas, {"-arch=sm_61", "-v", source.path, "-o", result.path},
           printed)) {
    error = ptxas + ": refuses the PTX: " +
            StringRef(printed).trim().split('\n').first.str();
    return false;
  }
  std::string cubin = result.read();
  if (cubin.empty()) {
    error = ptxas + ": wrote no cubin";
    return false;
  }
  StringMap<KernelReport> reports = readReport(printed);
  for (artifact::Kernel &kernel : contents.kernels) {
    const KernelReport &report = reports[kernel.entry];
    kernel.registers = report.registers;
    if (notes && !report.spills.empty())
      notes->push_back("kernel " + kernel.entry +
                       " does not fit into its registers: " + report.spills);
  }
  contents.cubin = std::move(cubin);
  return true;
}

} // namespace pascaline
