#include "compiler/artifact/PlanToArtifact.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/plan/PlanDialect.h"
#include "compiler/kernels/WeightPacking.h"
#include "compiler/target/Chip.h"
#include "compiler/target/Ptx.h"

#include <map>

using namespace mlir;

namespace pascaline {
namespace {

artifact::ElementType elementType(Type type) {
  using artifact::ElementType;
  if (type.isF32())
    return ElementType::f32;
  if (type.isF16())
    return ElementType::f16;
  if (type.isBF16())
    return ElementType::bf16;
  if (type.isF64())
    return ElementType::f64;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return ElementType::boolean;
  case 8:
    return isUnsigned ? ElementType::u8 : ElementType::i8;
  case 16:
    return isUnsigned ? ElementType::u16 : ElementType::i16;
  case 32:
    return isUnsigned ? ElementType::u32 : ElementType::i32;
  case 64:
    return isUnsigned ? ElementType::u64 : ElementType::i64;
  }
  return ElementType::none;
}

WeightPacking packingOf(ArrayRef<int64_t> fields) {
  WeightPacking p;
  int64_t *const members[] = {&p.elementBytes, &p.groups,    &p.m,
                              &p.taps,         &p.channels,  &p.channelsPadded,
                              &p.mPadded,      &p.kPadded,   &p.groupStride,
                              &p.mStride,      &p.tapStride, &p.cStride};
  for (auto [member, field] : llvm::zip(members, fields))
    *member = field;
  return p;
}

// What bounds a launch by itself: the larger of its arithmetic's and its
// memory's time at the chip's peak, or the cost of a launch when both are less.
artifact::Limit limitOf(int64_t flops, int64_t bytes, const Chip &chip) {
  constexpr double kLaunchUs = 2.5; // a kernel that does nothing, GP102
  double fmaUs = double(flops) / 2 /
                 (double(chip.multiprocessors) * Chip::kLanes * chip.clockMhz);
  double dramUs = double(bytes) / double(chip.bandwidthMBs);
  if (std::max(fmaUs, dramUs) < kLaunchUs)
    return artifact::Limit::latency;
  return fmaUs > dramUs ? artifact::Limit::fma : artifact::Limit::dram;
}

/// The reader refuses longer names, so they must not be written.
LogicalResult checkName(Operation *op, StringRef name) {
  if (name.size() <= artifact::kMaxNameBytes)
    return success();
  return op->emitError() << "a name of " << name.size()
                         << " bytes that begins with \"" << name.take_front(40)
                         << "\" is longer than "
                         << unsigned(artifact::kMaxNameBytes)
                         << "; rename the node or tensor";
}

// The index of a kernel in the artifact.
using KernelIndices = llvm::DenseMap<StringAttr, uint32_t>;

// One program. Weights that several of them read are written by each, the same
// bytes to the same place.
class Converter {
public:
  Converter(plan::ProgramOp program, const KernelIndices &kernels,
            const Chip &chip, std::vector<char> &weights,
            artifact::Program &contents)
      : program(program), kernels(kernels), chip(chip), weights(weights),
        contents(contents) {}

  LogicalResult convert() {
    contents.arenaBytes = *program.getArenaBytes();
    contents.counterBytes = *program.getCounterBytes();
    contents.lowerBoundBytes = *program.getLowerBound();
    contents.onnxOrderBytes = program.getOnnxOrderBytes().value_or(0);
    for (Operation &op : program.getBody().front()) {
      if (auto buffer = dyn_cast<plan::BufferOp>(op)) {
        if (failed(addBuffer(buffer)))
          return failure();
      } else if (auto launch = dyn_cast<plan::LaunchOp>(op)) {
        if (failed(addLaunch(launch)))
          return failure();
      } else if (auto results = dyn_cast<plan::ReturnOp>(op)) {
        if (failed(addTensors(results)))
          return failure();
      }
    }
    return success();
  }

private:
  LogicalResult addBuffer(plan::BufferOp op) {
    artifact::Buffer buffer;
    buffer.bytes = op.getBytes();
    buffer.offset = op.getOffset().value_or(0);
    switch (op.getKind()) {
    case plan::BufferKind::input:
      buffer.kind = artifact::BufferKind::input;
      inputs[*op.getIndex()] = contents.buffers.size();
      break;
    case plan::BufferKind::output:
      buffer.kind = artifact::BufferKind::output;
      break;
    case plan::BufferKind::weights:
      buffer.kind = artifact::BufferKind::weights;
      if (failed(copyWeights(op, buffer.offset)))
        return failure();
      break;
    case plan::BufferKind::init:
      buffer.kind = artifact::BufferKind::weights;
      buffer.offset += *program.getWeightBytes();
      break;
    case plan::BufferKind::arena:
      buffer.kind = artifact::BufferKind::arena;
      break;
    case plan::BufferKind::counters:
      buffer.kind = artifact::BufferKind::counters;
      break;
    }
    buffers[op.getBuffer()] = contents.buffers.size();
    contents.buffers.push_back(buffer);
    return success();
  }

