// KernelMemory - the memory half of KernelBuilder.
//
// Predicated accesses are inline assembly: LLVM would make a branch of a
// guarded load, and a branch inside a contraction's main loop ends the basic
// block in which ptxas schedules.

#include "compiler/kernels/KernelBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace pascaline {

static constexpr unsigned kGlobal = 1, kShared = 3;

int64_t storageBytes(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * storageBytes(vector.getElementType());
  // A bool takes a byte.
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

Value KernelBuilder::pointerTo(StringRef symbol, unsigned space) {
  return create<LLVM::AddressOfOp>(LLVM::LLVMPointerType::get(context, space),
                                   symbol);
}

Value KernelBuilder::shared(StringRef suffix, int64_t bytes, int64_t align) {
  std::string symbol = (entryName + "_" + suffix).str();
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module->getBody());
    create<LLVM::GlobalOp>(LLVM::LLVMArrayType::get(getI8Type(), bytes),
                           /*isConstant=*/false, LLVM::Linkage::Internal,
                           symbol, Attribute(), align, kShared);
  }
  sharedTotal = llvm::alignTo(sharedTotal, align) + bytes;
  return pointerTo(symbol, kShared);
}

Value KernelBuilder::table(StringRef suffix, ArrayRef<int32_t> words) {
  std::string symbol = (entryName + "_" + suffix).str();
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(module->getBody());
    int64_t count = words.size();
    create<LLVM::GlobalOp>(
        LLVM::LLVMArrayType::get(getI32Type(), count), /*isConstant=*/true,
        LLVM::Linkage::Internal, symbol,
        DenseElementsAttr::get(RankedTensorType::get({count}, getI32Type()),
                               words),
        /*alignment=*/16, kGlobal);
  }
  return pointerTo(symbol, kGlobal);
}

Value KernelBuilder::byteOffset(Value pointer, Value bytes) {
  return create<LLVM::GEPOp>(pointer.getType(), getI8Type(), pointer, bytes);
}

Value KernelBuilder::byteOffset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return create<LLVM::GEPOp>(pointer.getType(), getI8Type(), pointer,
                             i64(bytes));
}

Value KernelBuilder::element(Value pointer, Type type, Value index) {
  return create<LLVM::GEPOp>(pointer.getType(), type, pointer, index);
}

Value KernelBuilder::load(Value pointer, Type type, Cached cached,
                          int64_t align) {
  return create<LLVM::LoadOp>(type, pointer, align ? align : storageBytes(type),
                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                              cached == Cached::ReadOnly);
}

void KernelBuilder::store(Value value, Value pointer, int64_t align) {
  create<LLVM::StoreOp>(value, pointer,
                        align ? align : storageBytes(value.getType()));
}

namespace {
/// How PTX names a scalar in loads and stores, and inline assembly its
/// register.
struct Spelling {
  StringRef type, constraint, zero;
  Type held; ///< what the register holds; differs for f16 and bytes
};
} // namespace

static Spelling spell(Type scalar) {
  MLIRContext *context = scalar.getContext();
  if (scalar.isF32())
    return {"f32", "f", "mov.f32 ${0}, 0f00000000;", scalar};
  if (scalar.isF64())
    return {"f64", "d", "mov.f64 ${0}, 0d0000000000000000;", scalar};
  switch (scalar.getIntOrFloatBitWidth()) {
  case 8:
    return {"b8", "h", "mov.b16 ${0}, 0;", IntegerType::get(context, 16)};
  case 16:
    return {"b16", "h", "mov.b16 ${0}, 0;", IntegerType::get(context, 16)};
  case 32:
    return {"b32", "r", "mov.b32 ${0}, 0;", scalar};
  case 64:
    return {"b64", "l", "mov.b64 ${0}, 0;", scalar};
  default:
    llvm_unreachable("predicated accesses are of 8 to 64 bits");
  }
}

/// "{$0, $1, $2, $3}", or "$0" for a scalar, counting from `first`.
static std::string registerList(int64_t count, int64_t first) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return count == 1 ? text : "{" + text + "}";
}

