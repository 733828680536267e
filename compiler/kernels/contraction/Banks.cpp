// Banks - see Banks.h.

#include "compiler/kernels/contraction/Banks.h"

#include <array>

namespace pascaline {

int64_t bankOfSum(int64_t i, int64_t j) {
  // Off the diagonal: x * i + (x + 1) * j in the field of four elements, which
  // is neither i nor j (and i where i = j, hence the exception).
  static constexpr int64_t timesX[4] = {0, 2, 3, 1};
  static constexpr int64_t timesX1[4] = {0, 3, 1, 2};
  i %= 4;
  j %= 4;
  return i == j ? (i + 1) % 4 : timesX[i] ^ timesX1[j];
}

llvm::SmallVector<int64_t> storeOrder(int64_t tm, int64_t tn) {
  llvm::SmallVector<int64_t> order(tm * tn);
  int64_t word = 0;
  for (int64_t i0 = 0; i0 < tm; i0 += 4)
    for (int64_t j0 = 0; j0 < tn; j0 += 4, word += 4) {
      // Each bank has four of the sixteen sums: one a word.
      std::array<int64_t, 4> filled = {};
      for (int64_t i = i0; i < i0 + 4; ++i)
        for (int64_t j = j0; j < j0 + 4; ++j) {
          int64_t bank = bankOfSum(i, j);
          order[(word + filled[bank]++) * 4 + bank] = i * tn + j;
        }
    }
  return order;
}

} // namespace pascaline
