// Plan.cpp - the plan section of a model.pasc: FlatBuffers' verifier first (no
// offset leads outside), then every number against what it counts or indexes.
#include "runtime/src/Artifact.h"

#include "runtime/src/Error.h"

#include "pascaline/artifact_generated.h"

#include <string_view>
#include <unordered_set>

namespace pascaline::runtime {

using namespace artifact;

namespace {

static_assert(int(fb::ElementType_MAX) == int(ElementType::boolean) &&
                  int(fb::BufferKind_MAX) == int(BufferKind::counters) &&
                  int(fb::ArgumentKind_MAX) == int(ArgumentKind::scalar64) &&
                  int(fb::Role_MAX) == int(Role::secondary) &&
                  int(fb::Limit_MAX) == int(Limit::latency),
              "artifact.fbs and artifact.h name the same numbers");

using Number = unsigned long long; // for printf

template <class T> size_t sizeOf(const flatbuffers::Vector<T> *vector) {
  return vector ? vector->size() : 0;
}

class Reader {
public:
  Reader(const fb::Plan &plan, uint64_t weightsSectionBytes,
         const std::string &name)
      : from(plan), weightsSectionBytes(weightsSectionBytes), name(name) {}

  Plan read() {
    to.model = text(from.model(), "the model's name");
    to.producer = text(from.producer(), "the producer's name");
    to.chip = text(from.chip(), "the chip's name");
    readSizes();
    if (sizeOf(from.regions()) || sizeOf(from.extents()))
      fail(PASCALINE_UNSUPPORTED,
           "%s: the plan has regions or extents known only at run time, which "
           "this runtime cannot run; use a newer runtime",
           name.c_str());
    readBuffers();
    readTensors(*from.inputs(), "input", to.inputs);
    readTensors(*from.outputs(), "output", to.outputs);
    bindInputs();
    bindOutputs();
    checkBound();
    readKernels();
    readLaunches(*from.launches(), "launch", to.launches);
    if (from.init())
      readLaunches(*from.init(), "init launch", to.init);
    for (size_t i = 0; i < to.init.size(); ++i)
      checkInit(to.init[i], i);
    return std::move(to);
  }

private:
  [[noreturn]] void wrong(const std::string &what) const {
    fail(PASCALINE_INVALID_ARTIFACT, "%s: %s; compile the model again",
         name.c_str(), what.c_str());
  }

  void limit(uint64_t count, uint64_t most, const char *what) const {
    if (count > most)
      wrong(format("the plan has %llu %s, more than %llu", (Number)count, what,
                   (Number)most));
  }

  // FlatBuffers' verifier looks at where a vector starts, not at its elements.
  // An empty one (a scalar's shape) ends where it likes.
  template <class T> void requireAligned(const T &vector) const {
    if (vector.size() > 0 &&
        reinterpret_cast<uintptr_t>(vector.Data()) % sizeof(uint64_t) != 0)
      wrong("the plan has 64-bit numbers at odd addresses");
  }

  const char *text(const flatbuffers::String *string, const char *what) const {
    if (string->size() > kMaxNameBytes)
      wrong(format("%s has %u bytes, more than %u", what, string->size(),
                   kMaxNameBytes));
    if (memchr(string->Data(), 0, string->size()))
      wrong(format("%s has a zero byte inside", what));
    return string->c_str();
  }

  void readSizes() {
    to.arenaBytes = from.arena_bytes();
    to.weightsBytes = from.weights_bytes();
    to.counterBytes = from.counter_bytes();
    to.lowerBoundBytes = from.lower_bound_bytes();
    limit(to.arenaBytes, kMaxDeviceBytes, "bytes of arena");
    limit(to.weightsBytes, kMaxDeviceBytes, "bytes of weights");
    limit(to.counterBytes, kMaxDeviceBytes, "bytes of counters");
    if (weightsSectionBytes > to.weightsBytes)
      wrong(format("section weights has %llu bytes, more than the %llu that "
                   "the plan gives them on the device",
                   (Number)weightsSectionBytes, (Number)to.weightsBytes));
  }

