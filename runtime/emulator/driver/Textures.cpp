// Textures.cpp - textures of linear memory: objects, and a module's references.
//
// A texture is read by tex.1d with an integer coordinate, so filters, address
// modes and normalised coordinates have no meaning, as CUDA says of linear
// memory. Other resources are not supported. sm_61 wants texture memory aligned
// to 512 bytes, which its cuMemAlloc gives; DeviceMemory gives 256, so that is
// asked for here. Test: test/emulator/DriverTextureTest.cpp.
#include "runtime/emulator/driver/Capture.h"

using namespace pascaline::emulator;

namespace {

constexpr int kLinear = 2; // CU_RESOURCE_TYPE_LINEAR
constexpr unsigned kReadAsInteger = 1, kLastFlag = 0x20;
constexpr uint64_t kAlignment = 256;
constexpr uint64_t kMostTexels = uint64_t(1) << 27; // of linear memory on sm_61

CUresult setFormat(Texture &texture, CUarray_format format, int64_t channels) {
  if (!channelBytes(static_cast<TextureFormat>(format)) ||
      (channels != 1 && channels != 2 && channels != 4))
    return invalidValue("a texture of " + std::to_string(channels) +
                        " channels in format " + std::to_string(format) +
                        " is not defined");
  texture.format = static_cast<TextureFormat>(format);
  texture.channels = static_cast<uint32_t>(channels);
  return CUDA_SUCCESS;
}

CUresult setAddress(Texture &texture, CUdeviceptr address, size_t bytes) {
  if (address % kAlignment)
    return invalidValue("a texture's address must be a multiple of " +
                        std::to_string(kAlignment));
  if (!DeviceMemory::get().find(address, bytes))
    return invalidValue("a texture of " + std::to_string(bytes) +
                        " bytes is no device memory: its start is " +
                        DeviceMemory::get().describe(address));
  uint64_t texels = bytes / texture.texelBytes();
  if (texels > kMostTexels)
    return invalidValue("a texture of " + std::to_string(texels) +
                        " texels; the limit is " + std::to_string(kMostTexels));
  texture.address = address;
  texture.texels = texels;
  return CUDA_SUCCESS;
}

CUresult setFlags(Texture &texture, unsigned flags) {
  if (flags >= 2 * kLastFlag)
    return invalidValue("texture flags " + std::to_string(flags) +
                        " are not known");
  texture.asIntegers = flags & kReadAsInteger;
  return CUDA_SUCCESS;
}

// `change` alters a reference's texture while no kernel runs.
template <class F>
CUresult changeReference(CUtexref reference, F change,
                         const char *call = __builtin_FUNCTION()) {
  ContextRef context;
  if (CUresult result = enter(&context, call))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  Driver &driver = Driver::get();
  std::unique_lock<std::shared_mutex> alone(driver.device);
  std::lock_guard<std::mutex> lock(driver.objects);
  if (!driver.textureReferences.count(reference))
    return invalidHandle("the texture reference");
  Texture changed = reference->texture;
  if (CUresult result = change(changed))
    return result;
  reference->texture = changed;
  TextureTable::get().replace(reference->handle, changed);
  return CUDA_SUCCESS;
}

} // namespace

bool pascaline::emulator::addTextureReference(CUmod_st &module,
                                              const std::string &name,
                                              uint64_t variable) {
  auto reference = std::make_unique<CUtexref_st>(
      CUtexref_st{&module, name, variable, 0, {}});
  std::unique_lock<std::shared_mutex> alone(Driver::get().device);
  reference->handle = TextureTable::get().add(reference->texture);
  if (!reference->handle)
    return false;
  *reinterpret_cast<uint64_t *>(variable) = reference->handle;
  module.textures.push_back(std::move(reference));
  return true;
}

void pascaline::emulator::removeTextures(const CUmod_st &module) {
  for (auto &reference : module.textures)
    TextureTable::get().remove(reference->handle);
}

void pascaline::emulator::destroyTexturesOf(const CUctx_st *context) {
  auto &objects = Driver::get().textureObjects;
  for (auto i = objects.begin(); i != objects.end();) {
    if (i->second == context) {
      TextureTable::get().remove(i->first);
      i = objects.erase(i);
    } else {
      ++i;
    }
  }
}