  LogicalResult copyWeights(plan::BufferOp op, int64_t offset) {
    auto bytes = elementBytes(*op.getValue());
    if (!bytes)
      return op.emitOpError("has an elided value; weights are kept in .mlirbc "
                            "files, not in text");
    if (auto fields = op.getPacking())
      bytes = packWeights(*bytes, packingOf(*fields));
    if (bytes->size() != op.getBytes())
      return op.emitOpError() << "has a value of " << bytes->size()
                              << " bytes in a buffer of " << op.getBytes();
    llvm::copy(*bytes, weights.begin() + offset);
    return success();
  }

  LogicalResult addLaunch(plan::LaunchOp op) {
    artifact::Launch launch;
    launch.kernel = kernels.at(op.getKernelAttr().getAttr());
    llvm::copy(op.getGrid(), launch.grid);
    for (Value buffer : op.getBuffers()) {
      plan::BufferRange range = plan::rangeOf(buffer);
      launch.arguments.push_back(artifact::Argument::ofBuffer(
          buffers.lookup(range.buffer.getBuffer()), range.start));
    }
    for (StringAttr node : op.getNodes().getAsRange<StringAttr>()) {
      if (failed(checkName(op, node)))
        return failure();
      launch.nodes.push_back(node.str());
    }
    launch.flops = op.getFlops();
    launch.bytes = op.getBytes();
    launch.limit = limitOf(op.getFlops(), op.getBytes(), chip);
    (op.getInit() ? contents.init : contents.launches)
        .push_back(std::move(launch));
    return success();
  }

  static artifact::Tensor tensor(Attribute name, Attribute type,
                                 uint32_t buffer) {
    auto ranked = cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
    artifact::Tensor result;
    result.name = cast<StringAttr>(name).str();
    result.type = elementType(ranked.getElementType());
    result.shape.assign(ranked.getShape().begin(), ranked.getShape().end());
    result.buffer = buffer;
    return result;
  }

  LogicalResult addTensors(plan::ReturnOp op) {
    for (ArrayAttr names : {program.getInputNames(), program.getOutputNames()})
      for (StringAttr name : names.getAsRange<StringAttr>())
        if (failed(checkName(op, name)))
          return failure();
    for (auto [i, name] : llvm::enumerate(program.getInputNames()))
      contents.inputs.push_back(
          tensor(name, program.getInputTypes()[i], inputs.at(i)));
    for (auto [i, name] : llvm::enumerate(program.getOutputNames()))
      contents.outputs.push_back(tensor(name, program.getOutputTypes()[i],
                                        buffers.lookup(op.getBuffers()[i])));
    return success();
  }

  plan::ProgramOp program;
  const KernelIndices &kernels;
  const Chip &chip;
  std::vector<char> &weights;
  artifact::Program &contents;
  llvm::DenseMap<Value, uint32_t> buffers;
  std::map<int64_t, uint32_t> inputs;
};

uint32_t addKernel(plan::KernelOp kernel, ArtifactContents &contents) {
  artifact::Kernel entry;
  entry.entry = kernel.getSymName().str();
  llvm::copy(kernel.getBlock(), entry.block);
  entry.staticSharedBytes = kernel.getSharedBytes();
  contents.kernels.push_back(std::move(entry));
  return contents.kernels.size() - 1;
}

} // namespace

LogicalResult planToArtifact(ModuleOp module, StringRef model, const Chip &chip,
                             PlannedArtifact &artifact) {
  auto programs = llvm::to_vector(module.getOps<plan::ProgramOp>());
  if (programs.empty())
    return module.emitError("holds no plan.program");
  for (plan::ProgramOp program : programs)
    if (!program.getArenaBytes())
      return program.emitOpError("has no memory plan");
  ArtifactContents &contents = artifact.contents;
  KernelIndices kernels;
  std::vector<std::string> ptx;
  for (auto kernel : module.getOps<plan::KernelOp>()) {
    if (!kernel.getPtx())
      return kernel.emitOpError("has no PTX");
    kernels[kernel.getSymNameAttr()] = addKernel(kernel, contents);
    ptx.push_back(kernel.getPtx()->str());
  }
  contents.model = model.str();
  contents.producer = "pascaline " PASCALINE_VERSION;
  contents.chip = chip.name.str();
  contents.ptx = linkPtx(ptx);
  // All programs say the same of the weights.
  artifact.weights.resize(*programs[0].getWeightBytes());
  contents.weightsBytes =
      *programs[0].getWeightBytes() + *programs[0].getInitBytes();
  contents.alternatives.resize(programs.size() - 1);
  for (auto [i, program] : llvm::enumerate(programs)) {
    artifact::Program &to = i ? contents.alternatives[i - 1] : contents;
    if (failed(
            Converter(program, kernels, chip, artifact.weights, to).convert()))
      return failure();
  }
  contents.weights = artifact.weights.data();
  contents.weightsSectionBytes = artifact.weights.size();
  return success();
}

} // namespace pascaline