  void readBuffers() {
    requireAligned(*from.buffers());
    limit(from.buffers()->size(), kMaxBuffers, "buffers");
    to.buffers.reserve(from.buffers()->size());
    for (const fb::Buffer *buffer : *from.buffers()) {
      BufferKind kind = BufferKind(buffer->kind());
      uint64_t most = kMaxDeviceBytes;
      switch (kind) {
      case BufferKind::arena:
        most = to.arenaBytes;
        break;
      case BufferKind::weights:
        most = to.weightsBytes;
        break;
      case BufferKind::counters:
        most = to.counterBytes;
        break;
      case BufferKind::input:
      case BufferKind::output:
        if (buffer->offset() != 0)
          wrong(format("buffer %zu, an input or output, has offset %llu, not 0",
                       to.buffers.size(), (Number)buffer->offset()));
        break;
      default:
        wrong(format("buffer %zu has kind %u, which is none", to.buffers.size(),
                     unsigned(buffer->kind())));
      }
      if (buffer->offset() > most || buffer->bytes() > most - buffer->offset())
        wrong(format("buffer %zu has %llu bytes at %llu, outside its memory of "
                     "%llu",
                     to.buffers.size(), (Number)buffer->bytes(),
                     (Number)buffer->offset(), (Number)most));
      to.buffers.push_back({kind, buffer->offset(), buffer->bytes(), kUnbound});
    }
  }

  void readTensors(
      const flatbuffers::Vector<flatbuffers::Offset<fb::Tensor>> &tensors,
      const char *what, std::vector<Tensor> &result) {
    limit(tensors.size(), kMaxTensors, "inputs or outputs");
    std::unordered_set<std::string_view> names;
    result.reserve(tensors.size());
    for (const fb::Tensor *tensor : tensors) {
      const char *id = text(tensor->name(), "an input's or output's name");
      if (*id == '\0')
        wrong(format("%s %zu has no name", what, result.size()));
      if (!names.insert(id).second)
        wrong(format("two %ss have the name \"%s\"", what, id));
      result.push_back(readTensor(*tensor, what, id));
    }
  }

  Tensor readTensor(const fb::Tensor &tensor, const char *what,
                    const char *id) const {
    ElementType type = ElementType(tensor.type());
    uint64_t bytes = elementBytes(type);
    if (bytes == 0)
      wrong(format("%s \"%s\" has element type %u, which is none", what, id,
                   unsigned(tensor.type())));
    if (sizeOf(tensor.extents()))
      fail(PASCALINE_UNSUPPORTED,
           "%s: %s \"%s\" has extents known only at run time, which this "
           "runtime cannot give; use a newer runtime",
           name.c_str(), what, id);
    requireAligned(*tensor.shape());
    uint32_t rank = tensor.shape()->size();
    if (rank > kMaxRank)
      wrong(format("%s \"%s\" has rank %u, more than %u", what, id, rank,
                   kMaxRank));
    // Zero extents last: 0 x 2^63 x 2^63 elements must not pass as 0 bytes.
    bool empty = false;
    for (int64_t extent : *tensor.shape()) {
      if (extent < 0)
        wrong(format("%s \"%s\" has the negative extent %lld", what, id,
                     (long long)extent));
      if (extent == 0)
        empty = true;
      else if (uint64_t(extent) > kMaxDeviceBytes / bytes)
        wrong(format("%s \"%s\" has more than %llu bytes", what, id,
                     (Number)kMaxDeviceBytes));
      else
        bytes *= uint64_t(extent);
    }
    if (empty)
      bytes = 0;
    uint32_t buffer = tensor.buffer();
    if (buffer >= to.buffers.size())
      wrong(format("%s \"%s\" is in buffer %u of %zu", what, id, buffer,
                   to.buffers.size()));
    if (to.buffers[buffer].bytes < bytes)
      wrong(format("%s \"%s\" has %llu bytes, its buffer %llu", what, id,
                   (Number)bytes, (Number)to.buffers[buffer].bytes));
    return {id, type, rank, tensor.shape()->data(), bytes, buffer};
  }

