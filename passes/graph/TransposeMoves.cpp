// TransposeMoves.cpp - see the header.
#include "passes/graph/TransposeMoves.h"

#include "compiler/ir/Decisions.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Shapes.h"
#include "compiler/ir/Types.h"
#include "passes/graph/MinCut.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace pascaline {

using Perm = ArrayRef<int64_t>;

SmallVector<int64_t> inverseOf(Perm perm) {
  SmallVector<int64_t> inverse(perm.size());
  for (auto [i, d] : llvm::enumerate(perm))
    inverse[d] = i;
  return inverse;
}

bool keepsOrder(ArrayRef<int64_t> shape, Perm perm) {
  int64_t last = -1;
  for (int64_t d : perm) {
    if (shape[d] == 1)
      continue;
    if (d < last)
      return false;
    last = d;
  }
  return true;
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static size_t rankOf(Value value) { return typeOf(value).getRank(); }

/// The operands that are transposed with an op's result: not a pad's fill, not
/// a gather's indices.
static ValueRange movedOperands(Operation *op) {
  return isa<PadOp, GatherOp>(op) ? op->getOperands().take_front(1)
                                  : ValueRange(op->getOperands());
}

static bool isMovable(Operation *op) {
  if (auto gather = dyn_cast<GatherOp>(op))
    return rankOf(gather.getIndices()) == 1;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return rankOf(broadcast.getX()) == rankOf(broadcast.getY());
  return isa<ScalarOpInterface, ConcatOp, SoftmaxOp, ReduceOp, PadOp, SliceOp>(
      op);
}

static bool isAnchor(Operation *op) { return op && isa<AnchorOpInterface>(op); }

namespace {

class Mover {
public:
  Mover(Block &block, Perm perm)
      : block(block), perm(perm), inverse(inverseOf(perm)), cut(0) {}

  bool run() {
    classify();
    if (!hasTransposes || nodes.empty())
      return false;
    for (Value argument : block.getArguments())
      addCosts(argument);
    for (Operation &op : block)
      for (Value result : op.getResults())
        addCosts(result);
    std::vector<bool> labels = cut.solve();
    for (auto [value, node] : nodes)
      if (labels[node])
        ones.insert(value);
    if (ones.empty())
      return false;
    rewrite();
    return true;
  }

private:
  enum class Kind {
    Fixed,   ///< as it is
    Movable, ///< either
    Start,   ///< a transpose that `perm` undoes: its result is transposed
    End,     ///< a transpose by `perm`: it wants its operand transposed
  };

  void classify();
  Kind kindOf(Operation *op);
  Kind kindAt(Operation *op) { return kinds.lookup(op); }

  bool movesNothing(Value value);
  int64_t costAlone(Value value);
  int64_t costBeside(Value value);
  int labelOf(Value value);
  int labelOfReader(OpOperand &use);
  bool absorbs(Operation *reader);
  void addCosts(Value value);

  void rewrite();
  Value transposed(Value value, Operation *reader);
  Value straight(Value value);
  Operation *moveOp(Operation *op);
  void moveAttributes(Operation *op);
  DenseI64ArrayAttr permuted(ArrayRef<int64_t> values, Builder &builder);

  Block &block;
  SmallVector<int64_t> perm, inverse;
  MinCut cut;
  bool hasTransposes = false;
  llvm::DenseMap<Operation *, Kind> kinds;
  llvm::DenseSet<Value> behindStart; ///< a transpose is on the way to it
  llvm::DenseSet<Value> constants;   ///< made at load, from constants alone
  llvm::MapVector<Value, int> nodes; ///< results of movable ops
  llvm::DenseSet<Value> ones;        ///< those to be transposed
  llvm::DenseMap<Value, Value> transposedOf, straightOf;
};

} // namespace

//===- The problem
//----------------------------------------------------------===//

Mover::Kind Mover::kindOf(Operation *op) {
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    bool starts = transpose.getPerm() == Perm(inverse);
    bool ends = transpose.getPerm() == Perm(perm);
    // A swap of dimensions is its own inverse: behind another it ends what
    // that one started.
    if (starts && ends)
      return behindStart.contains(transpose.getX()) ? Kind::End : Kind::Start;
    return starts ? Kind::Start : ends ? Kind::End : Kind::Fixed;
  }
  if (!isMovable(op) || rankOf(op->getResult(0)) != perm.size())
    return Kind::Fixed;
  return Kind::Movable;
}

