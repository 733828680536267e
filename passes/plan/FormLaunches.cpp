// FormLaunches - turn the fused graph into kernels and a list of launches.
//
// After fusion every op of a function is a group, a constant or a reshape. Each
// group becomes one launch; its kernel comes from the generators. Groups that
// read the same, with the same operands constant, give the same kernel, so
// each distinct group is generated once and its kernel shared, also by the
// programs of a model's other shape sets. Values become
// buffers: a reshape is its operand's buffer, a group's result that the model
// returns is written straight into the caller's buffer, and a constant is laid
// out as the kernel that reads it asks. A group that depends on constants
// alone runs once, when the model is loaded.
//
//   before:  %y = pascaline.fused(%x, %w) ...       after:  plan.kernel @k ...
//            return %y                                      plan.program @main
//            ...
//                                                             plan.launch
//                                                             @k(%x, %w, %y)
//
// Offsets are left to plan-memory.
//
// Test: test/passes/plan/form-launches.mlir

#include "passes/Passes.h"

#include "compiler/ir/Constants.h"
#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/NodeNames.h"
#include "compiler/ir/Types.h"
#include "compiler/ir/plan/PlanDialect.h"
#include "compiler/kernels/Generator.h"
#include "compiler/target/Chip.h"
#include "passes/plan/MemoryModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Threading.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_FORMLAUNCHES
#include "passes/Passes.h.inc"

namespace {

bool isConstant(Value value) { return static_cast<bool>(constantValue(value)); }

// What decides a group's kernel: its text (operands are block arguments there,
// so their names do not matter) and which operands are constants.
std::string groupKey(FusedOp group) {
  std::string key;
  for (Value operand : group.getInputs())
    key += isConstant(operand) ? 'c' : 'v';
  llvm::raw_string_ostream os(key);
  group->print(os, OpPrintingFlags().useLocalScope().elideLargeElementsAttrs(
                       /*largeElementLimit=*/1 << 20));
  return key;
}

bool isEmpty(FusedOp group) {
  return llvm::all_of(group.getOutputs(), [](Value result) {
    return cast<RankedTensorType>(result.getType()).getNumElements() == 0;
  });
}

// Gives the kernel's symbols a name that no other kernel has.
void renameKernel(GeneratedKernel &kernel, StringRef name) {
  std::string old = kernel.entry;
  for (Operation &op : *kernel.module->getBody()) {
    auto symbol = SymbolTable::getSymbolName(&op);
    if (!symbol.getValue().starts_with(old))
      continue;
    auto renamed = StringAttr::get(op.getContext(),
                                   name + symbol.getValue().substr(old.size()));
    (void)SymbolTable::replaceAllSymbolUses(&op, renamed, *kernel.module);
    SymbolTable::setSymbolName(&op, renamed);
  }
  kernel.entry = name.str();
}

/// The value behind a cast that loses nothing, as between half storage and
/// float arithmetic.
Value behindWidening(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  if (!cast)
    return value;
  auto from = dyn_cast<FloatType>(cast.getX().getType().getElementType());
  auto to = dyn_cast<FloatType>(cast.getY().getType().getElementType());
  return from && to && to.isF32() && from.getWidth() < to.getWidth()
             ? Value(cast.getX())
             : value;
}

/// Whether a group only copies its operands one after the other: a concat
/// along the outermost dimension that has an extent. Casts to float and back
/// change nothing.
bool joinsItsOperands(FusedOp group) {
  auto concat = dyn_cast_or_null<ConcatOp>(group.getAnchor());
  Block &body = group.getBody().front();
  if (!concat || group.getNumResults() != 1 ||
      concat.getInputs().size() != body.getNumArguments())
    return false;
  Value result = group.getYield().getOperand(0);
  if (auto cast = result.getDefiningOp<CastOp>())
    result = cast.getX();
  if (result != concat.getY())
    return false;
  auto type = cast<RankedTensorType>(group.getOutputs()[0].getType());
  for (auto [operand, argument] :
       llvm::zip_equal(concat.getInputs(), body.getArguments()))
    if (behindWidening(operand) != argument ||
        cast<RankedTensorType>(argument.getType()).getElementType() !=
            type.getElementType())
      return false;
  return llvm::all_of(type.getShape().take_front(concat.getAxis()),
                      [](int64_t extent) { return extent == 1; });
}

/// Positions among a kernel's arguments, for a launch's `replaceable`.
SmallVector<int32_t> replaceablePairs(const GeneratedKernel &kernel) {
  SmallVector<int32_t> pairs;
  for (auto [i, argument] : llvm::enumerate(kernel.arguments))
    for (auto [j, result] : llvm::enumerate(kernel.arguments))
      if (argument.replacedBy && result.kind == KernelArgument::Output &&
          result.index == *argument.replacedBy)
        pairs.append({int32_t(i), int32_t(j)});
  return pairs;
}

class LaunchBuilder {
public:
  LaunchBuilder(func::FuncOp main, plan::ProgramOp program)
      : main(main), builder(program.getContext()),
        bufferType(plan::BufferType::get(program.getContext())) {
    builder.setInsertionPointToEnd(&program.getBody().front());
  }

