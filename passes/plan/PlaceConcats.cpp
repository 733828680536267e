// PlaceConcats - what a concat joins is written where its result lies.
//
// A concat along the outermost dimension lays its operands one after the other.
// If each is a buffer that one launch of this program writes, that launch can
// write into a slice of the result, and the concat is done before it starts:
//
//   before:  a = k(x)                      after:  y[0:512] = k(x)
//            b = k(z)                              y[512:1024] = k(z)
//            y = concat(a, b)
//
// Whoever else reads a or b reads the slice. Dense blocks join the same tensors
// again and again, one more each time:
//
//            p = concat(a, b)                      y[0:1024] is p
//            y = concat(a, b, c)
//
// so operands that are those of an earlier concat are taken for its result
// first, and it becomes a slice in turn.
//
// An operand that the caller owns, that is constant, that another concat
// already holds or that would start at an odd place is copied as before: a
// slice starts at a multiple of 16 bytes, as kernels read 128 bits at a time.
//
// The result lives as soon as its first part is written. Where that costs more
// than the copies did, concats keep their kernels: no step may raise the
// largest sum of live bytes in the best order that is found.
//
// Test: test/passes/plan/place-concats.mlir

#include "passes/Passes.h"

#include "compiler/ir/Decisions.h"
#include "passes/plan/LaunchOrder.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <algorithm>

using namespace mlir;

namespace pascaline {
#define GEN_PASS_DEF_PLACECONCATS
#include "passes/Passes.h.inc"

namespace {

/// Bounds the concats that are tried one by one, each with a search for an
/// order that takes up to the square of the launches.
constexpr size_t kTrialLooks = 16'000'000;

SmallVector<plan::LaunchOp> joinsOf(plan::ProgramOp program) {
  SmallVector<plan::LaunchOp> joins;
  for (auto launch : program.getBody().front().getOps<plan::LaunchOp>())
    if (launch.getJoins() && !launch.getInit())
      joins.push_back(launch);
  return joins;
}

SmallVector<Value> partsOf(plan::LaunchOp join) {
  return SmallVector<Value>(join.getBuffers().drop_back());
}

Value wholeOf(plan::LaunchOp join) { return join.getBuffers().back(); }

int64_t bytesOf(Value buffer) { return plan::rangeOf(buffer).bytes; }

/// Null where a buffer may become the slice that begins at `start`.
const char *whyNotPart(Value part, int64_t start) {
  auto buffer = part.getDefiningOp<plan::BufferOp>();
  if (!buffer)
    return "an operand lies in another concat's result";
  if (buffer.getKind() != plan::BufferKind::arena)
    return "an operand is an input, an output or a constant";
  if (buffer.getBytes() == 0)
    return "an operand is empty";
  if (start % 16 != 0)
    return "an operand would not start at a multiple of 16 bytes";
  int writers = 0;
  for (OpOperand &use : part.getUses()) {
    auto launch = dyn_cast<plan::LaunchOp>(use.getOwner());
    if (!launch && !isa<plan::ViewOp>(use.getOwner()))
      return "an operand is an output of the model";
    writers += launch && launch.getAccess()[use.getOperandNumber()] !=
                             static_cast<int32_t>(plan::Access::read);
  }
  return writers == 1 ? nullptr : "no single launch writes an operand";
}

/// Takes a run of parts for the result of the concat that joins just them.
void takeResultsForParts(SmallVector<Value> &parts,
                         ArrayRef<plan::LaunchOp> before) {
  for (plan::LaunchOp join : llvm::reverse(before)) {
    SmallVector<Value> own = partsOf(join);
    if (own.size() < 2 || own.size() > parts.size() ||
        !wholeOf(join).getDefiningOp<plan::BufferOp>())
      continue;
    auto found =
        std::search(parts.begin(), parts.end(), own.begin(), own.end());
    if (found == parts.end())
      continue;
    *found = wholeOf(join);
    parts.erase(found + 1, found + own.size());
  }
}

/// Null when a concat's kernel is gone: its parts are slices of its result.
const char *place(plan::LaunchOp join, ArrayRef<plan::LaunchOp> before) {
  SmallVector<Value> parts = partsOf(join);
  takeResultsForParts(parts, before);
  llvm::SmallPtrSet<Value, 8> distinct(parts.begin(), parts.end());
  if (distinct.size() != parts.size())
    return "an operand comes twice";
  int64_t start = 0;
  for (Value part : parts) {
    if (const char *reason = whyNotPart(part, start))
      return reason;
    start += bytesOf(part);
  }
  Value whole = wholeOf(join);
  if (start != bytesOf(whole))
    return "the operands' bytes are not those of the result";
  // What writes the slices comes before the concat did.
  Operation *home = whole.getDefiningOp();
  if (isa<plan::BufferOp>(home))
    home->moveBefore(home->getBlock(), home->getBlock()->begin());
  OpBuilder builder(home->getContext());
  builder.setInsertionPointAfter(home);
  start = 0;
  for (Value part : parts) {
    int64_t bytes = bytesOf(part);
    auto view = builder.create<plan::ViewOp>(part.getLoc(), part.getType(),
                                             whole, start, bytes);
    start += bytes;
    Operation *old = part.getDefiningOp();
    part.replaceAllUsesWith(view);
    old->erase();
  }
  join.erase();
  return nullptr;
}

/// Places the concats of these numbers, the last first: its result may hold
/// earlier ones.
unsigned placeAll(plan::ProgramOp program, ArrayRef<size_t> numbers) {
  SmallVector<plan::LaunchOp> joins = joinsOf(program);
  unsigned placed = 0;
  for (size_t number : llvm::reverse(numbers))
    placed += !place(joins[number],
                     ArrayRef<plan::LaunchOp>(joins).take_front(number));
  return placed;
}

struct PlaceConcats : impl::PlaceConcatsBase<PlaceConcats> {
  void runOnOperation() override {
    for (auto program :
         llvm::make_early_inc_range(getOperation().getOps<plan::ProgramOp>())) {
      SmallVector<size_t> numbers;
      for (size_t i = 0; i < joinsOf(program).size(); ++i)
        numbers.push_back(i);
      SmallVector<plan::LaunchOp> joins = joinsOf(program);
      numbers = choose(program, numbers);
      apply(program, joins, numbers);
    }
    eraseUnusedKernels();
  }

private:
  /// Bytes that the best order of launches needs with these concats placed.
  static int64_t needWith(plan::ProgramOp program, ArrayRef<size_t> numbers) {
    OwningOpRef<plan::ProgramOp> copy(cast<plan::ProgramOp>(program->clone()));
    placeAll(*copy, numbers);
    MemoryModel model(*copy);
    return largestLiveSum(model, findLaunchOrder(model));
  }

