// AssignLayouts - how each tensor between groups lies in memory, by cost.
//
// Row-major suits a 1x1 convolution, whose pixels come 128 bits at a time. The
// windows of a larger one begin anywhere in a row, so each element is a load of
// its own, and the padding a test for each. Channels packed by four make every
// element of a window 128 bits wide, wherever it lies; a halo of zeros around
// the image makes the tests go:
//
//   before:  %a = fused(...) { conv, relu }       : tensor<1x64x56x56xf32>
//            %b = fused(%a, %w) { conv 3x3, pads 1 }
//   after:   %a = fused(...) { conv, relu, relayout }
//              : tensor<1x64x56x56xf32, packed 1, pack 4, halo [0, 0, 1, 1]>
//            %b = fused(%a, %w) { relayout, conv 3x3, pads 1 }
//
// The relayouts are part of the groups' loads and stores (compiler/ir/Layout.h)
// and need no kernel. Considered is what convolutions and pools make and groups
// alone read. Its layouts fall into two kinds by what is innermost: pixels
// (row-major; with a halo) or channels (channels last; packed; packed with a
// halo). The best of each kind follows from the cost of the convolutions that
// read it, which the model that picks their tiles gives. Between the kinds a
// group that stores the one and reads the other element by element wastes three
// quarters of each access. So the kinds are two labels and the cheapest choice
// for the function a minimum cut (MinCut.h).
//
// Test: test/passes/graph/assign-layouts.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Layout.h"
#include "compiler/ir/Types.h"
#include "compiler/kernels/contraction/Cost.h"
#include "compiler/kernels/contraction/GroupContraction.h"
#include "compiler/target/Chip.h"
#include "passes/graph/Conversions.h"
#include "passes/graph/MinCut.h"

#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

constexpr int64_t kPack = 4; ///< lanes of a 128-bit load of floats

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Cycles that the L2 cache takes for so many bytes.
double cyclesOf(int64_t bytes) { return bytes / kL2BytesPerCycle; }

bool isPool(Operation *op) { return isa_and_nonnull<MaxPoolOp, AvgPoolOp>(op); }

/// How a group uses an operand.
enum class Use {
  ConvInput,   ///< read by the windows of a contraction
  Elementwise, ///< element by element, beside its own result's
  Other,       ///< in an order of its own
  Strided,     ///< through strides, which say row-major alone
};

/// A value of the body that is the block argument, widened perhaps.
Value skipCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isa<BlockArgument>(cast.getX()) ? cast.getX() : value;
}

bool isContraction(ConvOp conv) {
  return conv.getGroups() == 1 || conv.getW().getType().getShape()[1] != 1;
}

Use useOf(FusedOp group, unsigned operand) {
  Value argument = group.getBody().front().getArgument(operand);
  Operation *anchor = group.getAnchor();
  bool feedsContraction = isa_and_nonnull<ConvOp, MatMulOp>(anchor);
  if (auto conv = dyn_cast_or_null<ConvOp>(anchor))
    feedsContraction = isContraction(conv);
  Use use = Use::Elementwise;
  SmallVector<Value> pending = {argument};
  llvm::DenseSet<Value> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (user == anchor) {
        auto conv = dyn_cast<ConvOp>(user);
        if (conv && feedsContraction && skipCast(conv.getX()) == argument &&
            skipCast(conv.getW()) != argument && argument.hasOneUse())
          return Use::ConvInput;
        if (feedsContraction)
          return Use::Strided;
        if (!isPool(user))
          use = Use::Other;
        continue;
      }
      if (isa<TransposeOp, ReshapeOp, BroadcastOp, SliceOp>(user))
        use = Use::Other;
      if (user->getNumResults() == 1 && seen.insert(user->getResult(0)).second)
        pending.push_back(user->getResult(0));
    }
  return use;
}

/// A reader of a tensor: operand `operand` of `group`.
struct Reader {
  FusedOp group;
  unsigned operand;
  Use use;
};

