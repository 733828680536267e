// Generator.cpp - which kernel family serves a group.

#include "compiler/kernels/Generator.h"

#include "compiler/ir/Dialect.h"
#include "compiler/kernels/Families.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pascaline {

/// One input channel a group: no channel is summed over, so the contraction
/// core would have nothing to contract.
static bool isDepthwise(ConvOp conv) {
  return conv.getGroups() > 1 && conv.getW().getType().getShape()[1] == 1;
}

FailureOr<GeneratedKernel> generateKernel(FusedOp group, const Chip &chip) {
  Operation *anchor = group.getAnchor();
  if (!anchor)
    return wantsTiledTranspose(group) ? generateTiledTranspose(group, chip)
                                      : generatePointwise(group, chip);
  Family *family =
      llvm::TypeSwitch<Operation *, Family *>(anchor)
          .Case<MatMulOp>([](auto) { return generateMatMul; })
          .Case<ConvOp>([](ConvOp conv) {
            return isDepthwise(conv) ? generateDepthwise : generateConv;
          })
          .Case<MaxPoolOp, AvgPoolOp>([](auto) { return generatePool; })
          .Case<ReduceOp>([](auto) { return generateReduce; })
          .Case<SoftmaxOp>([](auto) { return generateSoftmax; })
          .Case<ConcatOp>([](auto) { return generateConcat; })
          .Case<PadOp>([](auto) { return generatePad; })
          .Case<GatherOp>([](auto) { return generateGather; })
          .Default([](Operation *) { return nullptr; });
  if (!family)
    return group.emitError() << "no kernel family serves " << anchor->getName()
                             << "; add one to compiler/kernels/Generator.cpp";
  return family(group, chip);
}

} // namespace pascaline
