// Ptx.h - from a lowered kernel to PTX text, and from kernels to one module.
//
// Test: test/compiler/TargetTest.cpp
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace pascaline {

/// What a context needs before emitPtx may be called on its modules.
void registerPtxTranslations(mlir::DialectRegistry &registry);

/// The PTX of a kernel module that holds nothing but the llvm and nvvm dialects
/// (passes/kernel/LowerKernel makes it so). PTX 6.0, which drivers since CUDA 9
/// take, for sm_61. Each call works in an LLVM context of its own, so kernels
/// can be compiled in parallel; the same module gives the same bytes. An error
/// is emitted at the module.
llvm::FailureOr<std::string> emitPtx(mlir::ModuleOp kernel);

/// The LLVM IR from which emitPtx makes PTX, as text.
llvm::FailureOr<std::string> emitLlvmIr(mlir::ModuleOp kernel);

/// One PTX module of several, in the given order. Their symbols must differ;
/// the kernels' generators prefix them with the entry's name.
std::string linkPtx(llvm::ArrayRef<std::string> modules);

} // namespace pascaline