  void bindInputs() {
    for (size_t i = 0; i < to.inputs.size(); ++i) {
      Buffer &buffer = to.buffers[to.inputs[i].buffer];
      if (buffer.kind != BufferKind::input)
        wrong(format("input \"%s\" is in a buffer of another kind",
                     to.inputs[i].name));
      if (buffer.tensor != kUnbound)
        wrong(format("inputs \"%s\" and \"%s\" are in one buffer",
                     to.inputs[buffer.tensor].name, to.inputs[i].name));
      buffer.tensor = uint32_t(i);
      addStaging(buffer, to.inputs[i], "input");
    }
  }

  // The first output of a buffer is what the buffer is bound to; another one is
  // copied from it.
  void bindOutputs() {
    for (size_t i = 0; i < to.outputs.size(); ++i) {
      Buffer &buffer = to.buffers[to.outputs[i].buffer];
      if (buffer.kind != BufferKind::output || buffer.tensor != kUnbound)
        continue;
      buffer.tensor = uint32_t(i);
      addStaging(buffer, to.outputs[i], "output");
    }
  }

  // The caller hands in the tensor's bytes, so a launch must not be given more;
  // where that is on the host, a session has a copy.
  void addStaging(const Buffer &buffer, const Tensor &tensor,
                  const char *what) {
    if (buffer.bytes != tensor.bytes)
      wrong(format("%s \"%s\" has %llu bytes, its buffer %llu", what,
                   tensor.name, (Number)tensor.bytes, (Number)buffer.bytes));
    to.stagingBytes += aligned(tensor.bytes);
    limit(to.stagingBytes, kMaxDeviceBytes, "bytes of inputs and outputs");
  }

  void checkBound() const {
    for (size_t i = 0; i < to.buffers.size(); ++i)
      if (to.buffers[i].tensor == kUnbound &&
          (to.buffers[i].kind == BufferKind::input ||
           to.buffers[i].kind == BufferKind::output))
        wrong(format("buffer %zu is of kind input or output, but no input or "
                     "output is in it",
                     i));
  }

  void readKernels() {
    limit(from.kernels()->size(), kMaxKernels, "kernels");
    to.kernels.reserve(from.kernels()->size());
    for (const fb::Kernel *kernel : *from.kernels()) {
      const char *entry = text(kernel->entry(), "a kernel's name");
      if (*entry == '\0')
        wrong(format("kernel %zu has no name", to.kernels.size()));
      for (const char *c = entry; *c; ++c)
        if (!(isalnum(static_cast<unsigned char>(*c)) || strchr("_$%.", *c)))
          wrong(format("kernel %zu has a name that is no PTX identifier",
                       to.kernels.size()));
      uint32_t block[3] = {kernel->block_x(), kernel->block_y(),
                           kernel->block_z()};
      uint64_t threads = 1;
      for (int i = 0; i < 3; ++i)
        threads *= block[i] <= kMaxBlock[i] ? block[i] : 0;
      if (threads == 0 || threads > kMaxBlockThreads)
        wrong(format("kernel \"%s\" has a block of %u x %u x %u threads, sm_61 "
                     "takes 1 to %u x %u x %u and %u in all",
                     entry, block[0], block[1], block[2], kMaxBlock[0],
                     kMaxBlock[1], kMaxBlock[2], kMaxBlockThreads));
      uint64_t shared = uint64_t(kernel->static_shared_bytes()) +
                        kernel->dynamic_shared_bytes();
      if (shared > kMaxSharedBytes)
        wrong(format("kernel \"%s\" needs %llu bytes of shared memory a block, "
                     "sm_61 has %u",
                     entry, (Number)shared, kMaxSharedBytes));
      to.kernels.push_back({entry,
                            {block[0], block[1], block[2]},
                            kernel->static_shared_bytes(),
                            kernel->dynamic_shared_bytes(),
                            kernel->registers()});
    }
  }

