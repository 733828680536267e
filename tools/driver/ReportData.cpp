// ReportData.cpp - fills a Report; see Report.h.
#include "tools/driver/Report.h"

#include "compiler/ir/NodeNames.h"
#include "compiler/ir/plan/PlanDialect.h"
#include "passes/plan/MemoryModel.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdio>

using namespace mlir;

namespace pascaline {
namespace {

constexpr uint64_t kMiB = 1 << 20;

/// What nvidia-smi lists as a card's memory, and what a CUDA context of sm_61
/// and its code leave of it.
struct CardRow {
  const char *name;
  uint64_t listedMiB;
};
constexpr CardRow kCards[] = {{"8 GB (GTX 1080, P4)", 7606},
                              {"11 GB (GTX 1080 Ti)", 11172},
                              {"12 GB (Titan X, Titan Xp)", 12189},
                              {"24 GB (P40, P6000)", 22919}};
constexpr uint64_t kContextMiB = 300;

std::string typeText(Attribute attribute) {
  auto type = cast<TypeAttr>(attribute).getValue();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t extent : tensor.getShape())
    os << extent << 'x';
  os << tensor.getElementType();
  return text;
}

const char *limitText(artifact::Limit limit) {
  switch (limit) {
  case artifact::Limit::fma:
    return "arithmetic";
  case artifact::Limit::dram:
    return "memory";
  case artifact::Limit::sharedMemory:
    return "shared memory";
  case artifact::Limit::latency:
    return "latency";
  case artifact::Limit::unknown:
    break;
  }
  return "unknown";
}

/// A few of the names, without one of them.
std::string othersText(const std::vector<std::string> &names,
                       const std::string &without) {
  constexpr size_t kMost = 4, kMostBytes = 80;
  std::string text;
  size_t count = 0;
  for (const std::string &name : names)
    if (name != without && ++count <= kMost)
      text += (text.empty() ? "" : ", ") + name.substr(0, kMostBytes) +
              (name.size() > kMostBytes ? "..." : "");
  if (count > kMost)
    text += " and " + std::to_string(count - kMost) + " more";
  return text;
}

/// Fills one program of the report and counts its launches of kernels.
class ProgramBuilder {
public:
  ProgramBuilder(plan::ProgramOp program, const DecisionLog &log,
                 const artifact::Program &artifact,
                 const llvm::DenseMap<StringAttr, size_t> &kernels,
                 bool storesHalf, Report &whole, Report::Program &report)
      : program(program), log(log), artifact(artifact), kernels(kernels),
        storesHalf(storesHalf), whole(whole), report(report) {}

  void build() {
    addTensors(program.getInputNames(), program.getInputTypes(),
               artifact.inputs, report.inputs);
    addTensors(program.getOutputNames(), program.getOutputTypes(),
               artifact.outputs, report.outputs);
    addBuffers();
    addLaunches();
    addReplacements();
    addMemory();
    addNodes();
  }

private:
  void addTensors(ArrayAttr names, ArrayAttr types,
                  const std::vector<artifact::Tensor> &tensors,
                  std::vector<Report::Tensor> &result) {
    for (auto [name, type, tensor] : llvm::zip(names, types, tensors)) {
      auto ranked = cast<RankedTensorType>(cast<TypeAttr>(type).getValue());
      std::string element;
      llvm::raw_string_ostream(element) << ranked.getElementType();
      result.push_back({cast<StringAttr>(name).str(), element,
                        ranked.getShape().vec(),
                        artifact.buffers[tensor.buffer].bytes});
    }
  }

  void addBuffers() {
    for (auto buffer : program.getBody().front().getOps<plan::BufferOp>()) {
      buffers[buffer] = report.buffers.size();
      Report::Buffer &to = report.buffers.emplace_back();
      to.kind = stringifyBufferKind(buffer.getKind()).str();
      to.offset = buffer.getOffset().value_or(0);
      to.bytes = buffer.getBytes();
    }
  }

