#include "runtime/emulator/scheduler/Textures.h"
#include "runtime/emulator/scheduler/Block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace pascaline::emulator {
namespace {

// Handles: the slot in the low bits, above it how many were given before.
constexpr unsigned kSlotBits = 12;
static_assert(kMaxTextures == 1 << kSlotBits);

float fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31;
  float fraction = float(bits & 0x3ff);
  float magnitude = exponent == 31
                        ? (bits & 0x3ff ? std::nanf("") : HUGE_VALF)
                        : std::ldexp(exponent ? fraction + 1024.0f : fraction,
                                     std::max(exponent, 1) - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

bool isSigned(TextureFormat format) {
  return format == TextureFormat::S8 || format == TextureFormat::S16 ||
         format == TextureFormat::S32;
}

template <class T> int64_t readAs(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

int64_t readInteger(const char *from, uint32_t bytes, bool isSigned) {
  switch (bytes) {
  case 1:
    return isSigned ? readAs<int8_t>(from) : readAs<uint8_t>(from);
  case 2:
    return isSigned ? readAs<int16_t>(from) : readAs<uint16_t>(from);
  default:
    return isSigned ? readAs<int32_t>(from) : readAs<uint32_t>(from);
  }
}

} // namespace

uint32_t channelBytes(TextureFormat format) {
  switch (format) {
  case TextureFormat::U8:
  case TextureFormat::S8:
    return 1;
  case TextureFormat::U16:
  case TextureFormat::S16:
  case TextureFormat::Half:
    return 2;
  case TextureFormat::U32:
  case TextureFormat::S32:
  case TextureFormat::Float:
    return 4;
  }
  return 0;
}

uint32_t Texture::texelBytes() const { return channelBytes(format) * channels; }

void Texture::fetch(int32_t x, uint32_t (&result)[4]) const {
  std::fill_n(result, 4, 0);
  if (x < 0 || uint64_t(x) >= texels)
    return;
  uint32_t bytes = channelBytes(format);
  const char *from =
      reinterpret_cast<const char *>(address) + uint64_t(x) * texelBytes();
  for (uint32_t i = 0; i < channels; ++i, from += bytes) {
    int64_t value = readInteger(from, bytes, isSigned(format));
    if (format == TextureFormat::Half) {
      result[i] = std::bit_cast<uint32_t>(fromHalf(uint16_t(value)));
    } else if (bytes == 4 || asIntegers) {
      result[i] = uint32_t(value);
    } else {
      float most = float((1 << (8 * bytes - (isSigned(format) ? 1 : 0))) - 1);
      result[i] = std::bit_cast<uint32_t>(std::max(float(value) / most, -1.0f));
    }
  }
}

TextureTable &TextureTable::get() {
  static auto *table = new TextureTable; // workers may outlive destructors
  return *table;
}

uint64_t TextureTable::add(const Texture &texture) {
  std::lock_guard<std::mutex> lock(mutex);
  for (size_t number = 0; number < slots.size(); ++number)
    if (!slots[number].handle) {
      slots[number].texture = texture;
      return slots[number].handle = ++given << kSlotBits | number;
    }
  return 0;
}

const TextureTable::Slot *TextureTable::slot(uint64_t handle) const {
  const Slot &found = slots[handle & (slots.size() - 1)];
  return handle && found.handle == handle ? &found : nullptr;
}

bool TextureTable::replace(uint64_t handle, const Texture &texture) {
  std::lock_guard<std::mutex> lock(mutex);
  const Slot *found = slot(handle);
  if (found)
    slots[found - slots.data()].texture = texture;
  return found != nullptr;
}

bool TextureTable::remove(uint64_t handle) {
  std::lock_guard<std::mutex> lock(mutex);
  const Slot *found = slot(handle);
  if (found)
    slots[found - slots.data()].handle = 0;
  return found != nullptr;
}

const Texture *TextureTable::find(uint64_t handle) const {
  const Slot *found = slot(handle);
  return found ? &found->texture : nullptr;
}

extern "C" void pascalineEmulatorTexture(ThreadState *state, uint64_t handle,
                                         int32_t x, uint32_t line,
                                         uint32_t *result) {
  const Texture *texture = TextureTable::get().find(handle);
  BlockThread *thread = BlockThread::of(state);
  if (!texture)
    thread->runner()->stop(thread, line,
                           "a texture fetch from what is no texture");
  bool inside = x >= 0 && uint64_t(x) < texture->texels;
  if (inside && thread->runner()->sanitizer()) {
    uint64_t bytes = texture->texelBytes();
    CheckedAccess read{int64_t(uint64_t(x) * bytes), line | bytes << 32};
    pascalineEmulatorCheckGlobal(state, texture->address, &read, 1);
  }
  uint32_t four[4];
  texture->fetch(x, four);
  std::copy_n(four, 4, result);
}

} // namespace pascaline::emulator
