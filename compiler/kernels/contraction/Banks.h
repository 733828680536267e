// Banks - which sums to store together so that the main loop has no register
// bank conflicts.
//
// sm_61 has four register banks, and a multiply-add that reads two registers of
// one bank takes an extra cycle. ptxas puts the four values of a 128-bit load
// or store into four consecutive registers, hence banks 0 to 3. So fragment
// values a[i] and b[j] sit in banks i % 4 and j % 4, and a sum's bank follows
// from its place in the 128-bit words that it is stored in. Storing rows or
// columns of sums, the obvious way, puts each sum into the bank of one of its
// own factors: 54 % of multiply-adds conflicted. Any other grouping is as good
// for a workspace, so this one puts the sum of row i and column j into a bank
// that neither a[i] nor b[j] has.
//
// Test: test/compiler/TileTest.cpp
#pragma once

#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace pascaline {

/// The bank for the sum of row i and column j: not i % 4 and not j % 4.
int64_t bankOfSum(int64_t i, int64_t j);

/// Indices i * tn + j of all sums, four at a time with banks 0, 1, 2, 3.
llvm::SmallVector<int64_t> storeOrder(int64_t tm, int64_t tn);

} // namespace pascaline
