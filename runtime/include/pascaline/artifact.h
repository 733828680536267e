// artifact.h - what the writer (compiler) and the reader (runtime) of a
// model.pasc agree on: the header, the enums and the limits.
//
// The file is: Header · plan · PTX · cubin (may be empty) · weights, each
// section where the header says, zeros between them. All numbers are
// little-endian. docs/artifact.md is the description for people; the plan's
// schema is artifact.fbs. This is the only header that runtime and compiler
// share.
#ifndef PASCALINE_ARTIFACT_H
#define PASCALINE_ARTIFACT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace pascaline::artifact {

inline constexpr char kMagic[8] = {'P', 'A', 'S', 'C', 'A', 'L', 'I', 'N'};
inline constexpr uint32_t kFormatVersion = 1;
inline constexpr uint32_t kTargetSm = 61;

// Where sections start. Weights are page-aligned in the file, so that the
// mapped pages go to the device as they are, and buffers inside them (and in
// the arena) are kBufferAlignment-aligned, which every 128-bit access needs.
inline constexpr uint64_t kSectionAlignment = 64;
inline constexpr uint64_t kWeightsAlignment = 4096;
inline constexpr uint64_t kBufferAlignment = 256;

enum SectionIndex { kPlan = 0, kPtx = 1, kCubin = 2, kWeights = 3 };
inline constexpr int kSectionCount = 4;

struct Section {
  uint64_t offset;   // from the start of the file
  uint64_t bytes;    // the PTX section's count its final NUL
  uint64_t checksum; // hash64 of those bytes
};

struct Header {
  char magic[8];
  uint32_t formatVersion;
  uint32_t headerBytes; // sizeof(Header)
  uint32_t targetSm;    // 61
  uint32_t flags;       // 0
  uint64_t fileBytes;
  Section sections[kSectionCount];
  uint8_t reserved[120]; // 0
  uint64_t checksum;     // hash64 of all bytes before this field
};
static_assert(sizeof(Header) == 256, "the header's layout is the format");

enum class ElementType : uint8_t {
  none = 0,
  f32 = 1,
  f16 = 2,
  bf16 = 3,
  f64 = 4,
  i8 = 5,
  u8 = 6,
  i16 = 7,
  u16 = 8,
  i32 = 9,
  u32 = 10,
  i64 = 11,
  u64 = 12,
  boolean = 13, // one byte, 0 or 1
};

enum class BufferKind : uint8_t {
  none = 0,
  arena = 1,    // a session's scratch memory
  weights = 2,  // a model's memory, read-only but for init launches
  input = 3,    // what the caller hands in; never written
  output = 4,   // what the caller hands in
  counters = 5, // zero before and after each run
};

enum class ArgumentKind : uint8_t {
  none = 0,
  buffer = 1,
  scalar32 = 2,
  scalar64 = 3,
};

// A primary launch does the work of some node; a secondary one only helps
// another (the sum after a split, a layout change).
enum class Role : uint8_t { primary = 0, secondary = 1 };

// What bounds a kernel's time, as the compiler's cost model sees it.
enum class Limit : uint8_t {
  unknown = 0,
  fma = 1,
  dram = 2,
  sharedMemory = 3,
  latency = 4,
};

inline constexpr uint32_t kElementTypeCount = 14;

// 0 for what is no element type.
inline constexpr uint32_t elementBytes(ElementType type) {
  constexpr uint8_t bytes[kElementTypeCount] = {0, 4, 2, 2, 8, 1, 1,
                                                2, 2, 4, 4, 8, 8, 1};
  return uint32_t(type) < kElementTypeCount ? bytes[uint32_t(type)] : 0;
}

// What a reader accepts. The chip's own limits (sm_61) are among them.
inline constexpr uint32_t kMaxRank = 32;
inline constexpr uint32_t kMaxNameBytes = 1 << 16;
inline constexpr uint64_t kMaxPlanBytes = uint64_t(1) << 30;
inline constexpr uint32_t kMaxTensors = 1 << 16;
inline constexpr uint32_t kMaxShapeSets = 64;
inline constexpr uint32_t kMaxBuffers = 1 << 22;
inline constexpr uint32_t kMaxKernels = 1 << 16;
inline constexpr uint32_t kMaxLaunches = 1 << 20;
inline constexpr uint32_t kMaxArguments = 512; // a launch: 4 KiB of parameters
inline constexpr uint32_t kMaxNodes = 1 << 22; // over all launches
inline constexpr uint64_t kMaxDeviceBytes = uint64_t(1) << 48;
inline constexpr uint32_t kMaxBlockThreads = 1024;
inline constexpr uint32_t kMaxBlock[3] = {1024, 1024, 64};
inline constexpr uint32_t kMaxGrid[3] = {0x7fffffff, 65535, 65535};
inline constexpr uint32_t kMaxSharedBytes = 48 * 1024;

// XXH64 with seed 0, as specified in xxHash's doc/xxhash_spec.md: fast enough
// to check weights at the speed they are read, and not a signature.
inline uint64_t hash64(const void *data, size_t bytes) {
  constexpr uint64_t p1 = 0x9E3779B185EBCA87u, p2 = 0xC2B2AE3D27D4EB4Fu,
                     p3 = 0x165667B19E3779F9u, p4 = 0x85EBCA77C2B2AE63u,
                     p5 = 0x27D4EB2F165667C5u;
  auto rotate = [](uint64_t x, int by) { return x << by | x >> (64 - by); };
  auto read64 = [](const uint8_t *from) {
    uint64_t x;
    memcpy(&x, from, sizeof x);
    return x;
  };
  auto round = [&](uint64_t lane, uint64_t x) {
    return rotate(lane + x * p2, 31) * p1;
  };
  const uint8_t *at = static_cast<const uint8_t *>(data);
  const uint8_t *end = at + bytes;
  uint64_t hash;
  if (bytes >= 32) {
    uint64_t lanes[4] = {p1 + p2, p2, 0, 0 - p1};
    for (; end - at >= 32; at += 32)
      for (int i = 0; i < 4; ++i)
        lanes[i] = round(lanes[i], read64(at + 8 * i));
    hash = rotate(lanes[0], 1) + rotate(lanes[1], 7) + rotate(lanes[2], 12) +
           rotate(lanes[3], 18);
    for (uint64_t lane : lanes)
      hash = (hash ^ round(0, lane)) * p1 + p4;
  } else {
    hash = p5;
  }
  hash += bytes;
  for (; end - at >= 8; at += 8)
    hash = rotate(hash ^ round(0, read64(at)), 27) * p1 + p4;
  if (end - at >= 4) {
    uint32_t x;
    memcpy(&x, at, sizeof x);
    hash = rotate(hash ^ x * p1, 23) * p2 + p3;
    at += 4;
  }
  for (; at != end; ++at)
    hash = rotate(hash ^ *at * p5, 11) * p1;
  hash = (hash ^ hash >> 33) * p2;
  hash = (hash ^ hash >> 29) * p3;
  return hash ^ hash >> 32;
}

} // namespace pascaline::artifact

#endif // PASCALINE_ARTIFACT_H
