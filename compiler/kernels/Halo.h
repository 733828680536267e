// Halo.h - a kernel that makes a tensor with a halo also makes the zeros.
//
// The arena's bytes belong to others before and after, so the halo is written
// in every run: by all threads of the producer's grid, before they compute. No
// thread reads it in that kernel and none of its other stores touches it, so
// nothing has to wait.
//
// Test: test/ptx/layout.mlir
#pragma once

#include "compiler/kernels/KernelBuilder.h"

#include <optional>
#include <string>

namespace pascaline {

/// Writes zeros around the elements of a tensor of the type at `pointer`. Emits
/// code that every thread must run, outside any scf region. A sentence where
/// the halo is of another kind than around the last two dimensions.
std::optional<std::string> zeroHalo(KernelBuilder &b, mlir::Value pointer,
                                    mlir::RankedTensorType type,
                                    int64_t threads);

} // namespace pascaline