Value KernelBuilder::loadIf(Value condition, Value pointer, int64_t bytes,
                            Type type) {
  if (!condition)
    return load(byteOffset(pointer, bytes), type, Cached::ReadOnly);
  return guardedLoad(condition, pointer, bytes, type, /*elseZero=*/true);
}

Value KernelBuilder::guardedLoad(Value condition, Value pointer, int64_t bytes,
                                 Type type, bool elseZero) {
  auto vector = dyn_cast<VectorType>(type);
  int64_t lanes = vector ? vector.getNumElements() : 1;
  Type scalar = vector ? vector.getElementType() : type;
  Spelling spelling = spell(scalar);

  std::string text, constraints;
  for (int64_t i = 0; i < lanes; ++i) {
    if (elseZero)
      text += llvm::formatv(spelling.zero.data(), i).str() + " ";
    // Early clobber: zeroed before the address is read.
    constraints += ("=&" + spelling.constraint + ",").str();
  }
  text += llvm::formatv("@${0} ld.global.nc{1}.{2} {3}, [${4}{5}];", lanes + 1,
                        lanes == 1 ? "" : ".v" + std::to_string(lanes),
                        spelling.type, registerList(lanes, 0), lanes,
                        bytes ? "+" + std::to_string(bytes) : "");
  constraints += "l,b";

  SmallVector<Type> results(lanes, spelling.held);
  Type result = lanes == 1 ? spelling.held
                           : LLVM::LLVMStructType::getLiteral(context, results);
  auto assembly = create<LLVM::InlineAsmOp>(
      result, ValueRange{pointer, condition}, text, constraints,
      /*has_side_effects=*/false, /*is_align_stack=*/false,
      LLVM::AsmDialectAttr(), ArrayAttr());
  SmallVector<Value> values;
  for (int64_t i = 0; i < lanes; ++i) {
    Value value = assembly.getRes();
    if (lanes > 1)
      value = create<LLVM::ExtractValueOp>(value, i);
    if (scalar.isInteger(8))
      value = create<arith::TruncIOp>(scalar, value);
    else if (spelling.held != scalar)
      value = create<LLVM::BitcastOp>(scalar, value);
    values.push_back(value);
  }
  return vector ? vectorOf(values) : values.front();
}

void KernelBuilder::storeIf(Value condition, Value value, Value pointer) {
  if (!condition)
    return store(value, pointer);

  auto vector = dyn_cast<VectorType>(value.getType());
  int64_t lanes = vector ? vector.getNumElements() : 1;
  Type scalar = vector ? vector.getElementType() : value.getType();
  Spelling spelling = spell(scalar);

  std::string constraints = "b,l";
  SmallVector<Value> operands = {condition, pointer};
  for (int64_t i = 0; i < lanes; ++i) {
    Value lane = vector ? extract(value, i) : value;
    if (scalar.isInteger(8))
      lane = create<arith::ExtUIOp>(spelling.held, lane);
    else if (spelling.held != scalar)
      lane = create<LLVM::BitcastOp>(spelling.held, lane);
    operands.push_back(lane);
    constraints += ("," + spelling.constraint).str();
  }
  std::string text =
      llvm::formatv("@$0 st.global{0}.{1} [$1], {2};",
                    lanes == 1 ? "" : ".v" + std::to_string(lanes),
                    spelling.type, registerList(lanes, 2));
  create<LLVM::InlineAsmOp>(TypeRange(), operands, text, constraints,
                            /*has_side_effects=*/true,
                            /*is_align_stack=*/false, LLVM::AsmDialectAttr(),
                            ArrayAttr());
}

Value KernelBuilder::extract(Value vector, int64_t lane) {
  return create<LLVM::ExtractElementOp>(vector, i32(lane));
}

Value KernelBuilder::vectorOf(ArrayRef<Value> lanes) {
  auto type = VectorType::get({static_cast<int64_t>(lanes.size())},
                              lanes.front().getType());
  Value vector = create<LLVM::UndefOp>(type);
  for (auto [i, lane] : llvm::enumerate(lanes))
    vector = create<LLVM::InsertElementOp>(vector, lane, i32(i));
  return vector;
}

} // namespace pascaline
