// Compile.h - from a model file to an artifact or the text of a stage.
//
//   import -> graph passes -> form launches -> lower kernels -> PTX -> artifact
//
// `--emit` stops after a stage and prints it. What goes wrong is one sentence;
// nothing is written then.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace pascaline {

enum class Stage { Graph, Fused, Plan, Kernel, Llvm, Ptx, Pasc };

struct CompileOptions {
  std::string model;  ///< path of the ONNX file
  std::string output; ///< path; "-" or empty: standard output (text stages)
  std::vector<std::string> shapes; ///< NAME=1x3x224x224, as on the command line
  Stage stage = Stage::Pasc;
  std::string dumpDirectory; ///< empty: no dump
  std::string chip = "gtx1080ti";
};

/// True when the output is written; else `error` is the sentence.
bool compileModel(const CompileOptions &options, std::string &error);

} // namespace pascaline