  /// All of them where that costs no memory, else those that each do not.
  static SmallVector<size_t> choose(plan::ProgramOp program,
                                    ArrayRef<size_t> all) {
    if (all.empty())
      return {};
    int64_t need = needWith(program, {});
    if (needWith(program, all) <= need)
      return SmallVector<size_t>(all);
    SmallVector<size_t> chosen;
    size_t launches =
        llvm::range_size(program.getBody().front().getOps<plan::LaunchOp>());
    size_t trials = kTrialLooks / (launches * launches);
    for (size_t number : all.take_front(trials)) {
      chosen.push_back(number);
      int64_t now = needWith(program, chosen);
      if (now > need)
        chosen.pop_back();
      else
        need = now;
    }
    return chosen;
  }

  void apply(plan::ProgramOp program, ArrayRef<plan::LaunchOp> joins,
             ArrayRef<size_t> chosen) {
    for (size_t number = joins.size(); number-- > 0;) {
      plan::LaunchOp join = joins[number];
      if (!llvm::is_contained(chosen, number)) {
        recordDecision(join, Topic::Memory, "copied",
                       "with its operands in its result more memory would live "
                       "at once");
        continue;
      }
      // Said first: afterwards the launch may be gone.
      recordDecision(join, Topic::Memory, "in place",
                     "its operands are written where its result lies");
      recordDecision(join, Topic::Fate, "eliminated",
                     "its operands are written where its result lies");
      if (const char *reason = place(join, joins.take_front(number)))
        recordDecision(join, Topic::Memory, "copied", reason);
      else
        ++numPlaced;
    }
  }

  void eraseUnusedKernels() {
    llvm::SmallPtrSet<Attribute, 16> used;
    getOperation().walk([&](plan::LaunchOp launch) {
      used.insert(launch.getKernelAttr().getAttr());
    });
    for (auto kernel :
         llvm::make_early_inc_range(getOperation().getOps<plan::KernelOp>()))
      if (!used.contains(kernel.getSymNameAttr()))
        kernel.erase();
  }
};

} // namespace
} // namespace pascaline