  void build(const llvm::StringMap<GeneratedKernel *> &kernels);

private:
  Value makeBuffer(Location loc, plan::BufferKind kind, int64_t bytes,
                   IntegerAttr index = {}) {
    return builder.create<plan::BufferOp>(loc, bufferType, kind, bytes,
                                          IntegerAttr(), index, ElementsAttr(),
                                          DenseI64ArrayAttr());
  }
  Value constantBuffer(Value value,
                       const std::optional<WeightPacking> &packing);
  Value bufferOf(Value value, const KernelArgument &argument);
  Value makeResultBuffer(Value result, bool isInit);
  bool dependsOnConstantsAlone(FusedOp group);
  void launch(FusedOp group, const GeneratedKernel &kernel);

  func::FuncOp main;
  OpBuilder builder;
  Type bufferType;
  llvm::DenseMap<Value, Value> buffers;
  llvm::DenseSet<Value> initValues; // computed from constants alone
  llvm::MapVector<std::pair<Attribute, Attribute>, Value> constants;
};

// The tensor behind reshapes: they share their operand's buffer.
Value skipReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>())
    value = reshape.getX();
  return value;
}

DenseI64ArrayAttr packingAttr(OpBuilder &builder, const WeightPacking &p) {
  return builder.getDenseI64ArrayAttr(
      {p.elementBytes, p.groups, p.m, p.taps, p.channels, p.channelsPadded,
       p.mPadded, p.kPadded, p.groupStride, p.mStride, p.tapStride, p.cStride});
}

Value LaunchBuilder::constantBuffer(
    Value value, const std::optional<WeightPacking> &packing) {
  ElementsAttr elements = constantValue(value);
  auto type = cast<RankedTensorType>(elements.getType());
  DenseI64ArrayAttr packed = packing ? packingAttr(builder, *packing) : nullptr;
  Value &buffer = constants[{elements, packed}];
  if (!buffer) {
    int64_t bytes = packing ? packing->bytes() : tensorBytes(type);
    buffer = builder.create<plan::BufferOp>(
        value.getLoc(), bufferType, plan::BufferKind::weights, bytes,
        IntegerAttr(), IntegerAttr(), elements, packed);
  }
  return buffer;
}

Value LaunchBuilder::bufferOf(Value value, const KernelArgument &argument) {
  value = skipReshapes(value);
  if (isConstant(value))
    return constantBuffer(value, argument.packing);
  return buffers.lookup(value);
}

// A result that the model returns lies in the caller's memory.
Value LaunchBuilder::makeResultBuffer(Value result, bool isInit) {
  int64_t bytes = tensorBytes(cast<RankedTensorType>(result.getType()));
  if (isInit)
    return makeBuffer(result.getLoc(), plan::BufferKind::init, bytes);
  auto returned = cast<func::ReturnOp>(main.getBody().front().getTerminator());
  for (OpOperand &operand : returned->getOpOperands())
    if (skipReshapes(operand.get()) == result)
      return makeBuffer(result.getLoc(), plan::BufferKind::output, bytes,
                        builder.getI64IntegerAttr(operand.getOperandNumber()));
  return makeBuffer(result.getLoc(), plan::BufferKind::arena, bytes);
}

bool LaunchBuilder::dependsOnConstantsAlone(FusedOp group) {
  return llvm::all_of(group.getInputs(), [&](Value operand) {
    Value value = skipReshapes(operand);
    return isConstant(value) || initValues.contains(value);
  });
}