void Mover::classify() {
  for (Operation &op : block) {
    Kind kind = kinds[&op] = kindOf(&op);
    if (llvm::all_of(op.getOperands(),
                     [&](Value v) { return constants.contains(v); }))
      constants.insert(op.result_begin(), op.result_end());
    hasTransposes |= kind == Kind::Start || kind == Kind::End;
    if (kind == Kind::Start)
      behindStart.insert(op.getResult(0));
    if (kind != Kind::Movable)
      continue;
    nodes[op.getResult(0)] = cut.addNode();
    if (llvm::any_of(movedOperands(&op), [&](Value operand) {
          return behindStart.contains(operand);
        }))
      behindStart.insert(op.getResult(0));
  }
}

/// Whether transposing keeps the elements' order, or happens at load.
bool Mover::movesNothing(Value value) {
  if (constants.contains(value))
    return true;
  auto shape = typeOf(value).getShape();
  if (shape.size() < perm.size())
    return llvm::count_if(shape, [](int64_t d) { return d != 1; }) <= 1;
  return keepsOrder(shape, perm);
}

/// Of a kernel that transposes the value, in bytes; a launch takes as long as
/// half a megabyte.
int64_t Mover::costAlone(Value value) {
  constexpr int64_t kLaunch = 1 << 19;
  return movesNothing(value) ? 0 : 2 * tensorBytes(typeOf(value)) + kLaunch;
}

/// Of storing or reading it transposed in an anchor's kernel: less orderly
/// accesses.
int64_t Mover::costBeside(Value value) {
  return movesNothing(value)
             ? 0
             : std::max<int64_t>(1, tensorBytes(typeOf(value)) / 2);
}

int Mover::labelOf(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return MinCut::kZero;
  switch (kindAt(op)) {
  case Kind::Movable:
    return nodes.lookup(value);
  case Kind::Start:
    return MinCut::kOne;
  default:
    return MinCut::kZero;
  }
}

int Mover::labelOfReader(OpOperand &use) {
  Operation *reader = use.getOwner();
  Kind kind = kindAt(reader);
  if (kind == Kind::End)
    return MinCut::kOne;
  bool moves = kind == Kind::Movable &&
               use.getOperandNumber() < movedOperands(reader).size();
  return moves ? nodes.lookup(reader->getResult(0)) : MinCut::kZero;
}

/// Whether a reader takes its operand in any order: an anchor, or a transpose
/// in front of anchors alone.
bool Mover::absorbs(Operation *reader) {
  if (kindAt(reader) == Kind::End)
    return llvm::all_of(reader->getUsers(), isAnchor);
  return isAnchor(reader);
}

void Mover::addCosts(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || size_t(type.getRank()) > perm.size() ||
      type.getNumElements() == 1)
    return;
  if (size_t(type.getRank()) < perm.size()) { // it broadcasts
    for (OpOperand &use : value.getUses())
      if (int label = labelOfReader(use); label >= 0)
        cut.addEdge(label, MinCut::kZero, costAlone(value));
    return;
  }
  Operation *producer = value.getDefiningOp();
  if (producer && kindAt(producer) == Kind::Start)
    producer = producer->getOperand(0).getDefiningOp();
  int label = labelOf(value), anyOne = cut.addNode(), anyZero = cut.addNode();
  int64_t cost = isAnchor(producer) ? costBeside(value) : costAlone(value);
  cut.addEdge(anyOne, label, cost);
  cut.addEdge(label, anyZero, cost);
  for (OpOperand &use : value.getUses()) {
    int reader = labelOfReader(use);
    if (absorbs(use.getOwner())) {
      cut.addEdge(reader, label, costBeside(value));
      cut.addEdge(label, reader, costBeside(value));
      continue;
    }
    cut.addEdge(reader, anyOne, MinCut::kNever);
    cut.addEdge(anyZero, reader, MinCut::kNever);
  }
}

