// Tile - see Tile.h.

#include "compiler/kernels/contraction/Tile.h"

#include "compiler/target/Chip.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using llvm::formatv;

namespace pascaline {

llvm::SmallVector<std::pair<int64_t, int64_t>>
EmissionOrder::pairs(int64_t tm, int64_t tn) const {
  llvm::SmallVector<std::pair<int64_t, int64_t>> result;
  int64_t outer = rowsOuter ? tm : tn, inner = rowsOuter ? tn : tm;
  for (int64_t x = 0; x < outer; ++x)
    for (int64_t y = 0; y < inner; ++y) {
      int64_t at = (skew * x + first + step * y) % inner;
      result.push_back(rowsOuter ? std::pair(x, at) : std::pair(at, x));
    }
  return result;
}

std::string Tile::text() const {
  return formatv("{0}x{1}x{2}, {3}x{4} a thread", bm, bn, bk, tm, tn);
}

std::optional<std::string> checkTile(const Tile &t) {
  if (t.tm <= 0 || t.tn <= 0 || t.tm % 4 || t.tn % 4)
    return formatv("a thread's {0}x{1} outputs are no multiples of 4, the "
                   "width of a shared load",
                   t.tm, t.tn)
        .str();
  if (t.lanesM * t.lanesN != 32 || !llvm::isPowerOf2_64(t.lanesM))
    return formatv("{0}x{1} lanes are not a warp of 32", t.lanesM, t.lanesN)
        .str();
  if (t.bm % (t.lanesM * t.tm) || t.bn % (t.lanesN * t.tn))
    return formatv("a tile of {0}x{1} does not divide into warps of {2}x{3}",
                   t.bm, t.bn, t.lanesM * t.tm, t.lanesN * t.tn)
        .str();
  // Stages are switched by xor, so each operand's is a power of two.
  if (!llvm::isPowerOf2_64(t.bm * t.bk) || !llvm::isPowerOf2_64(t.bn * t.bk))
    return formatv("stages of {0}x{2} and {1}x{2} elements are not powers of "
                   "two",
                   t.bm, t.bn, t.bk)
        .str();
  if (t.bk % 4)
    return formatv("a depth of {0} is no multiple of 4", t.bk).str();
  if (t.threads() > Chip::kMaxThreads)
    return formatv("{0} threads are more than a block's {1}", t.threads(),
                   Chip::kMaxThreads)
        .str();
  if (t.sharedBytes() > Chip::kSharedBytes)
    return formatv("{0} bytes of shared memory are more than a block's {1}",
                   t.sharedBytes(), Chip::kSharedBytes)
        .str();
  if (t.bm * t.bk % (4 * t.threads()) || t.bn * t.bk % (4 * t.threads()))
    return formatv("{0} threads do not share stages of {1} and {2} 128-bit "
                   "words evenly",
                   t.threads(), t.bm * t.bk / 4, t.bn * t.bk / 4)
        .str();
  // step must reach every element, or some multiply-adds would be missing.
  int64_t inner = t.order.rowsOuter ? t.tn : t.tm;
  if (std::gcd(t.order.step, inner) != 1)
    return formatv("an emission step of {0} skips some of {1} multiply-adds",
                   t.order.step, inner)
        .str();
  return std::nullopt;
}

// Fragments come by 128-bit loads, so a[i] and b[j] sit in banks i % 4 and
// j % 4. These orders start each line one off the diagonal, where the banks
// differ, and then keep one factor in the reuse cache for the whole line.
static constexpr EmissionOrder kRows = {true, 1, 1, 1, 0};
static constexpr EmissionOrder kColumns = {false, 1, 1, 1, 0};

static const Tile kTiles[] = {
    // bm, bn, bk, tm, tn, lanes m x n, blocks an SM, order
    {128, 128, 8, 8, 8, 8, 4, 2, kRows},
    {128, 64, 8, 8, 8, 8, 4, 4, kColumns},
    {64, 128, 8, 8, 8, 4, 8, 4, {false, 7, 5, 3, 8}},
    {64, 64, 8, 4, 8, 8, 4, 4, kColumns},
    {32, 128, 8, 8, 8, 4, 8, 6, kColumns},
    {64, 32, 8, 8, 4, 8, 4, 6, kRows},
    {32, 64, 8, 4, 8, 4, 8, 6, kColumns},
    {32, 32, 8, 4, 4, 4, 8, 8, kColumns},
};

llvm::ArrayRef<Tile> allTiles() { return kTiles; }

} // namespace pascaline
