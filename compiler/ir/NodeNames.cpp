#include "compiler/ir/NodeNames.h"

#include "mlir/IR/Location.h"
#include "mlir/IR/OpDefinition.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace pascaline {

llvm::SmallVector<llvm::StringRef> nodeNames(Operation *op) {
  llvm::SetVector<StringRef> names;
  auto collect = [&](Location loc) {
    loc->walk([&](Location part) {
      if (auto name = dyn_cast<NameLoc>(part))
        names.insert(name.getName().getValue());
      return WalkResult::advance();
    });
  };
  if (op->getNumRegions() == 0)
    collect(op->getLoc());
  // Constants inside a group carry the names of initializers, not of nodes.
  op->walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (inner != op && !inner->hasTrait<OpTrait::ConstantLike>() &&
        !inner->hasTrait<OpTrait::IsTerminator>())
      collect(inner->getLoc());
  });
  return llvm::SmallVector<StringRef>(names.begin(), names.end());
}

} // namespace pascaline
