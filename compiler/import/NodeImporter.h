// NodeImporter.h - what an operator's import function works with: one node.
//
// Errors stick: after the first one every building function returns a null
// value and the node counts as failed, so a chain of them needs no checks in
// between; a function that looks into a value it has built (shapeOf ...) checks
// it first. The row (OpTable.h) has been checked before the function runs:
// required inputs are there, attributes have the right kind.
#pragma once

#include "compiler/import/Model.h"
#include "compiler/import/Tensors.h"
#include "compiler/ir/Shapes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

namespace pascaline::importer {

class NodeImporter {
public:
  NodeImporter(mlir::OpBuilder &builder, mlir::Location loc, const Node &node,
               int64_t opset, llvm::ArrayRef<mlir::Value> inputs,
               const TensorReader &tensors);

  const Node &node;
  const int64_t opset;
  const TensorReader &tensors;

  //===- Errors
  //------------------------------------------------------------===//

  /// The model breaks the specification; `text` is a sentence whose subject is
  /// the node.
  mlir::LogicalResult invalid(const std::string &text);
  /// The model may be right, but this is not implemented.
  mlir::LogicalResult unsupported(const std::string &text);

  bool failed() const { return problem != Problem::None; }
  bool isUnsupported() const { return problem == Problem::Unsupported; }
  const std::string &problemText() const { return text; }
  /// success unless something has failed.
  mlir::LogicalResult status() const { return mlir::failure(failed()); }

  //===- Inputs and outputs
  //------------------------------------------------===//

