// PlanDialect.cpp - registration and verifiers of the plan dialect.
// Test: test/ir/plan-invalid.mlir

#include "compiler/ir/plan/PlanDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/ir/plan/PlanDialect.cpp.inc"
#include "compiler/ir/plan/PlanEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/ir/plan/PlanTypes.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/ir/plan/PlanOps.cpp.inc"

using namespace mlir;

namespace pascaline::plan {

namespace {
struct ArenaLife {
  BufferOp buffer;
  int64_t first, last;    ///< launches, counted from 0
  Operation *firstLaunch; ///< or the return
};
} // namespace

void PlanDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/ir/plan/PlanTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/plan/PlanOps.cpp.inc"
      >();
}

LogicalResult BufferOp::verify() {
  if (getBytes() < 0)
    return emitOpError() << "holds " << getBytes() << " bytes";
  bool isIo = getKind() == BufferKind::input || getKind() == BufferKind::output;
  if (isIo != getIndex().has_value())
    return emitOpError() << "needs an index exactly when it is an input or an "
                            "output";
  if ((getKind() == BufferKind::weights) != getValue().has_value())
    return emitOpError() << "needs a value exactly when it is of weights";
  return success();
}

BufferRange rangeOf(Value value) {
  BufferRange range;
  int64_t start = 0;
  while (auto view = value.getDefiningOp<ViewOp>()) {
    if (!range.bytes)
      range.bytes = view.getBytes();
    start += view.getStart();
    value = view.getWhole();
  }
  range.buffer = value.getDefiningOp<BufferOp>();
  if (!start && !range.bytes)
    range.bytes = range.buffer.getBytes();
  range.start = start;
  return range;
}

LogicalResult ViewOp::verify() {
  constexpr int64_t kWidestAccess = 16;
  Operation *whole = getWhole().getDefiningOp();
  if (!isa_and_nonnull<BufferOp, ViewOp>(whole))
    return emitOpError("is of no buffer");
  auto view = dyn_cast<ViewOp>(whole);
  int64_t size = view ? view.getBytes() : cast<BufferOp>(whole).getBytes();
  if (getStart() < 0 || getBytes() < 1 || getStart() > size ||
      getBytes() > size - getStart())
    return emitOpError() << "is of " << getBytes() << " bytes from "
                         << getStart() << " on, in a buffer of " << size;
  if (getStart() % kWidestAccess != 0)
    return emitOpError() << "starts at byte " << getStart()
                         << ", which is no multiple of " << kWidestAccess;
  return success();
}

LogicalResult LaunchOp::verify() {
  if (getAccess().size() != getBuffers().size())
    return emitOpError() << "has " << getBuffers().size() << " buffers and "
                         << getAccess().size() << " accesses";
  if (getTypes() && getTypes()->size() != getBuffers().size())
    return emitOpError() << "has " << getBuffers().size() << " buffers and "
                         << getTypes()->size() << " types";
  if (std::optional<ArrayRef<int32_t>> pairs = getReplaceable()) {
    auto isAccess = [&](int32_t position, Access access) {
      return position >= 0 && size_t(position) < getAccess().size() &&
             getAccess()[position] == static_cast<int32_t>(access);
    };
    for (size_t i = 0; i < pairs->size(); i += 2)
      if (i + 1 == pairs->size() || !isAccess((*pairs)[i], Access::read) ||
          !isAccess((*pairs)[i + 1], Access::write))
        return emitOpError("needs pairs of the positions of a buffer it reads "
                           "and one it writes in replaceable");
  }
  if (getGrid().size() != 3)
    return emitOpError() << "has a grid of " << getGrid().size()
                         << " dimensions, not 3";
  // sm_61's limits: CUDA C++ Programming Guide, "Compute Capabilities".
  constexpr int64_t kLimits[3] = {2147483647, 65535, 65535};
  for (auto [extent, limit] : llvm::zip(getGrid(), kLimits))
    if (extent < 1 || extent > limit)
      return emitOpError() << "has a grid extent of " << extent
                           << ", not in 1.." << limit;
  return success();
}

/// Buffers of the arena with the launches from which to which they live.
static SmallVector<ArenaLife> livesOf(ProgramOp program) {
  SmallVector<ArenaLife> lives;
  llvm::DenseMap<Operation *, size_t> numbers;
  int64_t step = 0;
  for (Operation &op : program.getBody().front()) {
    if (!isa<LaunchOp, ReturnOp>(op))
      continue;
    for (Value value : op.getOperands()) {
      BufferOp buffer = rangeOf(value).buffer;
      if (buffer.getKind() != BufferKind::arena || !buffer.getOffset() ||
          !buffer.getBytes())
        continue;
      auto [found, isNew] = numbers.try_emplace(buffer, lives.size());
      if (isNew)
        lives.push_back({buffer, step, step, &op});
      lives[found->second].last = step;
    }
    ++step;
  }
  return lives;
}

/// Whether `to` may take the place of `from` as the launch runs.
static bool mayReplace(LaunchOp launch, BufferOp from, BufferOp to) {
  std::optional<ArrayRef<int32_t>> pairs = launch.getReplaceable();
  // Bound twice, an operand is also read at other places than its own.
  if (llvm::count(launch.getBuffers(), from.getBuffer()) != 1)
    return false;
  for (size_t i = 0; pairs && i + 1 < pairs->size(); i += 2)
    if (launch.getBuffers()[(*pairs)[i]] == from.getBuffer() &&
        launch.getBuffers()[(*pairs)[i + 1]] == to.getBuffer())
      return from.getOffset() == to.getOffset() &&
             from.getBytes() == to.getBytes();
  return false;
}

LogicalResult ProgramOp::verifyRegions() {
  if (!getArenaBytes())
    return success();
  // By the first launch: those that still live are compared with each new one.
  SmallVector<ArenaLife> living;
  for (const ArenaLife &life : livesOf(*this)) {
    BufferOp buffer = life.buffer;
    int64_t start = *buffer.getOffset();
    if (start < 0 || start > int64_t(*getArenaBytes()) ||
        buffer.getBytes() > *getArenaBytes() - start)
      return buffer.emitOpError()
             << "has " << buffer.getBytes() << " bytes from " << start
             << " on, outside an arena of " << *getArenaBytes();
    llvm::erase_if(living, [&](const ArenaLife &other) {
      return other.last < life.first;
    });
    for (ArenaLife &other : living) {
      int64_t otherStart = *other.buffer.getOffset();
      bool overlaps = start < int64_t(otherStart + other.buffer.getBytes()) &&
                      otherStart < int64_t(start + buffer.getBytes());
      auto launch = dyn_cast<LaunchOp>(life.firstLaunch);
      if (!overlaps || (launch && other.last == life.first &&
                        mayReplace(launch, other.buffer, buffer)))
        continue;
      InFlightDiagnostic error =
          buffer.emitOpError()
          << "has bytes of the arena in common with another buffer that lives "
             "at the same time";
      error.attachNote(other.buffer.getLoc()) << "the other is here";
      return error;
    }
    living.push_back(life);
  }
  return success();
}

} // namespace pascaline::plan
