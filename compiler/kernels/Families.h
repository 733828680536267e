// Families.h - the kernel families behind generateKernel, one file each. Each
// takes a group whose anchor it is named after, and emits an error at the
// group where it cannot serve it.
#pragma once

#include "compiler/kernels/Generator.h"

namespace pascaline {

using Family = llvm::FailureOr<GeneratedKernel>(FusedOp group,
                                                const Chip &chip);

Family generatePointwise; ///< groups without anchor
/// Groups without anchor around one transpose that both sides' neighbours pay
/// for; wantsTiledTranspose says which.
Family generateTiledTranspose;
bool wantsTiledTranspose(FusedOp group);
Family generateReduce;
Family generateSoftmax;
Family generatePool; ///< max_pool and avg_pool
Family generateConcat;
Family generatePad;
Family generateGather;
Family generateDepthwise; ///< conv with one input channel a group
Family generateMatMul;
Family generateConv;

} // namespace pascaline