  void readLaunches(
      const flatbuffers::Vector<flatbuffers::Offset<fb::Launch>> &launches,
      const char *what, std::vector<Launch> &result) {
    limit(launches.size(), kMaxLaunches, "launches");
    result.reserve(launches.size());
    for (const fb::Launch *launch : launches) {
      size_t index = result.size();
      if (launch->kernel() >= to.kernels.size())
        wrong(format("%s %zu is of kernel %u of %zu", what, index,
                     launch->kernel(), to.kernels.size()));
      uint32_t grid[3] = {launch->grid_x(), launch->grid_y(), launch->grid_z()};
      for (int i = 0; i < 3; ++i)
        if (grid[i] == 0 || grid[i] > kMaxGrid[i])
          wrong(format("%s %zu has a grid of %u x %u x %u blocks, sm_61 takes "
                       "1 to %u x %u x %u",
                       what, index, grid[0], grid[1], grid[2], kMaxGrid[0],
                       kMaxGrid[1], kMaxGrid[2]));
      if (launch->role() > fb::Role_MAX || launch->limit() > fb::Limit_MAX)
        wrong(format("%s %zu has role %u and limit %u, which are none", what,
                     index, unsigned(launch->role()),
                     unsigned(launch->limit())));
      result.push_back({launch->kernel(),
                        {grid[0], grid[1], grid[2]},
                        Role(launch->role()),
                        Limit(launch->limit()),
                        readArguments(*launch, what, index),
                        readNodes(*launch),
                        launch->flops(),
                        launch->bytes()});
    }
  }

  std::vector<Argument> readArguments(const fb::Launch &launch,
                                      const char *what, size_t index) {
    size_t count = sizeOf(launch.arguments());
    if (count)
      requireAligned(*launch.arguments());
    limit(count, kMaxArguments, "arguments of a launch");
    // Launches may share one vector, so the file's size bounds nothing here.
    limit(argumentCount += count, kMaxNodes, "arguments");
    std::vector<Argument> result;
    result.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const fb::Argument *argument = launch.arguments()->Get(unsigned(i));
      ArgumentKind kind = ArgumentKind(argument->kind());
      uint64_t most = ~uint64_t(0);
      if (kind == ArgumentKind::buffer) {
        if (argument->buffer() >= to.buffers.size())
          wrong(format("argument %zu of %s %zu is buffer %u of %zu", i, what,
                       index, argument->buffer(), to.buffers.size()));
        most = to.buffers[argument->buffer()].bytes;
      } else if (kind == ArgumentKind::scalar32) {
        most = ~uint32_t(0);
      } else if (kind != ArgumentKind::scalar64) {
        wrong(format("argument %zu of %s %zu has kind %u, which is none", i,
                     what, index, unsigned(argument->kind())));
      }
      if (argument->value() > most)
        wrong(format("argument %zu of %s %zu has value %llu, more than %llu", i,
                     what, index, (Number)argument->value(), (Number)most));
      result.push_back({kind, argument->buffer(), argument->value()});
    }
    return result;
  }

  std::vector<const char *> readNodes(const fb::Launch &launch) {
    size_t count = sizeOf(launch.nodes());
    limit(nodeCount += count, kMaxNodes, "node names");
    std::vector<const char *> result;
    result.reserve(count);
    for (size_t i = 0; i < count; ++i)
      result.push_back(text(launch.nodes()->Get(unsigned(i)), "a node's name"));
    return result;
  }

  void checkInit(const Launch &launch, size_t index) const {
    for (const Argument &argument : launch.arguments)
      if (argument.kind == ArgumentKind::buffer &&
          to.buffers[argument.buffer].tensor != kUnbound)
        wrong(format("init launch %zu uses an input or output", index));
  }

  static constexpr uint32_t kUnbound = ~uint32_t(0);

  const fb::Plan &from;
  uint64_t weightsSectionBytes;
  const std::string &name;
  Plan to = {};
  uint64_t argumentCount = 0;
  uint64_t nodeCount = 0;
};

} // namespace

Plan readPlan(const uint8_t *data, uint64_t bytes, uint64_t weightsSectionBytes,
              const std::string &name) {
  flatbuffers::Verifier verifier(data, bytes, /*max_depth=*/16,
                                 /*max_tables=*/4 * kMaxLaunches);
  // The identifier is read without a check of its own in front of it.
  if (bytes < 8 || !fb::VerifyPlanBuffer(verifier))
    fail(PASCALINE_INVALID_ARTIFACT,
         "%s: section plan is no valid FlatBuffer of version 1; the file is "
         "damaged, compile the model again",
         name.c_str());
  return Reader(*fb::GetPlan(data), weightsSectionBytes, name).read();
}

} // namespace pascaline::runtime
