// Compile.h - from a model file to an artifact or the text of a stage.
//
//   import -> graph passes -> form launches -> lower kernels -> PTX -> artifact
//
// `--emit` stops after a stage and prints it. What goes wrong is one sentence;
// nothing is written then.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class StringRef;
class ThreadPoolInterface;
} // namespace llvm

namespace pascaline {

enum class Stage { Graph, Fused, Plan, Kernel, Llvm, Ptx, Pasc };

struct CompileOptions {
  std::string model; ///< path of the ONNX file
  /// The model itself; `model` is then only what messages call it.
  const std::string *modelBytes = nullptr;
  std::string output; ///< path; "-" or empty: standard output (text stages)
  std::string *artifact = nullptr; ///< takes the artifact instead of a file
  /// What passes run on; null: threads of the compile's own.
  llvm::ThreadPoolInterface *pool = nullptr;
  std::vector<std::string> shapes; ///< NAME=1x3x224x224, as on the command line
  Stage stage = Stage::Pasc;
  std::string dumpDirectory; ///< empty: no dump
  std::string chip = "gtx1080ti";
  bool storeHalf = false; ///< --precision fp16
  std::string keepFloat;  ///< regular expression of nodes, with storeHalf
  std::string calibrate;  ///< folder of samples, with storeHalf; may be empty
  std::vector<std::string> exposed;       ///< tensors that become outputs too
  std::vector<std::string> skippedPasses; ///< names as PassChoice gives them
  bool cubin = false;                     ///< machine code for sm_61 too
  std::string ptxas;                      ///< with cubin; empty: look for one
  /// Paths that end in .json or .html; for the stage Pasc.
  std::vector<std::string> reports;
  uint64_t memoryLimit = 0; ///< bytes of a session with its model; 0: none
  std::vector<std::string> *notes = nullptr; ///< what a user may want to know
};

/// "8589934592", "8GiB", "512MiB", "64KiB" as bytes; nothing for other text and
/// for zero.
std::optional<uint64_t> parseBytes(llvm::StringRef text);

/// True when the output is written; else `error` is the sentence.
bool compileModel(const CompileOptions &options, std::string &error);

} // namespace pascaline