  void addLaunches() {
    MemoryModel model(program);
    LiveMemory live(model);
    // Init launches run first, and an artifact lists them apart.
    size_t init = 0, ordinary = 0;
    for (auto [number, step] : llvm::enumerate(model.launches)) {
      auto op = dyn_cast<plan::LaunchOp>(step.op);
      if (!op)
        continue;
      const artifact::Launch &from =
          op.getInit() ? artifact.init[init++] : artifact.launches[ordinary++];
      Report::Launch &to = report.launches.emplace_back();
      to.kernel = kernels.lookup(op.getKernelAttr().getAttr());
      ++whole.kernels[to.kernel].launches;
      to.isInit = op.getInit();
      std::copy(from.grid, from.grid + 3, to.grid);
      to.nodes = from.nodes;
      to.flops = from.flops;
      to.bytes = from.bytes;
      to.limit = limitText(from.limit);
      to.liveBytes = live.peek(number).during;
      live.run(number);
      addOperands(op, to, report.launches.size() - 1);
    }
  }

  void addOperands(plan::LaunchOp op, Report::Launch &to, size_t number) {
    for (auto [i, value] : llvm::enumerate(op.getBuffers())) {
      plan::BufferRange range = plan::rangeOf(value);
      size_t index = buffers.lookup(range.buffer);
      auto access = static_cast<plan::Access>(op.getAccess()[i]);
      to.operands.push_back({index, stringifyAccess(access).str(),
                             op.getTypes() ? typeText((*op.getTypes())[i]) : "",
                             uint64_t(range.start), uint64_t(range.bytes)});
      Report::Buffer &buffer = report.buffers[index];
      if (buffer.first == Report::kNone)
        buffer.first = number;
      buffer.last = number;
      if (buffer.nodes.empty() && access == plan::Access::write)
        buffer.nodes = to.nodes;
    }
  }

  void addReplacements() {
    for (auto op : program.getBody().front().getOps<plan::LaunchOp>()) {
      std::optional<ArrayRef<int32_t>> pairs = op.getReplaceable();
      for (size_t i = 0; pairs && i + 1 < pairs->size(); i += 2) {
        size_t from = bufferAt(op, (*pairs)[i]),
               to = bufferAt(op, (*pairs)[i + 1]);
        Report::Buffer &a = report.buffers[from], &b = report.buffers[to];
        if (a.kind == "arena" && b.kind == "arena" && a.offset == b.offset &&
            a.last == b.first)
          b.replaces = from;
      }
    }
  }

  size_t bufferAt(plan::LaunchOp op, int32_t position) {
    return buffers.lookup(plan::rangeOf(op.getBuffers()[position]).buffer);
  }

  void addMemory() {
    Report::Memory &m = report.memory;
    m.weights = *program.getWeightBytes();
    m.init = *program.getInitBytes();
    m.arena = *program.getArenaBytes();
    m.counters = *program.getCounterBytes();
    m.staging = 0;
    for (const Report::Buffer &buffer : report.buffers)
      if (buffer.kind == "input" || buffer.kind == "output")
        m.staging += llvm::alignTo(buffer.bytes, artifact::kBufferAlignment);
    m.total = m.weights + m.init + m.arena + m.counters + m.staging;
    m.lowerBound = *program.getLowerBound();
    m.onnxOrder = program.getOnnxOrderBytes().value_or(m.lowerBound);
    m.peakLaunch = Report::kNone;
    for (auto [i, launch] : llvm::enumerate(report.launches))
      if (m.peakLaunch == Report::kNone ||
          launch.liveBytes > report.launches[m.peakLaunch].liveBytes)
        m.peakLaunch = i;
    for (const CardRow &card : kCards) {
      uint64_t usable = (card.listedMiB - kContextMiB) * kMiB;
      report.cards.push_back(
          {card.name, card.listedMiB * kMiB, usable, m.total <= usable});
    }
  }

  void addNodes() {
    llvm::StringMap<std::vector<size_t>> landed;
    for (auto [i, launch] : llvm::enumerate(report.launches))
      for (const std::string &name : launch.nodes)
        landed[name].push_back(i);
    for (const OnnxNode &node : log.getNodes(program.getSymName())) {
      Report::Node &to = report.nodes.emplace_back();
      to.name = node.name;
      to.op = node.op;
      to.launches = landed.lookup(node.name);
      to.outcome = outcomeOf(to);
      to.precision = precisionOf(to);
      to.layout = {"as in the model", "no pass chose another"};
      if (const Decision *said =
              log.find(program.getSymName(), Topic::Layout, node.name))
        to.layout = {said->choice, said->reason};
      if (const Decision *said =
              log.find(program.getSymName(), Topic::Memory, node.name))
        to.memory = {said->choice, said->reason};
    }
    addRefusals(landed);
  }

