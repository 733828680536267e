// ArtifactWriter - see ArtifactWriter.h. The plan through FlatBuffers, then the
// sections one after another, then the header that knows them all.
#include "compiler/artifact/ArtifactWriter.h"

#include "compiler/artifact/OutputFile.h"

#include "pascaline/artifact_generated.h"

#include <cstring>
#include <string_view>

namespace pascaline {
namespace {

using namespace artifact;

static_assert(int(fb::ElementType_MAX) == int(ElementType::boolean) &&
                  int(fb::BufferKind_MAX) == int(BufferKind::counters) &&
                  int(fb::ArgumentKind_MAX) == int(ArgumentKind::scalar64) &&
                  int(fb::Role_MAX) == int(Role::secondary) &&
                  int(fb::Limit_MAX) == int(Limit::latency),
              "artifact.fbs and artifact.h name the same numbers");

using Builder = flatbuffers::FlatBufferBuilder;
template <class T> using Offset = flatbuffers::Offset<T>;
template <class T> using OffsetVector = std::vector<Offset<T>>;

OffsetVector<fb::Tensor> buildTensors(Builder &builder,
                                      const std::vector<Tensor> &tensors) {
  OffsetVector<fb::Tensor> result;
  for (const Tensor &tensor : tensors) {
    auto name = builder.CreateString(tensor.name);
    auto shape = builder.CreateVector(tensor.shape);
    result.push_back(fb::CreateTensor(
        builder, name, fb::ElementType(tensor.type), shape, tensor.buffer));
  }
  return result;
}

OffsetVector<fb::Launch> buildLaunches(Builder &builder,
                                       const std::vector<Launch> &launches) {
  OffsetVector<fb::Launch> result;
  for (const Launch &launch : launches) {
    std::vector<fb::Argument> arguments;
    for (const Argument &argument : launch.arguments)
      arguments.emplace_back(argument.value, argument.buffer,
                             fb::ArgumentKind(argument.kind));
    OffsetVector<flatbuffers::String> nodes;
    for (const std::string &node : launch.nodes)
      nodes.push_back(builder.CreateSharedString(node));
    auto argumentVector = builder.CreateVectorOfStructs(arguments);
    auto nodeVector = builder.CreateVector(nodes);
    result.push_back(fb::CreateLaunch(
        builder, launch.kernel, launch.grid[0], launch.grid[1], launch.grid[2],
        argumentVector, nodeVector, launch.flops, launch.bytes,
        fb::Role(launch.role), fb::Limit(launch.limit)));
  }
  return result;
}

// A program's vectors, built one statement each: the order of building is the
// order of the bytes.
struct BuiltProgram {
  BuiltProgram(Builder &builder, const Program &program) {
    std::vector<fb::Buffer> places;
    for (const Buffer &buffer : program.buffers)
      places.emplace_back(buffer.offset, buffer.bytes,
                          fb::BufferKind(buffer.kind));
    inputs = builder.CreateVector(buildTensors(builder, program.inputs));
    outputs = builder.CreateVector(buildTensors(builder, program.outputs));
    buffers = builder.CreateVectorOfStructs(places);
    launches = builder.CreateVector(buildLaunches(builder, program.launches));
    init = builder.CreateVector(buildLaunches(builder, program.init));
  }
  template <class T> using Vector = Offset<flatbuffers::Vector<T>>;
  Vector<Offset<fb::Tensor>> inputs, outputs;
  Vector<const fb::Buffer *> buffers;
  Vector<Offset<fb::Launch>> launches, init;
};

void buildPlan(Builder &builder, const ArtifactContents &contents) {
  OffsetVector<fb::Kernel> kernels;
  for (const Kernel &kernel : contents.kernels) {
    auto entry = builder.CreateString(kernel.entry);
    kernels.push_back(fb::CreateKernel(
        builder, entry, kernel.block[0], kernel.block[1], kernel.block[2],
        kernel.staticSharedBytes, kernel.dynamicSharedBytes, kernel.registers));
  }
  auto model = builder.CreateString(contents.model);
  auto producer = builder.CreateString(contents.producer);
  auto chip = builder.CreateString(contents.chip);
  auto kernelVector = builder.CreateVector(kernels);
  BuiltProgram first(builder, contents);
  OffsetVector<fb::Program> alternatives;
  for (const Program &program : contents.alternatives) {
    BuiltProgram built(builder, program);
    alternatives.push_back(fb::CreateProgram(
        builder, built.inputs, built.outputs, built.buffers, built.launches,
        built.init, program.arenaBytes, program.counterBytes,
        program.lowerBoundBytes, program.onnxOrderBytes));
  }
  // Absent, not empty: an artifact of one shape set has nothing of this.
  auto alternativeVector =
      alternatives.empty() ? 0 : builder.CreateVector(alternatives);
  builder.Finish(fb::CreatePlan(builder, model, producer, chip, first.inputs,
                                first.outputs, first.buffers, kernelVector,
                                first.launches, first.init, contents.arenaBytes,
                                contents.weightsBytes, contents.counterBytes,
                                contents.lowerBoundBytes,
                                /*extents=*/0, /*regions=*/0, alternativeVector,
                                contents.onnxOrderBytes),
                 fb::PlanIdentifier());
}

// FlatBuffers has no error for a buffer that grows too large, so that is seen
// before it is built. Names come from the model file, in any length and number.
uint64_t planBytes(const Program &program) {
  uint64_t total = program.buffers.size() * sizeof(fb::Buffer);
  for (const auto *tensors : {&program.inputs, &program.outputs})
    for (const Tensor &tensor : *tensors)
      total += tensor.name.size();
  for (const auto *launches : {&program.launches, &program.init})
    for (const Launch &launch : *launches) {
      total += 64 + launch.arguments.size() * sizeof(fb::Argument);
      for (const std::string &node : launch.nodes)
        total += node.size() + 16;
    }
  return total;
}

bool checkSize(const ArtifactContents &contents, std::string &error) {
  uint64_t total = planBytes(contents);
  for (const Program &program : contents.alternatives)
    total += planBytes(program);
  if (total <= kMaxPlanBytes)
    return true;
  error = "names and launches take " + std::to_string(total) +
          " bytes, more than the " + std::to_string(kMaxPlanBytes) +
          " of a plan; use shorter names";
  return false;
}

// Everything before the weights: `bytes` ends where they start.
bool buildHead(const ArtifactContents &contents, std::string &bytes,
               std::string &error) {
  if (contents.ptx.find('\0') != std::string::npos) {
    error = "PTX holds a zero byte at " +
            std::to_string(contents.ptx.find('\0')) + "; it must be text";
    return false;
  }
  if (contents.weightsBytes < contents.weightsSectionBytes) {
    error = "weights of " + std::to_string(contents.weightsSectionBytes) +
            " bytes do not fit the " + std::to_string(contents.weightsBytes) +
            " bytes that the plan gives them on the device";
    return false;
  }
  if (!checkSize(contents, error))
    return false;
  Builder builder;
  buildPlan(builder, contents);

  Header header = {};
  bytes.assign(sizeof(Header), '\0');
  auto place = [&](SectionIndex index, const void *data, uint64_t size,
                   uint64_t alignment) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    header.sections[index] = {bytes.size(), size, hash64(data, size)};
  };
  auto append = [&](SectionIndex index, const void *data, uint64_t size) {
    place(index, data, size, kSectionAlignment);
    bytes.append(static_cast<const char *>(data), size);
  };
  append(kPlan, builder.GetBufferPointer(), builder.GetSize());
  append(kPtx, contents.ptx.c_str(), contents.ptx.size() + 1);
  append(kCubin, contents.cubin.data(), contents.cubin.size());
  place(kWeights, contents.weights, contents.weightsSectionBytes,
        contents.weightsSectionBytes ? kWeightsAlignment : kSectionAlignment);

  memcpy(header.magic, kMagic, sizeof kMagic);
  header.formatVersion = kFormatVersion;
  header.headerBytes = sizeof(Header);
  header.targetSm = kTargetSm;
  header.fileBytes = bytes.size() + contents.weightsSectionBytes;
  header.checksum = hash64(&header, offsetof(Header, checksum));
  memcpy(&bytes[0], &header, sizeof header);
  return true;
}

} // namespace

bool serializeArtifact(const ArtifactContents &contents, std::string &bytes,
                       std::string &error) {
  if (!buildHead(contents, bytes, error))
    return false;
  if (contents.weightsSectionBytes)
    bytes.append(static_cast<const char *>(contents.weights),
                 contents.weightsSectionBytes);
  return true;
}

bool writeArtifact(const ArtifactContents &contents, const std::string &path,
                   std::string &error) {
  std::string head;
  if (!buildHead(contents, head, error))
    return false;
  std::string_view weights(static_cast<const char *>(contents.weights),
                           contents.weightsSectionBytes);
  return writeOutputFile(path, {head, weights}, error);
}

} // namespace pascaline