  unsigned numInputs() const { return inputs.size(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  mlir::Value input(unsigned i) const { return has(i) ? inputs[i] : nullptr; }
  unsigned numOutputs() const { return node.outputs.size(); }
  /// Whether somebody may read output i.
  bool wants(unsigned i) const {
    return i < node.outputs.size() && !node.outputs[i].empty();
  }
  void setResult(unsigned i, mlir::Value value);
  /// setResult(0, value) and status().
  mlir::LogicalResult done(mlir::Value value);
  mlir::Value result(unsigned i) const { return results[i]; }

  /// The elements of an integer input that must be known now; `what` names it
  /// in the error.
  std::optional<Shape> constantInput(unsigned i, llvm::StringRef what);

  //===- Attributes
  //--------------------------------------------------------===//

  bool hasAttr(llvm::StringRef name) const { return find(name); }
  int64_t intAttr(llvm::StringRef name, int64_t otherwise) const;
  double floatAttr(llvm::StringRef name, double otherwise) const;
  llvm::StringRef stringAttr(llvm::StringRef name,
                             llvm::StringRef otherwise) const;
  std::optional<Shape> intsAttr(llvm::StringRef name) const;
  std::optional<llvm::ArrayRef<float>> floatsAttr(llvm::StringRef name) const;
  const Tensor *tensorAttr(llvm::StringRef name) const;
  /// Of int attributes that only say yes or no.
  bool flagAttr(llvm::StringRef name, bool otherwise = false) const {
    return intAttr(name, otherwise) != 0;
  }

  /// An axis counted from the end made one from the start; `limit` values from
  /// 0 on are allowed (rank, or rank + 1 for places between axes).
  std::optional<int64_t> axis(int64_t value, int64_t limit);
  /// The same for a list without duplicates, in the order given.
  std::optional<Shape> axes(llvm::ArrayRef<int64_t> values, int64_t limit);

  //===- Building
  //----------------------------------------------------------===//

  mlir::OpBuilder &builder;
  const mlir::Location loc;

  /// An op whose type is inferred, folded when its operands are constants.
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    return build<Op>(builder.getNoneType(), std::forward<Args>(args)...);
  }
  /// An op with the result type given.
  template <typename Op, typename... Args>
  mlir::Value createTyped(mlir::RankedTensorType type, Args &&...args) {
    return build<Op>(type, std::forward<Args>(args)...);
  }

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value castTo(mlir::Value x, mlir::Type element);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value slice(mlir::Value x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps,
                    llvm::ArrayRef<int64_t> sizes);
  /// x narrowed to `size` elements from `start` on along one axis.
  mlir::Value sliceAxis(mlir::Value x, int64_t axis, int64_t start,
                        int64_t size, int64_t step = 1);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, int64_t axis);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);
  /// Zero (or `fill`) around x; no count is negative.
  mlir::Value pad(mlir::Value x, llvm::ArrayRef<int64_t> low,
                  llvm::ArrayRef<int64_t> high, mlir::Value fill = {});

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value div(mlir::Value a, mlir::Value b);
  mlir::Value max(mlir::Value a, mlir::Value b);
  mlir::Value min(mlir::Value a, mlir::Value b);
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b);
  mlir::Value reduceSum(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  /// The sum divided by the number of elements, as a multiplication.
  mlir::Value reduceMean(mlir::Value x, llvm::ArrayRef<int64_t> axes);

  /// A rank-0 constant of any number type, or of bool.
  mlir::Value scalar(double value, mlir::Type element);
  /// The same in the element type of `like`.
  mlir::Value scalarLike(double value, mlir::Value like);
  /// A tensor of one value, costing nothing whatever its size.
  mlir::Value splat(double value, mlir::Type element,
                    llvm::ArrayRef<int64_t> shape);
  mlir::Value integers(llvm::ArrayRef<int64_t> values,
                       llvm::ArrayRef<int64_t> shape);
  mlir::Value floats(llvm::ArrayRef<double> values,
                     llvm::ArrayRef<int64_t> shape, mlir::Type element);
  mlir::Value constant(mlir::ElementsAttr value);
  /// 0, 1, 2 ... n - 1 of a type along the last of `rank` axes' place `axis`.
  mlir::Value iota(int64_t n, int64_t axis, int64_t rank, mlir::Type element);

  /// f16 and bf16 as f32, others as they are: composed operators are computed
  /// in f32 and rounded once, at the end, by `narrow`.
  mlir::Value widen(mlir::Value x);
  mlir::Value narrow(mlir::Value x, mlir::Value like);

  /// Whether a tensor of this shape may exist; otherwise an error that says so.
  bool checkSize(llvm::ArrayRef<int64_t> shape);

private:
  enum class Problem { None, Invalid, Unsupported };

  const NodeAttribute *find(llvm::StringRef name) const;
  mlir::Value finish(mlir::OperationState &state);
  void describeVerifierFailure(mlir::Operation *op, llvm::StringRef message);

  template <typename Op, typename... Args>
  mlir::Value build(mlir::Type type, Args &&...args) {
    if (failed())
      return {};
    mlir::OperationState state(loc, Op::getOperationName());
    Op::build(builder, state, type, std::forward<Args>(args)...);
    // The generated builders abort the process when inference fails.
    if constexpr (Op::template hasTrait<mlir::InferTypeOpInterface::Trait>()) {
      llvm::SmallVector<mlir::Type, 1> types;
      std::string message;
      if (mlir::failed(capture(message, [&] {
            return Op::inferReturnTypes(
                builder.getContext(), loc, state.operands,
                state.attributes.getDictionary(builder.getContext()),
                state.getRawProperties(), state.regions, types);
          }))) {
        (void)invalid(message);
        return {};
      }
      state.types.assign(types.begin(), types.end());
    }
    return finish(state);
  }

  /// Runs `body`; `message` is the first diagnostic it emits.
  mlir::LogicalResult capture(std::string &message,
                              llvm::function_ref<mlir::LogicalResult()> body);

  llvm::SmallVector<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> results;
  Problem problem = Problem::None;
  std::string text;
};

/// Shape, rank and element type of a tensor value.
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
}
inline int64_t rankOf(mlir::Value value) {
  return static_cast<int64_t>(shapeOf(value).size());
}
inline mlir::Type elementOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType()).getElementType();
}
inline bool isFloat(mlir::Value value) {
  return mlir::isa<mlir::FloatType>(elementOf(value));
}
inline bool isBool(mlir::Value value) { return elementOf(value).isInteger(1); }

/// a * b, or nothing when it overflows.
std::optional<int64_t> checkedProduct(int64_t a, int64_t b);

} // namespace pascaline::importer
