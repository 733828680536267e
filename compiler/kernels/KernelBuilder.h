// KernelBuilder - writes one kernel: its module, its entry, its arithmetic.
//
// A kernel is a module with one llvm.func (nvvm.kernel) and its globals. Bodies
// mix llvm and nvvm (memory, ids, barriers) with arith, math, cf and scf, which
// passes/kernel lowers. Conventions that every generator keeps:
//
//   - indices are i32 and count elements; 64 bits appear only in addresses
//     (tensors have fewer than 2^31 elements);
//   - each parameter is a pointer to global memory that aliases no other one,
//     unless it says so; what a kernel only reads is read-only, so ptxas may
//     use ld.global.nc;
//   - globals are named after the entry, so kernels can share a PTX module.
//
// Integer helpers fold constants, so generators need no special cases for
// extents of one.
//
// Test: test/compiler/ContractionTest.cpp and every test in test/ptx
#pragma once

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OwningOpRef.h"

namespace pascaline {

/// A pointer parameter of an entry.
struct KernelParameter {
  bool readOnly = true;
  int64_t align = 16;  ///< bytes; what the planner guarantees for the buffer
  bool isAlone = true; ///< no other parameter has any of its bytes
};

enum class Cached {
  No,       ///< ordinary: other blocks may write it
  ReadOnly, ///< nobody writes it while the kernel runs: ld.global.nc
};

class KernelBuilder : public mlir::ImplicitLocOpBuilder {
public:
  /// Starts the kernel and stands at the start of its body. `minBlocks` asks
  /// ptxas to keep registers low enough for so many blocks on an SM; 0: no
  /// wish.
  KernelBuilder(mlir::Location loc, llvm::StringRef name, int64_t threads,
                int64_t minBlocks, llvm::ArrayRef<KernelParameter> parameters);

  llvm::StringRef name() const { return entryName; }
  mlir::Value parameter(unsigned index);
  int64_t sharedBytes() const { return sharedTotal; }

  /// Ends the body with a return and hands the module over.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  //===- Integers and predicates
  //-------------------------------------------===//

  mlir::Value i32(int64_t value);
  mlir::Value i64(int64_t value);
  mlir::Value constant(mlir::Type type, double value);
  mlir::Value zero(mlir::Type type); ///< of any scalar or vector type

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value add(mlir::Value a, int64_t b) { return add(a, like(a, b)); }
  mlir::Value mul(mlir::Value a, int64_t b) { return mul(a, like(a, b)); }
  /// Quotient and remainder of a value that is not negative.
  mlir::Value div(mlir::Value a, int64_t b);
  mlir::Value rem(mlir::Value a, int64_t b);
  mlir::Value bitAnd(mlir::Value a, mlir::Value b);
  mlir::Value bitAnd(mlir::Value a, int64_t b) { return bitAnd(a, like(a, b)); }
  mlir::Value bitOr(mlir::Value a, mlir::Value b);
  mlir::Value bitXor(mlir::Value a, int64_t b);
  mlir::Value minimum(mlir::Value a, int64_t b); ///< signed

  mlir::Value lessThan(mlir::Value a, mlir::Value b);         ///< signed
  mlir::Value lessThanUnsigned(mlir::Value a, mlir::Value b); ///< unsigned
  mlir::Value equal(mlir::Value a, mlir::Value b);
  mlir::Value lessThan(mlir::Value a, int64_t b) {
    return lessThan(a, like(a, b));
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  /// Both; either may be null, which stands for true.
  mlir::Value both(mlir::Value a, mlir::Value b);

  /// Splits a row-major index into its coordinates, outermost first.
  llvm::SmallVector<mlir::Value> coordinates(mlir::Value index,
                                             llvm::ArrayRef<int64_t> extents);

  //===- The grid
  //----------------------------------------------------------===//

  mlir::Value threadX();
  mlir::Value blockX();
  mlir::Value blockY();
  void barrier();     ///< of the block
  void fenceDevice(); ///< this thread's writes before later ones, device-wide

  //===- Memory
  //------------------------------------------------------------===//

  /// A static shared array of this kernel; pointer to its start.
  mlir::Value shared(llvm::StringRef suffix, int64_t bytes, int64_t align);
  /// A table of words in global memory, part of the module.
  mlir::Value table(llvm::StringRef suffix, llvm::ArrayRef<int32_t> words);

  mlir::Value byteOffset(mlir::Value pointer, mlir::Value bytes);
  mlir::Value byteOffset(mlir::Value pointer, int64_t bytes);
  /// The address of an element by its i32 or i64 index.
  mlir::Value element(mlir::Value pointer, mlir::Type type, mlir::Value index);

  /// Loads and stores of scalars and vectors; align 0 is the type's own size.
  mlir::Value load(mlir::Value pointer, mlir::Type type, Cached cached,
                   int64_t align = 0);
  void store(mlir::Value value, mlir::Value pointer, int64_t align = 0);

  /// A read-only load, `bytes` after the pointer, that happens only where
  /// `condition` holds and gives zero elsewhere. A null condition: always.
  mlir::Value loadIf(mlir::Value condition, mlir::Value pointer, int64_t bytes,
                     mlir::Type type);
  /// The same where a condition that does not hold leaves any value: saves the
  /// zeroing.
  mlir::Value loadIfElseAny(mlir::Value condition, mlir::Value pointer,
                            int64_t bytes, mlir::Type type) {
    return guardedLoad(condition, pointer, bytes, type, /*elseZero=*/false);
  }
  /// A store to global memory that happens only where `condition` holds.
  void storeIf(mlir::Value condition, mlir::Value value, mlir::Value pointer);

  mlir::Value extract(mlir::Value vector, int64_t lane);
  mlir::Value vectorOf(llvm::ArrayRef<mlir::Value> lanes);

  //===- Control flow over blocks of the function body
  //---------------------===//
  // Not to be used inside an scf region.

  /// Runs `body` where the condition holds.
  void branchIf(mlir::Value condition, llvm::function_ref<void()> body);
  /// Ends the thread where the condition holds.
  void returnIf(mlir::Value condition);

  struct Next {
    mlir::Value again; ///< whether to run the body once more
    llvm::SmallVector<mlir::Value> values;
  };
  /// Runs `body` once and then while it says so; the last values it gave.
  llvm::SmallVector<mlir::Value>
  doWhile(mlir::ValueRange initial,
          llvm::function_ref<Next(mlir::ValueRange)> body);

  /// At the start of a loop's body: ptxas shall not unroll it, which would
  /// multiply the registers of the loads in flight.
  void keepRolled();

private:
  mlir::Value guardedLoad(mlir::Value condition, mlir::Value pointer,
                          int64_t bytes, mlir::Type type, bool elseZero);
  mlir::Value like(mlir::Value model, int64_t value);
  mlir::Value pointerTo(llvm::StringRef symbol, unsigned space);
  mlir::Block *newBlock(mlir::TypeRange arguments);

  std::string entryName;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::LLVM::LLVMFuncOp function;
  int64_t sharedTotal = 0;
};

/// Bytes of a scalar or vector type.
int64_t storageBytes(mlir::Type type);

} // namespace pascaline
