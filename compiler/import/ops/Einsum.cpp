// Einsum.cpp - sums of products by index letters.
//
// Operands are contracted from left to right. A pair becomes one batched matrix
// product: letters of both that are still needed are its batch, letters of both
// that are not are summed, the rest are rows and columns. An ellipsis stands
// for dimensions of its own, counted from the right and broadcast.
#include "compiler/import/OpTable.h"
#include "compiler/import/Text.h"
#include "compiler/import/ops/Common.h"
#include "compiler/ir/Dialect.h"
#include "compiler/ir/Types.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace pascaline::importer {
namespace {

// A letter, or kEllipsis + the place from the right.
using Label = int;
using Labels = llvm::SmallVector<Label>;
constexpr Label kEllipsis = 256;

struct Operand {
  Value value;
  Labels labels;
};

class Einsum {
public:
  explicit Einsum(NodeImporter &n) : n(n) {}

  LogicalResult run() {
    if (!readEquation())
      return failure();
    Operand result = operands[0];
    for (size_t i = 1; i < operands.size() && !n.failed(); ++i) {
      // Letters that the output or an operand to come still asks for.
      Labels needed = output;
      for (size_t j = i + 1; j < operands.size(); ++j)
        needed.append(operands[j].labels);
      result = multiply(result, operands[i], needed);
    }
    result = sumBut(result, output);
    if (n.failed())
      return failure();
    return n.done(arrange(result, output).value);
  }

private:
  LogicalResult refuse(const std::string &text) {
    return n.invalid(cat("has equation ", quoted(equation), ": ", text));
  }

  //===- The equation
  //------------------------------------------------------===//

  // The labels of one term. `rank` says how many an ellipsis stands for; the
  // output's takes all.
  bool readTerm(StringRef term, std::optional<int64_t> rank, Labels &labels) {
    if (term.count("...") > 1) {
      (void)refuse("a term has two ellipses");
      return false;
    }
    auto letters = static_cast<int64_t>(term.size()) -
                   3 * static_cast<int64_t>(term.contains("..."));
    int64_t hidden = rank ? *rank - letters : ellipsisRank;
    if (rank && (hidden < 0 || (hidden > 0 && !term.contains("...")))) {
      (void)refuse(cat(letters, " letters for an operand of rank ", *rank));
      return false;
    }
    while (!term.empty()) {
      if (term.consume_front("...")) {
        for (int64_t i = hidden; i-- > 0;)
          labels.push_back(kEllipsis + static_cast<Label>(i));
        if (rank)
          ellipsisRank = std::max(ellipsisRank, hidden);
        continue;
      }
      if (!llvm::isAlpha(term.front())) {
        (void)refuse(cat(quoted(term.take_front(1)), " is no letter"));
        return false;
      }
      labels.push_back(term.front());
      term = term.drop_front();
    }
    return true;
  }

  bool readEquation() {
    for (char c : n.stringAttr("equation", ""))
      if (c != ' ')
        equation.push_back(c);
    auto [left, right] = StringRef(equation).split("->");
    llvm::SmallVector<StringRef> terms;
    left.split(terms, ',');
    if (terms.size() != n.numInputs()) {
      (void)refuse(cat(terms.size(), " terms for ", n.numInputs(), " inputs"));
      return false;
    }
    for (unsigned i = 0; i < terms.size(); ++i) {
      Operand &operand = operands.emplace_back();
      operand.value = n.widen(n.input(i));
      if (!readTerm(terms[i], rankOf(n.input(i)), operand.labels))
        return false;
    }
    bool implied = !StringRef(equation).contains("->");
    if (implied ? !implyOutput(terms) : !readTerm(right, {}, output))
      return false;
    return checkOutput() && fitSizes();
  }

  // Without an arrow: the ellipsis, then the letters that occur once, sorted.
  bool implyOutput(ArrayRef<StringRef> terms) {
    for (int64_t i = ellipsisRank; i-- > 0;)
      output.push_back(kEllipsis + static_cast<Label>(i));
    for (Label letter = 'A'; letter <= 'z'; ++letter) {
      size_t count = 0;
      for (StringRef term : terms)
        count += term.count(static_cast<char>(letter));
      if (count == 1)
        output.push_back(letter);
    }
    return true;
  }

  bool checkOutput() {
    Labels seen;
    for (Label label : output) {
      bool known = llvm::any_of(operands, [&](const Operand &operand) {
        return llvm::is_contained(operand.labels, label);
      });
      if (!known || llvm::is_contained(seen, label)) {
        (void)refuse(known ? "the output names a letter twice"
                           : "the output names a letter of no input");
        return false;
      }
      seen.push_back(label);
    }
    return true;
  }

  // One size a label, diagonals taken, 1 under an ellipsis broadcast.
  bool fitSizes() {
    for (Operand &operand : operands)
      if (!takeDiagonals(operand))
        return false;
    llvm::SmallVector<std::pair<Label, int64_t>> sizes;
    for (Operand &operand : operands)
      for (auto [label, size] :
           llvm::zip(operand.labels, shapeOf(operand.value))) {
        auto it = llvm::find_if(
            sizes, [&, l = label](auto &entry) { return entry.first == l; });
        if (it == sizes.end()) {
          sizes.emplace_back(label, size);
        } else if (it->second != size) {
          if (label < kEllipsis || (it->second != 1 && size != 1)) {
            (void)refuse(cat("a letter is ", it->second, " in one operand and ",
                             size, " in another"));
            return false;
          }
          it->second = std::max(it->second, size);
        }
      }
    for (Operand &operand : operands) {
      Shape shape;
      for (Label label : operand.labels)
        for (auto [known, size] : sizes)
          if (known == label)
            shape.push_back(size);
      operand.value = n.broadcast(operand.value, shape);
    }
    return !n.failed();
  }