/// A tensor whose layout is open.
struct Tensor {
  OpResult value;
  SmallVector<Reader> readers;
  /// The best of each kind, null for row-major, and what it costs.
  LayoutAttr layouts[2];
  double cycles[2];
  double rowMajorCycles;
};

/// "channels packed by 4, halo 1x1", for people.
std::string textOf(LayoutAttr layout) {
  if (!layout)
    return "row-major";
  std::string text = layout.getPack() ? "channels packed by " +
                                            std::to_string(layout.getPack())
                     : llvm::is_sorted(layout.getOrder()) ? "row-major"
                                                          : "channels last";
  if (ArrayRef<int64_t> halo = layout.getHalo(); !halo.empty())
    text += ", halo " + std::to_string(halo[2]) + "x" + std::to_string(halo[3]);
  return text;
}

/// Whether the group stores its anchor's elements where they are.
bool storesInPlace(FusedOp group, Value yielded) {
  Operation *anchor = group.getAnchor();
  if (typeOf(yielded).getShape() != typeOf(anchor->getResult(0)).getShape())
    return false;
  for (Operation *op = anchor->getNextNode(); op; op = op->getNextNode())
    if (isa<TransposeOp, ReshapeOp, SliceOp>(op))
      return false;
  return true;
}

/// Lets an operand of a group lie in another layout.
void setOperandLayout(FusedOp group, unsigned operand, RankedTensorType type) {
  Block &body = group.getBody().front();
  BlockArgument argument = body.getArgument(operand);
  RankedTensorType plain = typeOf(argument);
  argument.setType(type);
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  // No node's: the one that made the value is not computed here.
  auto relayout =
      builder.create<RelayoutOp>(builder.getUnknownLoc(), plain, argument);
  argument.replaceAllUsesExcept(relayout, relayout);
}

struct AssignLayouts : impl::AssignLayoutsBase<AssignLayouts> {
  using AssignLayoutsBase::AssignLayoutsBase;

  void runOnOperation() override {
    target = findChip(chip);
    if (!target) {
      getOperation().emitError() << "unknown chip \"" << chip << "\"";
      return signalPassFailure();
    }
    if (getOperation().isDeclaration())
      return;
    tensors.clear(); // of a function before
    nodes.clear();
    for (auto group : getOperation().getBody().front().getOps<FusedOp>())
      for (OpResult result : group->getResults())
        consider(result);
    std::vector<bool> kinds = chooseKinds();
    for (auto &[value, tensor] : tensors) {
      bool kind = kinds[nodes.lookup(value)];
      LayoutAttr layout = tensor.layouts[kind];
      record(tensor, kind);
      if (!layout)
        continue;
      apply(tensor, layout);
      ++(kind ? numChannels : numPixels);
    }
    recordConversions(getOperation().getBody().front());
  }

private:
  void consider(OpResult result);
  SmallVector<LayoutAttr> candidates(const Tensor &tensor, bool channels);
  std::optional<double> cyclesWith(Tensor &tensor, LayoutAttr layout);
  std::optional<double> readCycles(const Reader &reader, RankedTensorType type);
  std::vector<bool> chooseKinds();
  void record(const Tensor &tensor, bool kind);
  void apply(Tensor &tensor, LayoutAttr layout);

  const Chip *target = nullptr;
  llvm::MapVector<Value, Tensor> tensors;
  llvm::DenseMap<Value, int> nodes;
  /// Equal convolutions of equal layouts are estimated once.
  std::map<std::string, std::optional<double>> estimates;
};