  Report::Choice outcomeOf(const Report::Node &node) {
    if (node.launches.empty()) {
      if (const Decision *said =
              log.find(program.getSymName(), Topic::Fate, node.name))
        return {said->choice, said->reason};
      return {"eliminated", "nothing of it was left to compute"};
    }
    const Report::Launch &launch = report.launches[node.launches.front()];
    std::string kernel = whole.kernels[launch.kernel].name;
    if (launch.isInit)
      return {"folded", "it follows from constants: kernel " + kernel +
                            " computes it once, when the model is loaded"};
    if (launch.nodes.size() == 1)
      return {"alone", "kernel " + kernel + " computes nothing else"};
    return {"fused", "kernel " + kernel + " computes it with " +
                         othersText(launch.nodes, node.name)};
  }

  Report::Choice precisionOf(const Report::Node &node) {
    if (const Decision *said =
            log.find(program.getSymName(), Topic::Precision, node.name))
      return {said->choice, said->reason};
    if (node.launches.empty())
      return {"none", "no kernel of a run computes it"};
    if (!storesHalf)
      return {"as in the model", "--precision fp32 stores every tensor as the "
                                 "model has it"};
    return {"not stored", "its result stays in registers of its kernel, or is "
                          "no float"};
  }

  /// Those between nodes that did end in different kernels.
  void addRefusals(const llvm::StringMap<std::vector<size_t>> &landed) {
    llvm::StringMap<Report::Node *> byName;
    for (Report::Node &node : report.nodes)
      byName[node.name] = &node;
    for (const auto &[key, said] : log.getDecisions()) {
      if (key.topic != Topic::Fusion || key.function != program.getSymName())
        continue;
      auto a = landed.find(key.node), b = landed.find(key.other);
      auto node = byName.find(key.node);
      if (a == landed.end() || b == landed.end() || node == byName.end() ||
          llvm::any_of(a->second, [&](size_t launch) {
            return llvm::is_contained(b->second, launch);
          }))
        continue;
      node->second->notFused.push_back({key.other, said.reason});
    }
  }

  plan::ProgramOp program;
  const DecisionLog &log;
  const artifact::Program &artifact;
  const llvm::DenseMap<StringAttr, size_t> &kernels;
  bool storesHalf;
  Report &whole;
  Report::Program &report;
  llvm::DenseMap<Operation *, size_t> buffers;
};

} // namespace

Report makeReport(ModuleOp module, const DecisionLog &log,
                  const ArtifactContents &artifact, bool storesHalf) {
  Report report;
  report.model = artifact.model;
  report.producer = artifact.producer;
  report.chip = artifact.chip;
  report.precision = storesHalf ? "fp16" : "fp32";
  llvm::DenseMap<StringAttr, size_t> kernels;
  for (auto [op, kernel] :
       llvm::zip(module.getOps<plan::KernelOp>(), artifact.kernels)) {
    kernels[op.getSymNameAttr()] = report.kernels.size();
    Report::Kernel &to = report.kernels.emplace_back();
    to.name = kernel.entry;
    to.configuration = op.getConfiguration().str();
    std::copy(kernel.block, kernel.block + 3, to.block);
    to.sharedBytes = kernel.staticSharedBytes + kernel.dynamicSharedBytes;
    to.registers = kernel.registers;
  }
  report.programs.resize(1 + artifact.alternatives.size());
  for (auto [i, program] : llvm::enumerate(module.getOps<plan::ProgramOp>()))
    ProgramBuilder(program, log, i ? artifact.alternatives[i - 1] : artifact,
                   kernels, storesHalf, report, report.programs[i])
        .build();
  return report;
}

std::string sizeText(uint64_t bytes) {
  const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
  double value = double(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 3; ++unit)
    value /= 1024;
  char text[40];
  snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
  return text;
}

} // namespace pascaline
