// Chip - see Chip.h.

#include "compiler/target/Chip.h"

namespace pascaline {

static constexpr int64_t kMiB = 1024 * 1024, kGiB = 1024 * kMiB;

static const Chip kChips[] = {
    {"gtx1080ti", "GeForce GTX 1080 Ti", 28, 1582, 484000, 11 * kMiB / 4,
     11 * kGiB},
    {"titanx", "Titan X (Pascal)", 28, 1531, 480000, 3 * kMiB, 12 * kGiB},
    {"titanxp", "Titan Xp", 30, 1582, 547000, 3 * kMiB, 12 * kGiB},
    {"p40", "Tesla P40", 30, 1531, 346000, 3 * kMiB, 24 * kGiB},
    {"p4", "Tesla P4", 20, 1063, 192000, 2 * kMiB, 8 * kGiB},
    {"p6000", "Quadro P6000", 30, 1560, 432000, 3 * kMiB, 24 * kGiB},
};

llvm::ArrayRef<Chip> allChips() { return kChips; }

const Chip *findChip(llvm::StringRef name) {
  for (const Chip &chip : kChips)
    if (chip.name == name)
      return &chip;
  return nullptr;
}

} // namespace pascaline
