// Program.cpp - what runs for one shape set, every number against what it
// counts or indexes. See Plan.cpp.
//
// Test: test/runtime/ArtifactTest.cpp
#include "runtime/src/PlanReader.h"

#include <string_view>
#include <unordered_set>

namespace pascaline::runtime {

using namespace artifact;

namespace {

class ProgramReader {
public:
  ProgramReader(const ProgramSource &from, PlanReader &reader, const Plan &plan,
                Program &to)
      : from(from), reader(reader), plan(plan), to(to) {}

  void read() {
    readBuffers();
    readTensors(from.inputs, "input", to.inputs);
    readTensors(from.outputs, "output", to.outputs);
    bindInputs();
    bindOutputs();
    checkBound();
    readLaunches(from.launches, "launch", to.launches);
    if (from.init)
      readLaunches(*from.init, "init launch", to.init);
    for (size_t i = 0; i < to.init.size(); ++i)
      checkInit(to.init[i], i);
  }

private:
  void readBuffers() {
    reader.requireAligned(from.buffers);
    reader.countBuffers(from.buffers.size());
    to.buffers.reserve(from.buffers.size());
    for (const fb::Buffer *buffer : from.buffers) {
      BufferKind kind = BufferKind(buffer->kind());
      uint64_t most = kMaxDeviceBytes;
      switch (kind) {
      case BufferKind::arena:
        most = to.arenaBytes;
        break;
      case BufferKind::weights:
        most = plan.weightsBytes;
        break;
      case BufferKind::counters:
        most = to.counterBytes;
        break;
      case BufferKind::input:
      case BufferKind::output:
        if (buffer->offset() != 0)
          reader.wrong(
              format("buffer %zu, an input or output, has offset %llu, not 0",
                     to.buffers.size(), (Number)buffer->offset()));
        break;
      default:
        reader.wrong(format("buffer %zu has kind %u, which is none",
                            to.buffers.size(), unsigned(buffer->kind())));
      }
      if (buffer->offset() > most || buffer->bytes() > most - buffer->offset())
        reader.wrong(
            format("buffer %zu has %llu bytes at %llu, outside its memory of "
                   "%llu",
                   to.buffers.size(), (Number)buffer->bytes(),
                   (Number)buffer->offset(), (Number)most));
      to.buffers.push_back({kind, buffer->offset(), buffer->bytes(), kUnbound});
    }
  }

  void readTensors(
      const flatbuffers::Vector<flatbuffers::Offset<fb::Tensor>> &tensors,
      const char *what, std::vector<Tensor> &result) {
    reader.limit(tensors.size(), kMaxTensors, "inputs or outputs");
    std::unordered_set<std::string_view> names;
    result.reserve(tensors.size());
    for (const fb::Tensor *tensor : tensors) {
      const char *id =
          reader.text(tensor->name(), "an input's or output's name");
      if (*id == '\0')
        reader.wrong(format("%s %zu has no name", what, result.size()));
      if (!names.insert(id).second)
        reader.wrong(format("two %ss have the name \"%s\"", what, id));
      result.push_back(readTensor(*tensor, what, id));
    }
  }

  Tensor readTensor(const fb::Tensor &tensor, const char *what,
                    const char *id) const {
    ElementType type = ElementType(tensor.type());
    uint64_t bytes = elementBytes(type);
    if (bytes == 0)
      reader.wrong(format("%s \"%s\" has element type %u, which is none", what,
                          id, unsigned(tensor.type())));
    if (sizeOf(tensor.extents()))
      fail(PASCALINE_UNSUPPORTED,
           "%s: %s \"%s\" has extents known only at run time, which this "
           "runtime cannot give; use a newer runtime",
           reader.name.c_str(), what, id);
    reader.requireAligned(*tensor.shape());
    uint32_t rank = tensor.shape()->size();
    if (rank > kMaxRank)
      reader.wrong(format("%s \"%s\" has rank %u, more than %u", what, id, rank,
                          kMaxRank));
    // Zero extents last: 0 x 2^63 x 2^63 elements must not pass as 0 bytes.
    bool empty = false;
    for (int64_t extent : *tensor.shape()) {
      if (extent < 0)
        reader.wrong(format("%s \"%s\" has the negative extent %lld", what, id,
                            (long long)extent));
      if (extent == 0)
        empty = true;
      else if (uint64_t(extent) > kMaxDeviceBytes / bytes)
        reader.wrong(format("%s \"%s\" has more than %llu bytes", what, id,
                            (Number)kMaxDeviceBytes));
      else
        bytes *= uint64_t(extent);
    }
    if (empty)
      bytes = 0;
    uint32_t buffer = tensor.buffer();
    if (buffer >= to.buffers.size())
      reader.wrong(format("%s \"%s\" is in buffer %u of %zu", what, id, buffer,
                          to.buffers.size()));
    if (to.buffers[buffer].bytes < bytes)
      reader.wrong(format("%s \"%s\" has %llu bytes, its buffer %llu", what, id,
                          (Number)bytes, (Number)to.buffers[buffer].bytes));
    return {id, type, rank, tensor.shape()->data(), bytes, buffer};
  }

