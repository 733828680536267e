// Assembler.h - NVIDIA's ptxas, for an artifact that carries machine code too.
//
// Nothing needs it: the driver compiles the PTX of every artifact when it loads
// it. With a cubin for sm_61 it does not have to, and how many registers each
// kernel takes is known. ptxas up to CUDA 12.9 knows sm_61; that of CUDA 13
// does not, and is refused.
//
// Test: test/tools/cubin.test
#pragma once

#include "compiler/artifact/ArtifactWriter.h"

#include <string>
#include <vector>

namespace pascaline {

/// The one to use: `given` if it is not empty, else $PASCALINE_PTXAS, and
/// neither is replaced by another; else the first of these that knows sm_61:
/// `ptxas` in $PATH, and that of the Python package nvidia-cuda-nvcc-cu12 in
/// $VIRTUAL_ENV or in the venv beside the folder of this program or library.
/// Empty, with a sentence in `error`, where there is none.
std::string findPtxas(const std::string &given, std::string &error);

/// Assembles the contents' PTX into their cubin and fills in the kernels'
/// registers. A note for each kernel that spills. False with a sentence in
/// `error`, and nothing changed, where ptxas refuses.
bool addCubin(const std::string &ptxas, ArtifactContents &contents,
              std::vector<std::string> *notes, std::string &error);

} // namespace pascaline
