// AffineIndex.cpp - see the header.

#include "compiler/kernels/AffineIndex.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace pascaline {

namespace {
int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

void appendKey(std::vector<int64_t> &key, const AffineIndex &index) {
  key.push_back(index.constant);
  for (auto [variable, coefficient] : index.terms) {
    key.push_back(variable);
    key.push_back(coefficient);
  }
}
} // namespace

AffineIndex AffineIndex::operator+(const AffineIndex &other) const {
  AffineIndex sum(constant + other.constant);
  auto a = terms.begin(), b = other.terms.begin();
  while (a != terms.end() || b != other.terms.end()) {
    if (b == other.terms.end() || (a != terms.end() && a->first < b->first)) {
      sum.terms.push_back(*a++);
    } else if (a == terms.end() || b->first < a->first) {
      sum.terms.push_back(*b++);
    } else {
      if (int64_t coefficient = a->second + b->second)
        sum.terms.push_back({a->first, coefficient});
      ++a, ++b;
    }
  }
  return sum;
}

AffineIndex AffineIndex::operator*(int64_t factor) const {
  if (factor == 0)
    return AffineIndex(0);
  AffineIndex product(constant * factor);
  for (auto [variable, coefficient] : terms)
    product.terms.push_back({variable, coefficient * factor});
  return product;
}

AffineIndex IndexBuilder::variable(Value value, int64_t extent,
                                   int64_t multiple) {
  if (extent == 1)
    return AffineIndex(0);
  auto [entry, isNew] = known.try_emplace({value.getAsOpaquePointer(), extent},
                                          unsigned(variables.size()));
  if (isNew)
    variables.push_back({value, extent, multiple});
  AffineIndex index;
  index.terms.push_back({entry->second, 1});
  return index;
}

std::pair<int64_t, int64_t>
IndexBuilder::range(const AffineIndex &index) const {
  int64_t low = index.constant, high = index.constant;
  for (auto [number, coefficient] : index.terms) {
    const Variable &v = variables[number];
    int64_t largest = (v.extent - 1) / v.multiple * v.multiple;
    (coefficient > 0 ? high : low) += coefficient * largest;
  }
  return {low, high};
}

int64_t IndexBuilder::multipleOf(const AffineIndex &index) const {
  int64_t factor = std::abs(index.constant);
  for (auto [number, coefficient] : index.terms)
    factor = std::gcd(factor, coefficient * variables[number].multiple);
  return factor;
}

AffineIndex IndexBuilder::derive(bool quotient, const AffineIndex &index,
                                 int64_t divisor) {
  std::vector<int64_t> key = {quotient, divisor};
  appendKey(key, index);
  auto known = memo.derived.find(key);
  unsigned number;
  if (known != memo.derived.end()) {
    number = known->second;
  } else {
    int64_t high = range(index).second;
    Variable made{};
    if (quotient) {
      Value by = builder.create<arith::ConstantIntOp>(loc, divisor, 32);
      made.value = builder.create<arith::DivUIOp>(loc, materialize(index), by);
      made.extent = high / divisor + 1;
      made.multiple = 1;
    } else {
      AffineIndex whole = derive(true, index, divisor) * -divisor;
      made.value = materialize(index + whole);
      made.extent = std::min(divisor, high + 1);
      made.multiple = std::gcd(multipleOf(index), divisor);
    }
    number = variables.size();
    variables.push_back(made);
    memo.derived[key] = number;
  }
  AffineIndex result;
  result.terms.push_back({number, 1});
  return result;
}

struct IndexBuilder::Split {
  AffineIndex quotient, rest;
};

IndexBuilder::Split IndexBuilder::split(const AffineIndex &index,
                                        int64_t divisor, bool wantRest) {
  Split result;
  int64_t whole = floorDivide(index.constant, divisor);
  result.quotient.constant = whole;
  AffineIndex rest(index.constant - whole * divisor);
  for (auto [number, coefficient] : index.terms) {
    bool exact = coefficient % divisor == 0;
    (exact ? result.quotient : rest)
        .terms.push_back({number, exact ? coefficient / divisor : coefficient});
  }
  auto [low, high] = range(rest);
  if (low < 0) { // only the whole is promised not to be negative
    rest = index;
    result.quotient = AffineIndex(0);
    std::tie(low, high) = range(rest);
  }
  int64_t floor = floorDivide(low, divisor);
  if (floor == floorDivide(high, divisor)) {
    result.quotient.constant += floor;
    result.rest = rest + AffineIndex(-floor * divisor);
    return result;
  }

  // Let g divide every term of the rest and the divisor: what the constant
  // exceeds a multiple of g by cannot change the quotient, so neighbours share
  // one division: (4 t + 3) / 12 = (4 t) / 12 = t / 3.
  int64_t g = divisor, common = divisor;
  for (auto [number, coefficient] : rest.terms) {
    g = std::gcd(g, coefficient * variables[number].multiple);
    common = std::gcd(common, coefficient);
  }
  int64_t excess = rest.constant - floorDivide(rest.constant, g) * g;
  rest.constant -= excess;
  common = std::gcd(common, rest.constant);
  rest.constant /= common;
  for (auto &term : rest.terms)
    term.second /= common;
  result.quotient =
      result.quotient + derive(/*quotient=*/true, rest, divisor / common);
  if (wantRest && g == divisor) // every term is a multiple
    result.rest = AffineIndex(excess);
  else if (wantRest)
    result.rest = derive(/*quotient=*/false, rest, divisor / common) * common +
                  AffineIndex(excess);
  return result;
}

AffineIndex IndexBuilder::divide(const AffineIndex &index, int64_t divisor) {
  return split(index, divisor, /*wantRest=*/false).quotient;
}

AffineIndex IndexBuilder::modulo(const AffineIndex &index, int64_t divisor) {
  return split(index, divisor, /*wantRest=*/true).rest;
}

AffineIndex IndexBuilder::within(const AffineIndex &index, int64_t extent) {
  auto [low, high] = range(index);
  if (low >= 0 && high < extent)
    return index;
  return variable(materialize(index), extent, 1);
}

Value IndexBuilder::materialize(const AffineIndex &index) {
  auto constant = [&](int64_t value) -> Value {
    return builder.create<arith::ConstantIntOp>(loc, value, 32);
  };
  if (index.isConstant())
    return constant(index.constant);
  std::vector<int64_t> key;
  appendKey(key, index);
  auto known = memo.emitted.find(key);
  if (known != memo.emitted.end())
    return known->second;
  Value sum;
  if (index.constant != 0) {
    // The part without the constant is what neighbours have in common.
    sum = builder.create<arith::AddIOp>(
        loc, materialize(index + AffineIndex(-index.constant)),
        constant(index.constant));
  } else {
    for (auto [number, coefficient] : index.terms) {
      Value term = variables[number].value;
      if (coefficient != 1)
        term = builder.create<arith::MulIOp>(loc, term, constant(coefficient));
      sum = sum ? Value(builder.create<arith::AddIOp>(loc, sum, term)) : term;
    }
  }
  memo.emitted[key] = sum;
  return sum;
}

} // namespace pascaline