  void bindInputs() {
    for (size_t i = 0; i < to.inputs.size(); ++i) {
      Buffer &buffer = to.buffers[to.inputs[i].buffer];
      if (buffer.kind != BufferKind::input)
        reader.wrong(format("input \"%s\" is in a buffer of another kind",
                            to.inputs[i].name));
      if (buffer.tensor != kUnbound)
        reader.wrong(format("inputs \"%s\" and \"%s\" are in one buffer",
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
      reader.wrong(format("%s \"%s\" has %llu bytes, its buffer %llu", what,
                          tensor.name, (Number)tensor.bytes,
                          (Number)buffer.bytes));
    to.stagingBytes += aligned(tensor.bytes);
    reader.limit(to.stagingBytes, kMaxDeviceBytes,
                 "bytes of inputs and outputs");
  }

  void checkBound() const {
    for (size_t i = 0; i < to.buffers.size(); ++i)
      if (to.buffers[i].tensor == kUnbound &&
          (to.buffers[i].kind == BufferKind::input ||
           to.buffers[i].kind == BufferKind::output))
        reader.wrong(
            format("buffer %zu is of kind input or output, but no input or "
                   "output is in it",
                   i));
  }

  void readLaunches(
      const flatbuffers::Vector<flatbuffers::Offset<fb::Launch>> &launches,
      const char *what, std::vector<Launch> &result) {
    reader.countLaunches(launches.size());
    result.reserve(launches.size());
    for (const fb::Launch *launch : launches) {
      size_t index = result.size();
      if (launch->kernel() >= plan.kernels.size())
        reader.wrong(format("%s %zu is of kernel %u of %zu", what, index,
                            launch->kernel(), plan.kernels.size()));
      uint32_t grid[3] = {launch->grid_x(), launch->grid_y(), launch->grid_z()};
      for (int i = 0; i < 3; ++i)
        if (grid[i] == 0 || grid[i] > kMaxGrid[i])
          reader.wrong(
              format("%s %zu has a grid of %u x %u x %u blocks, sm_61 takes "
                     "1 to %u x %u x %u",
                     what, index, grid[0], grid[1], grid[2], kMaxGrid[0],
                     kMaxGrid[1], kMaxGrid[2]));
      if (launch->role() > fb::Role_MAX || launch->limit() > fb::Limit_MAX)
        reader.wrong(format("%s %zu has role %u and limit %u, which are none",
                            what, index, unsigned(launch->role()),
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
      reader.requireAligned(*launch.arguments());
    reader.countArguments(count);
    std::vector<Argument> result;
    result.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      const fb::Argument *argument = launch.arguments()->Get(unsigned(i));
      ArgumentKind kind = ArgumentKind(argument->kind());
      uint64_t most = ~uint64_t(0);
      if (kind == ArgumentKind::buffer) {
        if (argument->buffer() >= to.buffers.size())
          reader.wrong(format("argument %zu of %s %zu is buffer %u of %zu", i,
                              what, index, argument->buffer(),
                              to.buffers.size()));
        most = to.buffers[argument->buffer()].bytes;
      } else if (kind == ArgumentKind::scalar32) {
        most = ~uint32_t(0);
      } else if (kind != ArgumentKind::scalar64) {
        reader.wrong(format("argument %zu of %s %zu has kind %u, which is none",
                            i, what, index, unsigned(argument->kind())));
      }
      if (argument->value() > most)
        reader.wrong(
            format("argument %zu of %s %zu has value %llu, more than %llu", i,
                   what, index, (Number)argument->value(), (Number)most));
      result.push_back({kind, argument->buffer(), argument->value()});
    }
    return result;
  }

  std::vector<const char *> readNodes(const fb::Launch &launch) {
    size_t count = sizeOf(launch.nodes());
    reader.countNodes(count);
    std::vector<const char *> result;
    result.reserve(count);
    for (size_t i = 0; i < count; ++i)
      result.push_back(
          reader.text(launch.nodes()->Get(unsigned(i)), "a node's name"));
    return result;
  }

  void checkInit(const Launch &launch, size_t index) const {
    for (const Argument &argument : launch.arguments)
      if (argument.kind == ArgumentKind::buffer &&
          to.buffers[argument.buffer].tensor != kUnbound)
        reader.wrong(format("init launch %zu uses an input or output", index));
  }

  static constexpr uint32_t kUnbound = ~uint32_t(0);

  const ProgramSource &from;
  PlanReader &reader;
  const Plan &plan;
  Program &to;
};

} // namespace

void readProgram(const ProgramSource &from, PlanReader &reader,
                 const Plan &plan, Program &program) {
  ProgramReader(from, reader, plan, program).read();
}

} // namespace pascaline::runtime
