// GroupKernel.cpp - see the header.

#include "compiler/kernels/GroupKernel.h"

#include "compiler/ir/Types.h"
#include "compiler/kernels/Halo.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace pascaline {

/// Names longer than this are cut: the ops behind a kernel are in the plan.
static constexpr size_t kMaxName = 60;

std::string entryName(FusedOp group) {
  std::string name;
  for (Operation &op : group.getBody().front()) {
    if (isa<YieldOp, ConstantOp, RelayoutOp>(op))
      continue;
    StringRef kind = op.getName().stripDialect();
    if (name.size() + kind.size() > kMaxName)
      break;
    if (!name.empty())
      name += '_';
    name += kind;
  }
  return name.empty() ? "copy" : name;
}

int64_t countFlops(FusedOp group) {
  int64_t flops = 0;
  for (Operation &op : group.getBody().front()) {
    if (auto anchor = dyn_cast<AnchorOpInterface>(op))
      flops += anchor.countFlops();
    else if (isa<ScalarOpInterface>(op))
      flops += countElements(op.getResult(0));
  }
  return flops;
}

int64_t countBytes(FusedOp group) {
  int64_t bytes = 0;
  for (auto [i, operand] : llvm::enumerate(group.getInputs()))
    if (ExpressionEmitter::needsPointer(group, i))
      bytes += tensorBytes(cast<RankedTensorType>(operand.getType()));
  for (Value result : group.getOutputs())
    bytes += tensorBytes(cast<RankedTensorType>(result.getType()));
  return bytes;
}

/// Whether every element that the body reads of an operand is the one at the
/// result's own place: nothing between moves, repeats or drops elements.
static bool isReadInPlace(BlockArgument argument) {
  int64_t count = countElements(argument);
  SmallVector<Value> pending = {argument};
  llvm::SmallPtrSet<Operation *, 16> seen;
  while (!pending.empty())
    for (Operation *user : pending.pop_back_val().getUsers()) {
      if (isa<YieldOp>(user) || !seen.insert(user).second)
        continue;
      if (!isa<ScalarOpInterface, ReshapeOp>(user) ||
          countElements(user->getResult(0)) != count)
        return false;
      pending.push_back(user->getResult(0));
    }
  return true;
}

/// The first result of as many bytes as the operand that no operand before has.
static std::optional<unsigned>
resultInPlaceOf(FusedOp group, unsigned operand,
                ArrayRef<KernelArgument> arguments) {
  BlockArgument argument = group.getBody().front().getArgument(operand);
  if (!isReadInPlace(argument))
    return std::nullopt;
  auto type = cast<RankedTensorType>(argument.getType());
  for (auto [i, result] : llvm::enumerate(group.getOutputs())) {
    auto other = cast<RankedTensorType>(result.getType());
    bool fits = other.getNumElements() == type.getNumElements() &&
                elementBytes(other.getElementType()) ==
                    elementBytes(type.getElementType());
    bool isTaken = llvm::any_of(arguments, [&](const KernelArgument &before) {
      return before.replacedBy == unsigned(i);
    });
    if (fits && !isTaken)
      return i;
  }
  return std::nullopt;
}

static SmallVector<KernelArgument>
argumentsOf(FusedOp group, const GroupKernel::Extras &extras) {
  SmallVector<KernelArgument> arguments;
  for (unsigned i = 0; i < group.getInputs().size(); ++i)
    if (ExpressionEmitter::needsPointer(group, i)) {
      KernelArgument argument{KernelArgument::Input, i, std::nullopt,
                              std::nullopt};
      if (extras.storesInPlace)
        argument.replacedBy = resultInPlaceOf(group, i, arguments);
      arguments.push_back(argument);
    }
  for (unsigned i = 0; i < group.getOutputs().size(); ++i)
    arguments.push_back(
        {KernelArgument::Output, i, std::nullopt, std::nullopt});
  if (extras.workspaceBytes)
    arguments.push_back(
        {KernelArgument::Workspace, 0, std::nullopt, std::nullopt});
  if (extras.counterWords)
    arguments.push_back(
        {KernelArgument::Counters, 0, std::nullopt, std::nullopt});
  return arguments;
}

static SmallVector<KernelParameter>
parametersOf(ArrayRef<KernelArgument> arguments) {
  SmallVector<KernelParameter> parameters;
  auto isReplacing = [&](const KernelArgument &result) {
    return result.kind == KernelArgument::Output &&
           llvm::any_of(arguments, [&](const KernelArgument &other) {
             return other.replacedBy == result.index;
           });
  };
  for (const KernelArgument &argument : arguments) {
    bool isAlone = !argument.replacedBy && !isReplacing(argument);
    KernelParameter parameter;
    parameter.readOnly = argument.kind == KernelArgument::Input && isAlone;
    parameter.isAlone = isAlone;
    parameters.push_back(parameter);
  }
  return parameters;
}

AffineIndex GroupKernel::flatThread(int64_t count) {
  Value thread =
      kernel.add(kernel.mul(kernel.blockX(), threads), kernel.threadX());
  if (count % threads != 0)
    kernel.returnIf(kernel.lessThan(kernel.i32(count - 1), thread));
  return values.index().variable(thread, count);
}

GroupKernel::GroupKernel(FusedOp group, int64_t threads, Extras extras)
    : group(group), threads(threads), extras(extras),
      kernel(group.getLoc(), entryName(group), threads, extras.minBlocks,
             parametersOf(argumentsOf(group, extras))),
      values(group, kernel, group.getLoc()),
      arguments(argumentsOf(group, extras)) {
  kernel.getContext()->loadDialect<math::MathDialect>();
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.kind == KernelArgument::Input)
      values.bindInput(argument.index, kernel.parameter(i));
    else if (argument.kind == KernelArgument::Output)
      values.bindOutput(argument.index, kernel.parameter(i));
  }
  for (auto [i, result] : llvm::enumerate(group.getOutputs()))
    if (auto why = zeroHalo(kernel, parameterOf(KernelArgument::Output, i),
                            cast<RankedTensorType>(result.getType()), threads))
      problem = *why;
}

Value GroupKernel::parameterOf(KernelArgument::Kind kind, unsigned index) {
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.kind == kind && argument.index == index)
      return kernel.parameter(i);
  return nullptr;
}

Value GroupKernel::input(unsigned operand) {
  return parameterOf(KernelArgument::Input, operand);
}

Value GroupKernel::workspace() {
  return parameterOf(KernelArgument::Workspace, 0);
}

Value GroupKernel::counters() {
  return parameterOf(KernelArgument::Counters, 0);
}

void GroupKernel::setPacking(unsigned operand, const WeightPacking &packing) {
  for (KernelArgument &argument : arguments)
    if (argument.kind == KernelArgument::Input && argument.index == operand)
      argument.packing = packing;
}

FailureOr<GeneratedKernel> GroupKernel::finish(std::array<int64_t, 3> grid,
                                               std::string configuration) {
  GeneratedKernel result;
  result.entry = kernel.name().str();
  result.sharedBytes = kernel.sharedBytes();
  result.module = kernel.finish();
  if (problem.empty())
    problem = values.problem();
  if (!problem.empty())
    return group.emitError() << problem;
  result.grid = grid;
  result.block = {threads, 1, 1};
  result.arguments = std::move(arguments);
  result.workspaceBytes = extras.workspaceBytes;
  result.counterWords = extras.counterWords;
  result.flops = countFlops(group);
  result.bytes = countBytes(group);
  result.configuration = std::move(configuration);
  return result;
}

} // namespace pascaline
