// StoreHalf - weights and intermediate tensors are stored as f16.
//
// sm_61 computes on halves at 1/64 of its float rate, so f16 is a way to store:
// half the memory and half the bandwidth, the same arithmetic. The pass changes
// the types between groups alone. Bodies stay as they are, in f32: a cast
// widens what a group reads as it is loaded, and another rounds what it stores.
//
//   before:  %t = fused(%x, %w) -> f32     after:  %t = fused(%x, %w16) -> f16
//   {
//              { matmul }                            cast w16, matmul, cast }
//            %y = fused(%t) -> f32                 %y = fused(%t) -> f32 {
//              { relu }                              cast t, relu }
//
// What the model takes and returns keeps its type; what `--expose` adds to its
// results has the type that it is stored in. These stay float too:
//   - what a node that `keep-fp32` names reads or writes, weights included;
//   - constants beyond +-65504, or with infinities;
//   - constants so small that half's grid near zero would cost more than its
//     rounding elsewhere (an RMS error above 2^-10 of the RMS value). A tiny
//     weight among large ones may become zero: it is lost beside them in float
//     sums too;
//   - vectors (biases, scales), while all of them together are at most 1/32
//     of the constants' bytes;
//   - sums and products over many elements, exponentials, powers and squares:
//     statistics, which leave half's range first;
//   - what integers are made of: an index must not be rounded;
//   - what `pascaline.largest` on its group, a magnitude for each result that
//     calibration has seen, says to come within a factor of two of 65504.
// Everything else may overflow to infinity beyond 65504 when the model runs.
//
// Test: test/passes/graph/store-half.mlir

#include "passes/Passes.h"
#include "passes/Pipelines.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/NodeNames.h"
#include "compiler/ir/Types.h"
#include "passes/graph/FloatValues.h"
#include "passes/graph/Groups.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"

#include <cmath>

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_STOREHALF
#include "passes/Passes.h.inc"

namespace {

constexpr double kLargestHalf = 65504;
/// The share of the constants' bytes that vectors may keep.
constexpr int64_t kVectorShare = 32;
/// Samples show a part of what there is, so what was seen may double.
constexpr double kLargestSeen = kLargestHalf / 2;
/// A sum over fewer elements is no statistic.
constexpr int64_t kManyElements = 4;

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

RankedTensorType asHalf(RankedTensorType type) {
  return type.clone(FloatType::getF16(type.getContext()));
}

/// A group's result or a constant, with the reshapes that alias it and the
/// groups that read any of them.
struct Tensor {
  Value value;
  SmallVector<Value> aliases;
  llvm::SmallSetVector<FusedOp, 4> readers;
  bool isReturned = false;

  explicit Tensor(Value value) : value(value) { follow(value); }

private:
  void follow(Value alias) {
    aliases.push_back(alias);
    for (Operation *user : alias.getUsers()) {
      if (auto reshape = dyn_cast<ReshapeOp>(user))
        follow(reshape.getY());
      else if (auto group = dyn_cast<FusedOp>(user))
        readers.insert(group);
      else
        isReturned |= returnsToCaller(cast<func::ReturnOp>(user), alias);
    }
  }

  /// Whether a result of the model's own is `alias`. One that is exposed shows
  /// what lies in memory, so it takes the type that memory has.
  static bool returnsToCaller(func::ReturnOp op, Value alias) {
    auto function = cast<func::FuncOp>(op->getParentOp());
    for (OpOperand &operand : op->getOpOperands())
      if (operand.get() == alias &&
          !function.getResultAttr(operand.getOperandNumber(),
                                  "pascaline.exposed"))
        return true;
    return false;
  }
};

/// Whether the number itself becomes an integer in a group that reads it.
bool makesInteger(BlockArgument argument) {
  SmallVector<Value> pending = {argument};
  llvm::SmallPtrSet<Operation *, 8> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (user->getNumResults() == 0 || !seen.insert(user).second)
        continue;
      Type element = typeOf(user->getResult(0)).getElementType();
      if (isa<CastOp>(user) && element.isIntOrIndex() && !element.isInteger(1))
        return true;
      if (isa<FloatType>(element) && isFusable(user))
        pending.push_back(user->getResult(0));
    }
  return false;
}

