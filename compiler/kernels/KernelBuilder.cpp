// KernelBuilder - see KernelBuilder.h. Predicated accesses are in
// KernelMemory.cpp.

#include "compiler/kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace pascaline {

static constexpr unsigned kGlobal = 1, kShared = 3;

KernelBuilder::KernelBuilder(Location loc, StringRef name, int64_t threads,
                             int64_t minBlocks,
                             ArrayRef<KernelParameter> parameters)
    : ImplicitLocOpBuilder(loc, loc.getContext()), entryName(name) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       LLVM::LLVMDialect, NVVM::NVVMDialect>();
  module = ModuleOp::create(loc);
  setInsertionPointToStart(module->getBody());

  auto pointer = LLVM::LLVMPointerType::get(context, kGlobal);
  SmallVector<Type> types(parameters.size(), pointer);
  auto type =
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  function = create<LLVM::LLVMFuncOp>(name, type);
  function->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), getUnitAttr());
  function->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                    getDenseI32ArrayAttr({static_cast<int32_t>(threads)}));
  if (minBlocks > 0)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      getI32IntegerAttr(minBlocks));
  for (auto [i, parameter] : llvm::enumerate(parameters)) {
    if (parameter.isAlone)
      function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                          getUnitAttr());
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(),
                        getI64IntegerAttr(parameter.align));
    if (parameter.readOnly)
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          getUnitAttr());
  }
  setInsertionPointToStart(function.addEntryBlock(*this));
}

Value KernelBuilder::parameter(unsigned index) {
  return function.getArgument(index);
}

OwningOpRef<ModuleOp> KernelBuilder::finish() {
  create<LLVM::ReturnOp>(ValueRange());
  return std::move(module);
}

//===- Integers and predicates
//---------------------------------------------===//

Value KernelBuilder::i32(int64_t value) {
  return create<arith::ConstantOp>(getI32IntegerAttr(value));
}

Value KernelBuilder::i64(int64_t value) {
  return create<arith::ConstantOp>(getI64IntegerAttr(value));
}

Value KernelBuilder::constant(Type type, double value) {
  if (isa<FloatType>(type))
    return create<arith::ConstantOp>(getFloatAttr(type, value));
  return create<arith::ConstantOp>(
      getIntegerAttr(type, static_cast<int64_t>(value)));
}

Value KernelBuilder::zero(Type type) {
  return create<arith::ConstantOp>(getZeroAttr(type));
}

Value KernelBuilder::like(Value model, int64_t value) {
  return create<arith::ConstantOp>(getIntegerAttr(model.getType(), value));
}

// Index arithmetic never wraps: tensors have fewer than 2^31 elements.
static constexpr auto kNoWrap = arith::IntegerOverflowFlags::nsw;

Value KernelBuilder::add(Value a, Value b) {
  return createOrFold<arith::AddIOp>(a, b, kNoWrap);
}

Value KernelBuilder::sub(Value a, Value b) {
  return createOrFold<arith::SubIOp>(a, b, kNoWrap);
}

Value KernelBuilder::mul(Value a, Value b) {
  return createOrFold<arith::MulIOp>(a, b, kNoWrap);
}

Value KernelBuilder::div(Value a, int64_t b) {
  if (llvm::isPowerOf2_64(b))
    return createOrFold<arith::ShRUIOp>(a, like(a, llvm::Log2_64(b)));
  return createOrFold<arith::DivUIOp>(a, like(a, b));
}

Value KernelBuilder::rem(Value a, int64_t b) {
  if (llvm::isPowerOf2_64(b))
    return bitAnd(a, b - 1);
  return createOrFold<arith::RemUIOp>(a, like(a, b));
}

Value KernelBuilder::bitAnd(Value a, Value b) {
  return createOrFold<arith::AndIOp>(a, b);
}

Value KernelBuilder::bitOr(Value a, Value b) {
  return createOrFold<arith::OrIOp>(a, b);
}

Value KernelBuilder::bitXor(Value a, int64_t b) {
  return createOrFold<arith::XOrIOp>(a, like(a, b));
}

Value KernelBuilder::minimum(Value a, int64_t b) {
  return createOrFold<arith::MinSIOp>(a, like(a, b));
}

Value KernelBuilder::lessThan(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::slt, a, b);
}

Value KernelBuilder::lessThanUnsigned(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, a, b);
}

Value KernelBuilder::equal(Value a, Value b) {
  return createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, a, b);
}

Value KernelBuilder::select(Value condition, Value a, Value b) {
  return createOrFold<arith::SelectOp>(condition, a, b);
}

Value KernelBuilder::both(Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return bitAnd(a, b);
}

SmallVector<Value> KernelBuilder::coordinates(Value index,
                                              ArrayRef<int64_t> extents) {
  SmallVector<Value> result(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    // The outermost coordinate is what is left: its extent bounds it already.
    result[i] = i == 0 ? index : rem(index, extents[i]);
    index = div(index, extents[i]);
  }
  return result;
}

//===- The grid
//------------------------------------------------------------===//

Value KernelBuilder::threadX() {
  return create<NVVM::ThreadIdXOp>(getI32Type());
}
Value KernelBuilder::blockX() { return create<NVVM::BlockIdXOp>(getI32Type()); }
Value KernelBuilder::blockY() { return create<NVVM::BlockIdYOp>(getI32Type()); }
void KernelBuilder::barrier() { create<NVVM::Barrier0Op>(); }

void KernelBuilder::fenceDevice() {
  create<LLVM::CallIntrinsicOp>(TypeRange(), StringRef("llvm.nvvm.membar.gl"),
                                ValueRange());
}

//===- Control flow
//--------------------------------------------------------===//

Block *KernelBuilder::newBlock(TypeRange arguments) {
  SmallVector<Location> locations(arguments.size(), getLoc());
  OpBuilder::InsertionGuard guard(*this);
  return createBlock(&function.getBody(), function.getBody().end(), arguments,
                     locations);
}

void KernelBuilder::branchIf(Value condition, llvm::function_ref<void()> body) {
  Block *from = getBlock(), *then = newBlock({});
  setInsertionPointToEnd(then);
  body();
  Block *after = newBlock({});
  create<cf::BranchOp>(after);
  setInsertionPointToEnd(from);
  create<cf::CondBranchOp>(condition, then, after);
  setInsertionPointToEnd(after);
}

void KernelBuilder::returnIf(Value condition) {
  Block *done = newBlock({}), *after = newBlock({});
  create<cf::CondBranchOp>(condition, done, after);
  setInsertionPointToEnd(done);
  create<LLVM::ReturnOp>(ValueRange());
  setInsertionPointToEnd(after);
}

void KernelBuilder::keepRolled() {
  create<LLVM::InlineAsmOp>(TypeRange(), ValueRange(), ".pragma \"nounroll\";",
                            "", /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::AsmDialectAttr(),
                            ArrayAttr());
}

SmallVector<Value>
KernelBuilder::doWhile(ValueRange initial,
                       llvm::function_ref<Next(ValueRange)> body) {
  Block *loop = newBlock(initial.getTypes());
  create<cf::BranchOp>(loop, initial);
  setInsertionPointToEnd(loop);
  Next next = body(loop->getArguments());
  Block *after = newBlock({});
  create<cf::CondBranchOp>(next.again, loop, next.values, after, ValueRange());
  setInsertionPointToEnd(after);
  return next.values;
}

} // namespace pascaline