void AssignLayouts::consider(OpResult result) {
  auto group = cast<FusedOp>(result.getOwner());
  RankedTensorType type = typeOf(result);
  Operation *anchor = group.getAnchor();
  auto conv = dyn_cast_or_null<ConvOp>(anchor);
  if (type.getRank() != 4 || type.getEncoding() ||
      !isa<Float32Type, Float16Type>(type.getElementType()) ||
      !(isPool(anchor) || (conv && isContraction(conv))) ||
      !storesInPlace(group,
                     group.getYield().getValues()[result.getResultNumber()]))
    return;
  Tensor tensor;
  tensor.value = result;
  bool hasConv = false;
  for (OpOperand &use : result.getUses()) {
    auto reader = dyn_cast<FusedOp>(use.getOwner());
    if (!reader)
      return;
    Use how = useOf(reader, use.getOperandNumber());
    // What a concat joins may be written where its result lies, row-major.
    if (how == Use::Strided || isa_and_nonnull<ConcatOp>(reader.getAnchor()))
      return;
    hasConv |= how == Use::ConvInput;
    tensor.readers.push_back({reader, use.getOperandNumber(), how});
  }
  if (tensor.readers.empty())
    return;
  for (bool channels : {false, true}) {
    std::optional<double> best;
    for (LayoutAttr layout : candidates(tensor, channels)) {
      std::optional<double> cycles = cyclesWith(tensor, layout);
      if (!layout)
        tensor.rowMajorCycles = cycles.value_or(0);
      if (cycles && (!best || *cycles < *best)) {
        best = cycles;
        tensor.layouts[channels] = layout;
      }
    }
    if (!best)
      return;
    tensor.cycles[channels] = *best;
  }
  tensors.insert({result, tensor});
}

/// The layouts of a kind, row-major (null) first.
SmallVector<LayoutAttr> AssignLayouts::candidates(const Tensor &tensor,
                                                  bool channels) {
  SmallVector<int64_t> halo(4, 0);
  for (const Reader &reader : tensor.readers) {
    if (reader.use != Use::ConvInput)
      continue;
    auto conv = cast<ConvOp>(FusedOp(reader.group).getAnchor());
    for (int i : {0, 1})
      halo[2 + i] =
          std::max({halo[2 + i], conv.getPadsBegin()[i], conv.getPadsEnd()[i]});
  }
  bool hasHalo = halo[2] > 0 || halo[3] > 0;
  MLIRContext *context = &getContext();
  RankedTensorType type = typeOf(tensor.value);
  SmallVector<int64_t> rowMajor = {0, 1, 2, 3}, channelsLast = {0, 2, 3, 1};
  SmallVector<LayoutAttr> layouts;
  auto add = [&](ArrayRef<int64_t> order, int64_t pack,
                 ArrayRef<int64_t> halo) {
    auto layout = LayoutAttr::get(context, order, pack ? 1 : 0, pack, halo);
    auto encoded =
        RankedTensorType::get(type.getShape(), type.getElementType(), layout);
    // Kernels count elements in 32 bits.
    if (memoryLayout(encoded).elements < (int64_t(1) << 31))
      layouts.push_back(layout);
  };
  if (!channels) {
    layouts.push_back({});
    if (hasHalo)
      add(rowMajor, 0, halo);
    return layouts;
  }
  if (type.getDimSize(1) % kPack == 0) {
    add(rowMajor, kPack, {});
    if (hasHalo)
      add(rowMajor, kPack, halo);
  }
  add(channelsLast, 0, {});
  return layouts;
}

std::optional<double> AssignLayouts::readCycles(const Reader &reader,
                                                RankedTensorType type) {
  auto conv = cast<ConvOp>(FusedOp(reader.group).getAnchor());
  int64_t channels = type.getDimSize(1) / conv.getGroups();
  if (channels % memoryLayout(type).pack != 0)
    return std::nullopt;
  auto group = cast<FusedOp>(FusedOp(reader.group)->clone());
  if (type.getEncoding())
    setOperandLayout(group, reader.operand, type);
  // What decides the kernel, and so its cost.
  std::string key;
  for (Value input : group.getInputs())
    key += constantValue(input) ? 'c' : 'v';
  llvm::raw_string_ostream os(key);
  group->print(os, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs());
  auto [entry, isNew] = estimates.try_emplace(key);
  if (isNew)
    if (FailureOr<GroupContraction> contraction = planConv(group);
        succeeded(contraction))
      entry->second = estimateContraction(*contraction, *target);
  group->destroy();
  return entry->second;
}

