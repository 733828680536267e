// Textures.h - what tex.1d reads: textures of linear memory, by handle.
//
// Kernels look them up without a lock while they run: the driver changes and
// removes a texture while it holds the device alone. A handle that was removed
// is not given again. Test: test/emulator/DriverTextureTest.cpp.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

namespace pascaline::emulator {

// The numbers are those of CUarray_format.
enum class TextureFormat : uint32_t {
  U8 = 0x01,
  U16 = 0x02,
  U32 = 0x03,
  S8 = 0x08,
  S16 = 0x09,
  S32 = 0x0a,
  Half = 0x10,
  Float = 0x20,
};

struct Texture {
  uint64_t address = 0; // 0: bound to nothing, every fetch gives zeros
  uint64_t texels = 0;
  TextureFormat format = TextureFormat::Float;
  uint32_t channels = 1; // 1, 2 or 4
  // Else 8 and 16 bits become floats from 0 to 1, or from -1 to 1.
  bool asIntegers = false;

  uint32_t texelBytes() const;
  // Texel `x` as tex.1d gives it: zeros outside, and for channels that the
  // texture does not have.
  void fetch(int32_t x, uint32_t (&result)[4]) const;
};

// Fewer than a GPU has: 2^20.
inline constexpr unsigned kMaxTextures = 4096;

// Bytes of a channel; 0 where the number is no format.
uint32_t channelBytes(TextureFormat format);

class TextureTable {
public:
  static TextureTable &get();
  // 0: the table is full.
  uint64_t add(const Texture &texture);
  bool replace(uint64_t handle, const Texture &texture);
  bool remove(uint64_t handle);
  const Texture *find(uint64_t handle) const;

private:
  struct Slot {
    std::atomic<uint64_t> handle{0}; // 0: free
    Texture texture;
  };
  const Slot *slot(uint64_t handle) const;

  std::mutex mutex; // of those who write
  std::array<Slot, kMaxTextures> slots;
  uint64_t given = 0;
};

} // namespace pascaline::emulator
