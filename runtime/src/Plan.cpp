// Plan.cpp - the plan section of a model.pasc: FlatBuffers' verifier first (no
// offset leads outside), then every number against what it counts or indexes.
// Program.cpp reads what runs for one shape set.
#include "runtime/src/PlanReader.h"

namespace pascaline::runtime {

using namespace artifact;

namespace {

static_assert(int(fb::ElementType_MAX) == int(ElementType::boolean) &&
                  int(fb::BufferKind_MAX) == int(BufferKind::counters) &&
                  int(fb::ArgumentKind_MAX) == int(ArgumentKind::scalar64) &&
                  int(fb::Role_MAX) == int(Role::secondary) &&
                  int(fb::Limit_MAX) == int(Limit::latency),
              "artifact.fbs and artifact.h name the same numbers");

bool sameShapes(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!std::equal(a[i].shape, a[i].shape + a[i].rank, b[i].shape,
                    b[i].shape + b[i].rank))
      return false;
  return true;
}

class Reader {
public:
  Reader(const fb::Plan &plan, uint64_t weightsSectionBytes,
         const std::string &name)
      : from(plan), weightsSectionBytes(weightsSectionBytes), reader(name) {}

  Plan read() {
    to.model = reader.text(from.model(), "the model's name");
    to.producer = reader.text(from.producer(), "the producer's name");
    to.chip = reader.text(from.chip(), "the chip's name");
    readWeights();
    if (sizeOf(from.regions()) || sizeOf(from.extents()))
      fail(PASCALINE_UNSUPPORTED,
           "%s: the plan has regions or extents known only at run time, which "
           "this runtime cannot run; use a newer runtime",
           reader.name.c_str());
    readKernels();
    readProgramOf(from, to);
    if (size_t count = sizeOf(from.alternatives()))
      readAlternatives(count);
    return std::move(to);
  }

private:
  void readWeights() {
    to.weightsBytes = from.weights_bytes();
    reader.limit(to.weightsBytes, kMaxDeviceBytes, "bytes of weights");
    if (weightsSectionBytes > to.weightsBytes)
      reader.wrong(
          format("section weights has %llu bytes, more than the %llu that "
                 "the plan gives them on the device",
                 (Number)weightsSectionBytes, (Number)to.weightsBytes));
  }

  void readAlternatives(size_t count) {
    reader.limit(count, kMaxShapeSets - 1, "alternative programs");
    to.alternatives.resize(count);
    for (size_t i = 0; i < count; ++i) {
      readProgramOf(*from.alternatives()->Get(unsigned(i)), to.alternatives[i]);
      checkSameTensors(i + 1, "input", &Program::inputs);
      checkSameTensors(i + 1, "output", &Program::outputs);
      for (size_t other = 0; other <= i; ++other)
        if (sameShapes(to.program(other).inputs, to.alternatives[i].inputs))
          reader.wrong(
              format("shape sets %zu and %zu give every input the same shape",
                     other, i + 1));
    }
  }

  void checkSameTensors(size_t set, const char *what,
                        std::vector<Tensor> Program::*tensors) const {
    const std::vector<Tensor> &first = to.*tensors,
                              &here = to.program(set).*tensors;
    if (here.size() != first.size())
      reader.wrong(format("shape set %zu has %zu %ss, the first has %zu", set,
                          here.size(), what, first.size()));
    for (size_t i = 0; i < here.size(); ++i)
      if (strcmp(here[i].name, first[i].name) != 0 ||
          here[i].type != first[i].type)
        reader.wrong(
            format("%s %zu of shape set %zu is \"%s\" of another name or "
                   "type than the first's \"%s\"",
                   what, i, set, here[i].name, first[i].name));
  }

  // What FlatBuffers made of the plan and of its alternatives has the same
  // accessors for what a program is.
  template <class From>
  void readProgramOf(const From &source, Program &program) {
    program.arenaBytes = source.arena_bytes();
    program.counterBytes = source.counter_bytes();
    program.lowerBoundBytes = source.lower_bound_bytes();
    program.onnxOrderBytes = source.onnx_order_bytes();
    reader.limit(program.arenaBytes, kMaxDeviceBytes, "bytes of arena");
    reader.limit(program.counterBytes, kMaxDeviceBytes, "bytes of counters");
    readProgram({*source.inputs(), *source.outputs(), *source.buffers(),
                 *source.launches(), source.init()},
                reader, to, program);
  }

  void readKernels() {
    reader.limit(from.kernels()->size(), kMaxKernels, "kernels");
    to.kernels.reserve(from.kernels()->size());
    for (const fb::Kernel *kernel : *from.kernels()) {
      const char *entry = reader.text(kernel->entry(), "a kernel's name");
      if (*entry == '\0')
        reader.wrong(format("kernel %zu has no name", to.kernels.size()));
      for (const char *c = entry; *c; ++c)
        if (!(isalnum(static_cast<unsigned char>(*c)) || strchr("_$%.", *c)))
          reader.wrong(format("kernel %zu has a name that is no PTX identifier",
                              to.kernels.size()));
      uint32_t block[3] = {kernel->block_x(), kernel->block_y(),
                           kernel->block_z()};
      uint64_t threads = 1;
      for (int i = 0; i < 3; ++i)
        threads *= block[i] <= kMaxBlock[i] ? block[i] : 0;
      if (threads == 0 || threads > kMaxBlockThreads)
        reader.wrong(
            format("kernel \"%s\" has a block of %u x %u x %u threads, sm_61 "
                   "takes 1 to %u x %u x %u and %u in all",
                   entry, block[0], block[1], block[2], kMaxBlock[0],
                   kMaxBlock[1], kMaxBlock[2], kMaxBlockThreads));
      uint64_t shared = uint64_t(kernel->static_shared_bytes()) +
                        kernel->dynamic_shared_bytes();
      if (shared > kMaxSharedBytes)
        reader.wrong(
            format("kernel \"%s\" needs %llu bytes of shared memory a block, "
                   "sm_61 has %u",
                   entry, (Number)shared, kMaxSharedBytes));
      to.kernels.push_back({entry,
                            {block[0], block[1], block[2]},
                            kernel->static_shared_bytes(),
                            kernel->dynamic_shared_bytes(),
                            kernel->registers()});
    }
  }

  const fb::Plan &from;
  uint64_t weightsSectionBytes;
  PlanReader reader;
  Plan to = {};
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