/// Whether a result of a group is of a kind that leaves half's range first.
bool isStatistic(OpResult result) {
  auto group = cast<FusedOp>(result.getOwner());
  if (auto reduce = dyn_cast_or_null<ReduceOp>(group.getAnchor()))
    if (reduce.getKind() == ReduceKind::sum ||
        reduce.getKind() == ReduceKind::prod)
      return countElements(reduce.getX()) >=
             kManyElements * countElements(reduce.getY());
  Operation *op =
      group.getYield().getValues()[result.getResultNumber()].getDefiningOp();
  while (op && isView(op))
    op = op->getOperand(0).getDefiningOp();
  if (auto mul = dyn_cast_or_null<MulOp>(op))
    return mul.getA() == mul.getB();
  return isa_and_nonnull<ExpOp, PowOp, ReciprocalOp>(op);
}

bool isVector(RankedTensorType type) {
  return llvm::count_if(type.getShape(), [](int64_t d) { return d > 1; }) <= 1;
}

/// A constant's name in the model, quoted.
std::string nameOf(Value value) {
  SmallVector<StringRef> names = nodeNames(value.getDefiningOp());
  return names.empty() ? "a constant"
                       : ("constant \"" + names.front() + "\"").str();
}

struct StoreHalf : impl::StoreHalfBase<StoreHalf> {
  using StoreHalfBase::StoreHalfBase;

  void runOnOperation() override {
    if (getOperation().isDeclaration())
      return;
    if (failed(findKept()))
      return signalPassFailure();
    Block &block = getOperation().getBody().front();
    std::vector<Tensor> tensors;
    int64_t bytes = 0, vectorBytes = 0;
    for (Operation &op : block) {
      if (!isa<FusedOp, ConstantOp>(op))
        continue;
      for (Value result : op.getResults()) {
        if (!typeOf(result).getElementType().isF32())
          continue;
        tensors.emplace_back(result);
        if (isa<ConstantOp>(op)) {
          bytes += tensorBytes(typeOf(result));
          vectorBytes += isVector(typeOf(result)) * tensorBytes(typeOf(result));
        }
      }
    }
    bool keepVectors = vectorBytes * kVectorShare <= bytes;
    for (Tensor &tensor : tensors) {
      bool isConstant = tensor.value.getDefiningOp<ConstantOp>() != nullptr;
      std::string reason = whyFloat(tensor);
      bool keep = !reason.empty() ||
                  (isConstant && keepVectors && isVector(typeOf(tensor.value)));
      bool isHalf =
          !keep && (isConstant ? narrowConstant(tensor) : narrowResult(tensor));
      ++(isHalf ? numHalf : numFloat);
      if (!isConstant)
        record(tensor, reason);
    }
    for (auto group : block.getOps<FusedOp>())
      group->removeAttr(kLargestAttr); // equal groups share a kernel
    func::FuncOp function = getOperation();
    function.setType(
        FunctionType::get(&getContext(), function.getArgumentTypes(),
                          block.getTerminator()->getOperandTypes()));
  }

private:
  LogicalResult findKept();
  std::string whyFloat(Tensor &tensor);
  static std::string whyLarge(OpResult result);
  static void record(const Tensor &tensor, llvm::StringRef whyFloat);
  bool narrowConstant(Tensor &tensor);
  bool narrowResult(Tensor &tensor);
  void widenInReaders(Tensor &tensor);

  llvm::SmallPtrSet<Operation *, 8> kept; ///< groups and reshapes
};

/// The groups and aliases of the nodes that are to keep float.
LogicalResult StoreHalf::findKept() {
  if (keepFloat.empty())
    return success();
  llvm::Regex wanted(keepFloat);
  std::string problem;
  if (!wanted.isValid(problem))
    return getOperation().emitError()
           << "keep-fp32 \"" << keepFloat
           << "\" is no regular expression: " << problem;
  for (Operation &op : getOperation().getBody().front())
    if (isa<FusedOp, ReshapeOp>(op) &&
        llvm::any_of(nodeNames(&op),
                     [&](StringRef name) { return wanted.match(name); }))
      kept.insert(&op);
  if (kept.empty())
    return getOperation().emitError()
           << "keep-fp32 \"" << keepFloat
           << "\" matches no node of the optimised graph; nodes that were "
              "folded into others cannot be kept by their own name";
  return success();
}

/// Empty for what may be stored as half.
std::string StoreHalf::whyFloat(Tensor &tensor) {
  if (tensor.isReturned)
    return "the model returns it, and what it returns keeps its type";
  if (kept.contains(tensor.value.getDefiningOp()))
    return "--keep-fp32 names its node or one in its kernel";
  if (tensor.readers.empty())
    return "no kernel reads it"; // an exposed one, which others have inside
  for (Value alias : tensor.aliases)
    if (kept.contains(alias.getDefiningOp()))
      return "--keep-fp32 names a reshape of it";
  for (FusedOp reader : tensor.readers) {
    if (kept.contains(reader))
      return "--keep-fp32 names a node that reads it";
    for (auto [i, input] : llvm::enumerate(reader.getInputs()))
      if (llvm::is_contained(tensor.aliases, input) &&
          makesInteger(reader.getBody().front().getArgument(i)))
        return "an integer is made of it, which must not be rounded";
  }
  auto result = cast<OpResult>(tensor.value);
  if (!isa<FusedOp>(result.getOwner()))
    return "";
  if (isStatistic(result))
    return "a statistic, exponential, power or square, which leave half's "
           "range first";
  return whyLarge(result);
}