//===- The rewrite
//----------------------------------------------------------===//

DenseI64ArrayAttr Mover::permuted(ArrayRef<int64_t> values, Builder &builder) {
  SmallVector<int64_t> result;
  for (int64_t d : perm)
    result.push_back(values[d]);
  return builder.getDenseI64ArrayAttr(result);
}

void Mover::moveAttributes(Operation *op) {
  Builder builder(op->getContext());
  llvm::TypeSwitch<Operation *>(op)
      .Case<ConcatOp, SoftmaxOp, GatherOp>(
          [&](auto o) { o.setAxis(inverse[o.getAxis()]); })
      .Case<ReduceOp>([&](ReduceOp o) {
        SmallVector<int64_t> axes;
        for (int64_t axis : o.getAxes())
          axes.push_back(inverse[axis]);
        llvm::sort(axes);
        o.setAxes(axes);
      })
      .Case<PadOp>([&](PadOp o) {
        o.setLowAttr(permuted(o.getLow(), builder));
        o.setHighAttr(permuted(o.getHigh(), builder));
      })
      .Case<SliceOp>([&](SliceOp o) {
        o.setStartsAttr(permuted(o.getStarts(), builder));
        o.setStepsAttr(permuted(o.getSteps(), builder));
        o.setSizesAttr(permuted(o.getSizes(), builder));
      });
}

/// An operand of an op that is transposed, as that op wants it.
Value Mover::transposed(Value value, Operation *reader) {
  if (typeOf(value).getNumElements() == 1)
    return value; // the same in any order
  Value &known = transposedOf[value];
  if (known)
    return known;
  OpBuilder builder(reader);
  builder.setInsertionPointAfterValue(value);
  Value full = value;
  if (size_t missing = perm.size() - rankOf(value)) {
    Shape shape(missing, 1);
    llvm::append_range(shape, typeOf(value).getShape());
    full = builder.create<ReshapeOp>(
        value.getLoc(),
        RankedTensorType::get(shape, typeOf(value).getElementType()), value);
  }
  return known = builder.create<TransposeOp>(value.getLoc(), full, perm);
}

/// A value as an op wants it that is not transposed.
Value Mover::straight(Value value) {
  if (!ones.contains(value))
    return value;
  Value &known = straightOf[value];
  if (known)
    return known;
  Value moved = transposedOf.lookup(value);
  OpBuilder builder(moved.getContext());
  builder.setInsertionPointAfterValue(moved);
  return known = builder.create<TransposeOp>(value.getLoc(), moved, inverse);
}

Operation *Mover::moveOp(Operation *op) {
  IRMapping map;
  for (Value operand : movedOperands(op))
    map.map(operand, transposed(operand, op));
  OpBuilder builder(op);
  Operation *moved = builder.clone(*op, map);
  moveAttributes(moved);
  auto type = typeOf(op->getResult(0));
  Shape shape;
  for (int64_t d : perm)
    shape.push_back(type.getDimSize(d));
  moved->getResult(0).setType(
      RankedTensorType::get(shape, type.getElementType()));
  return moved;
}

void Mover::rewrite() {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops) {
    Kind kind = kindAt(op);
    if (kind == Kind::Movable && ones.contains(op->getResult(0))) {
      transposedOf[op->getResult(0)] = moveOp(op)->getResult(0);
      continue;
    }
    if (kind == Kind::End && ones.contains(op->getOperand(0))) {
      op->getResult(0).replaceAllUsesWith(
          transposedOf.lookup(op->getOperand(0)));
      continue;
    }
    for (OpOperand &operand : op->getOpOperands())
      operand.set(straight(operand.get()));
    if (kind == Kind::Start)
      transposedOf[op->getResult(0)] = op->getOperand(0);
  }
  for (Operation *op : llvm::reverse(ops))
    if (op->use_empty() && kindAt(op) != Kind::Fixed) {
      if (isa<TransposeOp>(op))
        recordDecision(op, Topic::Fate, "eliminated",
                       "what is around it runs in the other order of "
                       "dimensions");
      op->erase();
    }
}

bool moveTransposes(Block &block, Perm perm) {
  return Mover(block, perm).run();
}

} // namespace pascaline
