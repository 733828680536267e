// OrderLaunches - run launches in an order in which less memory lives at once.
//
// A graph leaves branches in the order their exporter wrote them. What a branch
// makes waits, and takes memory, until the branches meet:
//
//   before:  big1 = a(x)                after:  big1 = a(x)
//            big2 = b(x)                        small1 = c(big1)
//            small1 = c(big1)                   big2 = b(x)
//            small2 = d(big2)                   small2 = d(big2)
//
// The order is changed only where the arena gets smaller for it: where the
// model's own order is as good it stays, and so do its neighbours in caches.
//
// Test: test/passes/plan/order-launches.mlir

#include "passes/Passes.h"

#include "passes/plan/LaunchOrder.h"

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_ORDERLAUNCHES
#include "passes/Passes.h.inc"

namespace {

struct OrderLaunches : impl::OrderLaunchesBase<OrderLaunches> {
  void runOnOperation() override {
    for (auto program : getOperation().getOps<plan::ProgramOp>())
      order(program);
  }

private:
  void order(plan::ProgramOp program) {
    MemoryModel model(program);
    std::vector<unsigned> own = ownOrder(model);
    std::vector<unsigned> found = findLaunchOrder(model);
    if (found == own ||
        layOutArena(model, found).bytes >= layOutArena(model, own).bytes)
      return;
    // Buffers first, then the launches as found; the return is the last.
    Block &body = program.getBody().front();
    for (auto [place, launch] : llvm::enumerate(found)) {
      Operation *op = model.launches[launch].op;
      op->moveBefore(&body, body.end());
      numMoved += place != launch;
    }
  }
};

} // namespace
} // namespace pascaline