void LaunchBuilder::launch(FusedOp group, const GeneratedKernel &kernel) {
  bool isInit = dependsOnConstantsAlone(group);
  for (Value result : group.getOutputs()) {
    buffers[result] = makeResultBuffer(result, isInit);
    if (isInit)
      initValues.insert(result);
  }
  SmallVector<Value> operands;
  SmallVector<int32_t> access;
  SmallVector<Type> types;
  for (const KernelArgument &argument : kernel.arguments) {
    switch (argument.kind) {
    case KernelArgument::Input:
      operands.push_back(bufferOf(group.getInputs()[argument.index], argument));
      access.push_back(static_cast<int32_t>(plan::Access::read));
      types.push_back(group.getInputs()[argument.index].getType());
      break;
    case KernelArgument::Output:
      operands.push_back(buffers.lookup(group.getOutputs()[argument.index]));
      access.push_back(static_cast<int32_t>(plan::Access::write));
      types.push_back(group.getOutputs()[argument.index].getType());
      break;
    case KernelArgument::Workspace:
      operands.push_back(makeBuffer(group.getLoc(), plan::BufferKind::arena,
                                    kernel.workspaceBytes));
      access.push_back(static_cast<int32_t>(plan::Access::scratch));
      types.push_back(builder.getNoneType());
      break;
    case KernelArgument::Counters:
      operands.push_back(makeBuffer(group.getLoc(), plan::BufferKind::counters,
                                    kernel.counterWords * 4));
      access.push_back(static_cast<int32_t>(plan::Access::scratch));
      types.push_back(builder.getNoneType());
      break;
    }
  }
  auto launch = builder.create<plan::LaunchOp>(
      group.getLoc(), kernel.entry, ArrayRef<int64_t>(kernel.grid), access,
      builder.getStrArrayAttr(nodeNames(group)), kernel.flops, kernel.bytes,
      isInit, joinsItsOperands(group), DenseI32ArrayAttr(),
      builder.getTypeArrayAttr(types), operands);
  if (SmallVector<int32_t> pairs = replaceablePairs(kernel); !pairs.empty())
    launch.setReplaceable(pairs);
}

void LaunchBuilder::build(const llvm::StringMap<GeneratedKernel *> &kernels) {
  Block &body = main.getBody().front();
  for (BlockArgument argument : body.getArguments())
    buffers[argument] =
        makeBuffer(argument.getLoc(), plan::BufferKind::input,
                   tensorBytes(cast<RankedTensorType>(argument.getType())),
                   builder.getI64IntegerAttr(argument.getArgNumber()));
  for (auto group : body.getOps<FusedOp>()) {
    if (!isEmpty(group)) {
      launch(group, *kernels.lookup(groupKey(group)));
      continue;
    }
    recordDecision(group, Topic::Fate, "eliminated",
                   "its result has no elements");
    for (Value result : group.getOutputs())
      buffers[result] = makeResultBuffer(result, /*isInit=*/false);
  }
  for (auto reshape : body.getOps<ReshapeOp>())
    recordDecision(reshape, Topic::Fate, "eliminated",
                   "its result is its input's memory under another shape");
  SmallVector<Value> results;
  for (Value value : body.getTerminator()->getOperands())
    results.push_back(bufferOf(value, KernelArgument{}));
  builder.create<plan::ReturnOp>(main.getLoc(), results);
}

// The distinct kernels, in the order of their first launch.
struct Kernels {
  std::vector<GeneratedKernel> list;
  llvm::StringMap<GeneratedKernel *> byKey;
};

/// What the arena needs in the order of the launches, which is the model's
/// here, with nothing shared.
int64_t needAsItStands(plan::ProgramOp program) {
  MemoryModel model(program);
  for (MemoryModel::Launch &launch : model.launches)
    launch.replaceable.clear();
  return largestLiveSum(model, ownOrder(model));
}