  // x[.. i .. i ..] becomes x[.. i ..]: the two dimensions side by side at the
  // end, as one, are read with a step of their size + 1.
  bool takeDiagonals(Operand &operand) {
    for (size_t i = 0; i < operand.labels.size(); ++i)
      for (size_t j = i + 1; j < operand.labels.size(); ++j) {
        if (operand.labels[i] != operand.labels[j])
          continue;
        Shape shape(shapeOf(operand.value));
        int64_t size = shape[i];
        if (shape[j] != size) {
          (void)refuse(
              cat("a letter is ", size, " and ", shape[j], " in one operand"));
          return false;
        }
        Shape perm, joined;
        Labels rest;
        for (size_t k = 0; k < shape.size(); ++k)
          if (k != i && k != j) {
            perm.push_back(static_cast<int64_t>(k));
            joined.push_back(shape[k]);
            rest.push_back(operand.labels[k]);
          }
        perm.push_back(static_cast<int64_t>(i));
        perm.push_back(static_cast<int64_t>(j));
        joined.push_back(size * size);
        rest.push_back(operand.labels[i]);
        Value flat = n.reshape(n.transpose(operand.value, perm), joined);
        operand.value = n.sliceAxis(
            flat, static_cast<int64_t>(joined.size()) - 1, 0, size, size + 1);
        operand.labels = rest;
        if (n.failed())
          return false;
        j = i; // the labels moved: look at this place again
      }
    return true;
  }

  //===- Contraction
  //-------------------------------------------------------===//

  Operand arrange(const Operand &operand, ArrayRef<Label> order) {
    Shape perm;
    for (Label label : order)
      perm.push_back(llvm::find(operand.labels, label) -
                     operand.labels.begin());
    return {n.transpose(operand.value, perm), Labels(order)};
  }

  // Sums every label that is not among `kept`.
  Operand sumBut(const Operand &operand, ArrayRef<Label> kept) {
    if (n.failed())
      return operand;
    Shape axes, shape;
    Labels labels;
    for (auto [i, label] : llvm::enumerate(operand.labels)) {
      if (!llvm::is_contained(kept, label)) {
        axes.push_back(static_cast<int64_t>(i));
        continue;
      }
      labels.push_back(label);
      shape.push_back(shapeOf(operand.value)[i]);
    }
    return {n.reshape(n.reduceSum(operand.value, axes), shape), labels};
  }

  int64_t sizeOf(const Operand &operand, ArrayRef<Label> labels, Shape &shape) {
    int64_t size = 1;
    for (Label label : labels) {
      size_t place = llvm::find(operand.labels, label) - operand.labels.begin();
      shape.push_back(shapeOf(operand.value)[place]);
      size *= shape.back();
    }
    return size;
  }

  Operand multiply(Operand a, Operand b, ArrayRef<Label> needed) {
    Labels keptOfA(needed), keptOfB(needed);
    keptOfA.append(b.labels);
    keptOfB.append(a.labels);
    a = sumBut(a, keptOfA);
    b = sumBut(b, keptOfB);
    if (n.failed())
      return a;
    Labels batch, inner, rows, columns;
    for (Label label : a.labels) {
      if (!llvm::is_contained(b.labels, label))
        rows.push_back(label);
      else if (llvm::is_contained(needed, label))
        batch.push_back(label);
      else
        inner.push_back(label);
    }
    for (Label label : b.labels)
      if (!llvm::is_contained(a.labels, label))
        columns.push_back(label);

    Shape shape, ignored;
    int64_t batches = sizeOf(a, batch, shape), m = sizeOf(a, rows, shape),
            columnCount = sizeOf(b, columns, shape),
            k = sizeOf(a, inner, ignored);
    Labels left(batch), right(batch), result(batch);
    left.append(rows);
    left.append(inner);
    right.append(inner);
    right.append(columns);
    result.append(rows);
    result.append(columns);
    Value x = n.reshape(arrange(a, left).value, {batches, m, k});
    Value y = n.reshape(arrange(b, right).value, {batches, k, columnCount});
    // Nothing to sum over is a product of elements, better left pointwise.
    Value product = inner.empty() ? n.mul(x, y) : contract(n, x, y);
    return {n.failed() ? Value() : n.reshape(product, shape), result};
  }

  NodeImporter &n;
  std::string equation;
  std::vector<Operand> operands;
  Labels output;
  int64_t ellipsisRank = 0;
};

LogicalResult importEinsum(NodeImporter &n) {
  Type element = elementOf(n.input(0));
  for (unsigned i = 0; i < n.numInputs(); ++i) {
    if (!n.has(i))
      return n.invalid(cat("leaves input ", i, " out"));
    if (elementOf(n.input(i)) != element || isBool(n.input(i)))
      return n.invalid("does not multiply " + typeText(n.input(0).getType()) +
                       " and " + typeText(n.input(i).getType()));
  }
  if (failed(Einsum(n).run()))
    return failure();
  return n.done(n.narrow(n.result(0), n.input(0)));
}

const OpRow kRows[] = {
    {"Einsum", 12, {1, kAny}, {1, 1}, "equation=s!", importEinsum},
};

} // namespace

ArrayRef<OpRow> einsumRows() { return kRows; }

} // namespace pascaline::importer
