// TileVectorizer.h - register tiles of fused multiply-adds as vectors.
//
// A GEMM-like kernel keeps a tile of accumulators, acc[i][j] += a[i] * b[j],
// fully unrolled over several k. LLVM's SLP vectoriser starts from stores, four
// floats wide since that is what PTX stores, and spills half of what it makes.
// This pass sees the tile: accumulation chains that share a[i] over all k
// become one chain of eight lanes, with a[i] broadcast from memory. Results
// keep every bit: each lane does the same operations in the same order. Test:
// test/emulator/TileVectorizerTest.cpp.
#pragma once

#include "llvm/IR/PassManager.h"

namespace pascaline::emulator {

// dp4a is a call until the tiles are found: i32 (i32 a, i32 b, i32 c) of this
// name and two letters, 's' or 'u', for the signs of a and b. The pass leaves
// none.
inline constexpr char kDotProductPrefix[] = "pascaline.dp4a.";

struct TileVectorizer : llvm::PassInfoMixin<TileVectorizer> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &);
};

// How many scalar multiply-adds and dot products became lanes.
unsigned vectorizeTiles(llvm::Function &function);

} // namespace pascaline::emulator