CUresult cuModuleGetTexRef(CUtexref *reference, CUmodule module,
                           const char *name) {
  std::shared_ptr<CUmod_st> found;
  if (CUresult result = enterModule(module, &found))
    return result;
  if (!reference || !name)
    return invalidValue("reference or name is null");
  for (auto &candidate : found->textures)
    if (candidate->name == name) {
      *reference = candidate.get();
      return CUDA_SUCCESS;
    }
  return fail(CUDA_ERROR_NOT_FOUND,
              "the module has no texture reference named " + std::string(name));
}

CUresult cuTexRefSetAddress_v2(size_t *offset, CUtexref reference,
                               CUdeviceptr address, size_t bytes) {
  CUresult result = changeReference(reference, [&](Texture &texture) {
    return setAddress(texture, address, bytes);
  });
  if (result == CUDA_SUCCESS && offset)
    *offset = 0;
  return result;
}

CUresult cuTexRefSetFormat(CUtexref reference, CUarray_format format,
                           int channels) {
  return changeReference(reference, [&](Texture &texture) {
    uint64_t bytes = texture.texels * texture.texelBytes();
    CUresult result = setFormat(texture, format, channels);
    if (result == CUDA_SUCCESS)
      texture.texels = bytes / texture.texelBytes();
    return result;
  });
}

CUresult cuTexRefSetFlags(CUtexref reference, unsigned flags) {
  return changeReference(
      reference, [&](Texture &texture) { return setFlags(texture, flags); });
}

CUresult cuTexObjectCreate(CUtexObject *texture,
                           const CUDA_RESOURCE_DESC *resource,
                           const CUDA_TEXTURE_DESC *description,
                           const CUDA_RESOURCE_VIEW_DESC *view) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (CUresult result = checkUnsafe())
    return result;
  if (!texture || !resource || !description)
    return invalidValue("texture, resource or description is null");
  if (resource->resType != kLinear)
    return fail(CUDA_ERROR_NOT_SUPPORTED,
                "textures of resource type " +
                    std::to_string(resource->resType) +
                    " are not supported; use linear memory");
  if (view)
    return invalidValue("linear memory has no resource view");
  const auto &linear = resource->res.linear;
  Texture made;
  if (CUresult result = setFormat(made, linear.format, linear.numChannels))
    return result;
  if (CUresult result = setFlags(made, description->flags))
    return result;
  if (CUresult result = setAddress(made, linear.devPtr, linear.sizeInBytes))
    return result;
  Driver &driver = Driver::get();
  std::unique_lock<std::shared_mutex> alone(driver.device);
  std::lock_guard<std::mutex> lock(driver.objects);
  uint64_t handle = TextureTable::get().add(made);
  if (!handle)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the table of textures is full");
  driver.textureObjects[handle] = context.get();
  *texture = handle;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texture) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  Driver &driver = Driver::get();
  std::unique_lock<std::shared_mutex> alone(driver.device);
  std::lock_guard<std::mutex> lock(driver.objects);
  auto found = driver.textureObjects.find(texture);
  if (found == driver.textureObjects.end() || found->second != context.get())
    return invalidHandle("the texture object");
  driver.textureObjects.erase(found);
  TextureTable::get().remove(texture);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *resource,
                                    CUtexObject texture) {
  ContextRef context;
  if (CUresult result = enter(&context))
    return result;
  if (!resource)
    return invalidValue("resource is null");
  Driver &driver = Driver::get();
  std::shared_lock<std::shared_mutex> shared(driver.device);
  std::lock_guard<std::mutex> lock(driver.objects);
  const Texture *found = driver.textureObjects.count(texture)
                             ? TextureTable::get().find(texture)
                             : nullptr;
  if (!found)
    return invalidHandle("the texture object");
  *resource = {};
  resource->resType = kLinear;
  resource->res.linear.devPtr = found->address;
  resource->res.linear.format = static_cast<CUarray_format>(found->format);
  resource->res.linear.numChannels = found->channels;
  resource->res.linear.sizeInBytes = found->texels * found->texelBytes();
  return CUDA_SUCCESS;
}
