#include "runtime/emulator/scheduler/DeviceMemory.h"

#include <cstring>
#include <gtest/gtest.h>
#include <vector>

namespace pascaline::emulator {
namespace {

DeviceMemory &memory() { return DeviceMemory::get(); }

uint64_t allocate(uint64_t bytes, const void *owner = nullptr) {
  uint64_t address = 0;
  EXPECT_EQ(memory().allocate(bytes, owner, &address), AllocationStatus::Done);
  return address;
}

TEST(DeviceMemory, AllocationsAreAlignedApartAndZeroed) {
  std::vector<uint64_t> addresses;
  for (uint64_t bytes : {1, 255, 256, 257, 4096, 5000, 1 << 20}) {
    uint64_t address = allocate(bytes);
    EXPECT_EQ(address % 256, 0u);
    EXPECT_LT(address - memory().windowBase(), kGlobalWindowBytes);
    for (uint64_t i = 0; i < bytes; ++i)
      ASSERT_EQ(reinterpret_cast<uint8_t *>(address)[i], 0);
    std::memset(reinterpret_cast<void *>(address), 0xff, bytes);
    addresses.push_back(address);
  }
  for (uint64_t address : addresses)
    EXPECT_TRUE(memory().release(address));
}

TEST(DeviceMemory, RangesAreFoundInsideLiveAllocationsOnly) {
  uint64_t address = allocate(1000);
  EXPECT_TRUE(memory().find(address, 1000));
  EXPECT_TRUE(memory().find(address + 999, 1));
  EXPECT_TRUE(memory().find(address + 1000, 0));
  EXPECT_FALSE(memory().find(address + 999, 2));
  EXPECT_FALSE(memory().find(address - 1, 1));
  EXPECT_FALSE(memory().find(address + 8, ~uint64_t(0)));
  EXPECT_FALSE(memory().release(address + 256));
  EXPECT_TRUE(memory().release(address));
  EXPECT_FALSE(memory().find(address, 1));
  EXPECT_FALSE(memory().release(address));
}

TEST(DeviceMemory, RunsOutAtItsLimitAndRecovers) {
  uint64_t total = memory().totalBytes(), before = memory().freeBytes();
  EXPECT_EQ(total, 64u << 20);
  uint64_t address = allocate(before);
  EXPECT_EQ(memory().freeBytes(), 0u);
  uint64_t none = 0;
  EXPECT_EQ(memory().allocate(1, nullptr, &none),
            AllocationStatus::OutOfMemory);
  EXPECT_EQ(memory().allocate(~uint64_t(0), nullptr, &none),
            AllocationStatus::OutOfMemory);
  EXPECT_TRUE(memory().release(address));
  EXPECT_EQ(memory().freeBytes(), before);
}

// A kernel that uses a pointer after its release must fault, so the address
// may not come back at once; but address space must not run out either.
TEST(DeviceMemory, AddressesComeBackLateButComeBack) {
  uint64_t first = allocate(32 << 20), address = first;
  bool cameBack = false;
  for (int i = 0; i < 40000 && !cameBack; ++i) {
    EXPECT_TRUE(memory().release(address));
    address = allocate(32 << 20);
    if (i < 1000)
      ASSERT_NE(address, first);
    cameBack = address == first;
  }
  EXPECT_TRUE(memory().release(address));
  EXPECT_TRUE(cameBack);
}

TEST(DeviceMemory, AnOwnersAllocationsGoTogether) {
  int a, b;
  uint64_t before = memory().freeBytes();
  allocate(100, &a);
  uint64_t kept = allocate(100, &b);
  allocate(100000, &a);
  memory().releaseAllOf(&a);
  EXPECT_EQ(before - memory().freeBytes(), 4096u);
  EXPECT_TRUE(memory().find(kept, 100));
  memory().releaseAllOf(&b);
  EXPECT_EQ(memory().freeBytes(), before);
}

TEST(DeviceMemory, SaysWhereAnAddressLies) {
  uint64_t address = allocate(1000);
  EXPECT_EQ(memory().describe(address + 1010),
            "10 bytes past the end of an allocation of 1000 bytes");
  EXPECT_EQ(memory().describe(address - 4),
            "4 bytes before an allocation of 1000 bytes");
  EXPECT_EQ(memory().describe(memory().windowBase() + 16), "a null pointer");
  EXPECT_EQ(memory().describe(16), "outside device memory");
  memory().release(address);
}

} // namespace
} // namespace pascaline::emulator