/// Of a result that calibration has seen to be more than half holds with
/// certainty; tells the user too.
std::string StoreHalf::whyLarge(OpResult result) {
  auto largest =
      result.getOwner()->getAttrOfType<DenseF64ArrayAttr>(kLargestAttr);
  if (!largest || result.getResultNumber() >= largest.size() ||
      largest[result.getResultNumber()] <= kLargestSeen)
    return "";
  std::string reason =
      llvm::formatv("it reaches {0:f0} on the samples, and half is taken up to "
                    "32752, half of its largest number",
                    largest[result.getResultNumber()]);
  SmallVector<StringRef> names = nodeNames(result.getOwner());
  result.getOwner()->emitRemark()
      << "node \"" << (names.empty() ? StringRef("?") : names.back())
      << "\": its result stays float: " << reason;
  return reason;
}

/// What a group stores, by the node that makes it; the group's other nodes
/// store nothing.
void StoreHalf::record(const Tensor &tensor, StringRef whyFloat) {
  auto result = cast<OpResult>(tensor.value);
  auto group = cast<FusedOp>(result.getOwner());
  Operation *maker =
      group.getYield().getOperand(result.getResultNumber()).getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(maker); cast && whyFloat.empty())
    maker = cast.getX().getDefiningOp(); // the cast that narrows
  if (maker)
    recordDecision(maker, Topic::Precision, whyFloat.empty() ? "f16" : "f32",
                   whyFloat.empty() ? "stored as half, computed as float"
                                    : whyFloat);
}

/// Gives the tensor's aliases and the arguments of its readers the type f16,
/// and widens it inside them.
void StoreHalf::widenInReaders(Tensor &tensor) {
  for (Value alias : tensor.aliases)
    alias.setType(asHalf(typeOf(alias)));
  for (FusedOp reader : tensor.readers) {
    Block &body = reader.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&body);
    for (auto [i, input] : llvm::enumerate(reader.getInputs())) {
      if (!llvm::is_contained(tensor.aliases, input))
        continue;
      BlockArgument argument = body.getArgument(i);
      RankedTensorType wide = typeOf(argument);
      argument.setType(asHalf(wide));
      if (argument.use_empty())
        continue;
      auto cast =
          builder.create<CastOp>(builder.getUnknownLoc(), wide, argument);
      argument.replaceAllUsesExcept(cast, cast);
    }
  }
}

bool StoreHalf::narrowConstant(Tensor &tensor) {
  auto constant = tensor.value.getDefiningOp<ConstantOp>();
  std::optional<std::vector<double>> values = floatValues(constant.getValue());
  if (!values)
    return false;
  for (double value : *values)
    if (!(std::abs(value) <= kLargestHalf)) {
      constant.emitRemark()
          << nameOf(tensor.value) << " stays float: it holds "
          << std::to_string(value) << ", and half's largest number is 65504";
      return false;
    }
  ElementsAttr half = makeFloats(asHalf(typeOf(tensor.value)), *values);
  std::optional<std::vector<double>> rounded = floatValues(half);
  double error = 0, size = 0;
  for (size_t i = 0; i < values->size(); ++i) {
    double lost = (*values)[i] - (*rounded)[i];
    error += lost * lost;
    size += (*values)[i] * (*values)[i];
  }
  if (error > std::ldexp(size, -20)) {
    constant.emitRemark() << nameOf(tensor.value)
                          << " stays float: its numbers are too small for half";
    return false;
  }
  constant.setValueAttr(half);
  widenInReaders(tensor);
  return true;
}

bool StoreHalf::narrowResult(Tensor &tensor) {
  auto result = cast<OpResult>(tensor.value);
  YieldOp yield = cast<FusedOp>(result.getOwner()).getYield();
  OpOperand &yielded = yield->getOpOperand(result.getResultNumber());
  OpBuilder builder(yield);
  yielded.set(builder.create<CastOp>(
      builder.getUnknownLoc(), asHalf(typeOf(yielded.get())), yielded.get()));
  widenInReaders(tensor);
  return true;
}

} // namespace
} // namespace pascaline
