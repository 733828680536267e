// Gemv - a contraction with at most kFew rows or columns.
//
// Such a product does little with each element of the larger factor, the
// matrix, so all that counts is reading that once, at full width, from all SMs.
// A tile of the contraction core would mostly hold padding.
//
// Test: test/compiler/GemvTest.cpp
#pragma once

#include "compiler/kernels/contraction/GroupContraction.h"

#include <optional>

namespace pascaline {

/// Tile numbers: how the rows of the matrix are dealt to threads.
struct Gemv {
  static constexpr int64_t kFew = 4;

  int64_t batch, rows, k; ///< rows of the matrix, each k long, in each batch
  int64_t few;            ///< vectors that each row is multiplied with
  bool matrixIsA;
  bool packs;         ///< the matrix, a constant, is laid out row by row
  int64_t width;      ///< elements of a row a thread takes in a step
  int64_t lanes;      ///< threads that share a row
  int64_t slices = 1; ///< blocks that share a row; only with whole blocks

  int64_t rowsPerBlock() const;
  std::array<int64_t, 3> grid() const;
  std::string text() const; ///< "32 lanes, 4 elements a step"
};

/// A sentence that says why a kernel cannot be built so, if it cannot.
std::optional<std::string> checkGemv(const Gemv &gemv);

/// The numbers for a contraction that this family serves: one factor has at
/// most kFew rows or columns, and the other is contiguous along k or may be
/// packed so.
std::optional<Gemv> planGemv(const GroupContraction &contraction,
                             const Chip &chip);

llvm::FailureOr<GeneratedKernel>
generateGemv(const GroupContraction &contraction, const Gemv &gemv);

} // namespace pascaline