/// What storing and reading the tensor costs, apart from what depends on other
/// tensors' kinds; nothing where a reader cannot.
std::optional<double> AssignLayouts::cyclesWith(Tensor &tensor,
                                                LayoutAttr layout) {
  RankedTensorType plain = typeOf(tensor.value);
  auto type =
      RankedTensorType::get(plain.getShape(), plain.getElementType(), layout);
  double cycles = 0;
  if (int64_t added = tensorBytes(type) - tensorBytes(plain)) {
    constexpr double kLoop = 500; // until a block's threads compute
    cycles += cyclesOf(added) + kLoop;
    // Rows that begin anywhere are stored an element at a time.
    if (layout && !layout.getPack())
      cycles += cyclesOf(tensorBytes(plain));
  }
  for (const Reader &reader : tensor.readers) {
    if (reader.use != Use::ConvInput)
      continue;
    std::optional<double> read = readCycles(reader, type);
    if (!read)
      return std::nullopt;
    cycles += *read;
  }
  return cycles;
}

std::vector<bool> AssignLayouts::chooseKinds() {
  MinCut cut(static_cast<int>(tensors.size()));
  int next = 0;
  for (auto &[value, tensor] : tensors)
    nodes[value] = next++;
  auto nodeOf = [&](Value value) {
    auto known = nodes.find(value);
    return known == nodes.end() ? MinCut::kZero : known->second;
  };
  constexpr double kUnits = 16; // of a cycle
  for (auto &[value, tensor] : tensors) {
    int node = nodes.lookup(value);
    cut.addEdge(MinCut::kOne, node, std::llround(tensor.cycles[0] * kUnits));
    cut.addEdge(node, MinCut::kZero, std::llround(tensor.cycles[1] * kUnits));
    int64_t waste =
        std::llround(3 * cyclesOf(tensorBytes(typeOf(value))) * kUnits);
    for (const Reader &reader : tensor.readers) {
      if (reader.use == Use::ConvInput)
        continue;
      int other = reader.use == Use::Other
                      ? MinCut::kZero
                      : nodeOf(FusedOp(reader.group).getOutputs()[0]);
      cut.addEdge(node, other, waste);
      cut.addEdge(other, node, waste);
    }
    // What its group reads element by element of tensors that stay row-major.
    auto group = value.getDefiningOp<FusedOp>();
    for (auto [i, input] : llvm::enumerate(group.getInputs()))
      if (typeOf(input).getShape() == typeOf(value).getShape() &&
          !nodes.count(input) && useOf(group, i) == Use::Elementwise)
        cut.addEdge(node, MinCut::kZero, waste);
  }
  return cut.solve();
}

void AssignLayouts::record(const Tensor &tensor, bool kind) {
  auto percent = [&](double cycles) {
    return std::to_string(std::llround(100 * cycles / tensor.rowMajorCycles));
  };
  LayoutAttr layout = tensor.layouts[kind];
  std::string reason;
  if (tensor.rowMajorCycles == 0)
    reason = "as what is made of it, element by element";
  else if (layout)
    reason = (layout.getHalo().empty() ? "its readers take "
                                       : "its readers and its halo take ") +
             percent(tensor.cycles[kind]) +
             " % of the cycles of row-major, by the cost model";
  else
    reason = textOf(tensor.layouts[1]) + " would take " +
             percent(tensor.cycles[1]) + " % of its cycles, by the cost model";
  recordDecision(tensor.value.getOwner(), Topic::Layout, textOf(layout),
                 reason);
}

void AssignLayouts::apply(Tensor &tensor, LayoutAttr layout) {
  RankedTensorType plain = typeOf(tensor.value);
  auto type =
      RankedTensorType::get(plain.getShape(), plain.getElementType(), layout);
  auto group = cast<FusedOp>(tensor.value.getOwner());
  YieldOp yield = group.getYield();
  OpOperand &yielded = yield->getOpOperand(tensor.value.getResultNumber());
  OpBuilder builder(yield);
  yielded.set(
      builder.create<RelayoutOp>(yielded.get().getLoc(), type, yielded.get()));
  tensor.value.setType(type);
  for (const Reader &reader : tensor.readers)
    setOperandLayout(reader.group, reader.operand, type);
}

} // namespace
} // namespace pascaline