struct FormLaunches : impl::FormLaunchesBase<FormLaunches> {
  using FormLaunchesBase::FormLaunchesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Chip *target = findChip(chip);
    if (!target) {
      module.emitError() << "unknown chip \"" << chip << "\"";
      return signalPassFailure();
    }
    auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
    if (functions.empty()) {
      module.emitError() << "holds no function to plan";
      return signalPassFailure();
    }
    for (func::FuncOp function : functions)
      if (failed(checkBody(function)))
        return signalPassFailure();
    Kernels kernels;
    if (failed(generateKernels(functions, *target, kernels)))
      return signalPassFailure();
    plan::ProgramOp first;
    for (func::FuncOp function : functions) {
      plan::ProgramOp program = makeProgram(function);
      LaunchBuilder(function, program).build(kernels.byKey);
      program.setOnnxOrderBytes(needAsItStands(program));
      numLaunches +=
          llvm::range_size(program.getBody().front().getOps<plan::LaunchOp>());
      first = first ? first : program;
    }
    insertKernels(kernels.list, first);
    numKernels += kernels.list.size();
    for (func::FuncOp function : functions)
      function.erase();
  }

private:
  LogicalResult checkBody(func::FuncOp main) {
    for (Operation &op : main.getBody().front())
      if (!isa<FusedOp, ConstantOp, ReshapeOp, func::ReturnOp>(op))
        return op.emitOpError("is not in a group; run the graph passes first");
    return success();
  }

  LogicalResult generateKernels(ArrayRef<func::FuncOp> functions,
                                const Chip &target, Kernels &kernels) {
    SmallVector<std::pair<std::string, FusedOp>> distinct;
    llvm::StringMap<size_t> seen;
    for (func::FuncOp function : functions)
      for (auto group : function.getBody().front().getOps<FusedOp>()) {
        if (isEmpty(group))
          continue;
        std::string key = groupKey(group);
        if (seen.try_emplace(key, distinct.size()).second)
          distinct.emplace_back(std::move(key), group);
      }
    kernels.list.resize(distinct.size());
    // Generators are pure, so they run side by side.
    auto generate = [&](size_t i) -> LogicalResult {
      FailureOr<GeneratedKernel> kernel =
          generateKernel(distinct[i].second, target);
      if (failed(kernel))
        return failure();
      kernels.list[i] = std::move(*kernel);
      return success();
    };
    if (failed(failableParallelForEachN(&getContext(), 0, distinct.size(),
                                        generate)))
      return failure();
    llvm::StringMap<int> taken;
    for (auto [i, kernel] : llvm::enumerate(kernels.list)) {
      std::string name = kernel.entry;
      for (int n = 1; !taken.try_emplace(name, n).second; ++n)
        name = kernel.entry + "_" + std::to_string(n);
      if (name != kernel.entry)
        renameKernel(kernel, name);
      kernels.byKey[distinct[i].first] = &kernel;
    }
    return success();
  }

  plan::ProgramOp makeProgram(func::FuncOp main) {
    OpBuilder builder(main);
    SmallVector<StringRef> inputNames, outputNames;
    for (unsigned i = 0; i < main.getNumArguments(); ++i)
      inputNames.push_back(ioName(main.getArgAttr(i, "pascaline.name")));
    for (unsigned i = 0; i < main.getNumResults(); ++i)
      outputNames.push_back(ioName(main.getResultAttr(i, "pascaline.name")));
    FunctionType type = main.getFunctionType();
    // The function goes away at the end, so the program may take its name.
    auto program = builder.create<plan::ProgramOp>(
        main.getLoc(), main.getName(), builder.getStrArrayAttr(inputNames),
        builder.getTypeArrayAttr(type.getInputs()),
        builder.getStrArrayAttr(outputNames),
        builder.getTypeArrayAttr(type.getResults()), IntegerAttr(),
        IntegerAttr(), IntegerAttr(), IntegerAttr(), IntegerAttr(),
        IntegerAttr());
    program.getBody().emplaceBlock();
    return program;
  }

  static StringRef ioName(Attribute name) {
    return name ? cast<StringAttr>(name).getValue() : StringRef();
  }

  void insertKernels(std::vector<GeneratedKernel> &kernels,
                     plan::ProgramOp program) {
    OpBuilder builder(program);
    for (GeneratedKernel &kernel : kernels) {
      auto op = builder.create<plan::KernelOp>(
          kernel.module->getLoc(), kernel.entry,
          builder.getDenseI64ArrayAttr(kernel.block), kernel.sharedBytes,
          kernel.configuration, StringAttr());
      op.getBody().emplaceBlock().push_back(kernel.module.release());
    }
  }
};

} // namespace
} // namespace pascaline
