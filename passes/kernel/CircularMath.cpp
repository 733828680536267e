// CircularMath.cpp - sine, cosine, arc tangent and remainder; see ScalarMath.h.

#include "passes/kernel/ScalarMath.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace pascaline {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

//===- Sine and cosine
//------------------------------------------------------===//

/// The f32 argument times 2/pi in fixed point, from the bits of 2/pi that
/// matter for its exponent (M. Payne and R. Hanek, "Radian reduction for
/// trigonometric functions", 1983).
ScalarMath::Rounded ScalarMath::reduceLargeQuarter(Value x) {
  // 2/pi / 4, so that two bits before the point are kept.
  static const uint32_t words[] = {0x00000000, 0x28be60db, 0x9391054a,
                                   0x7f09d5f4, 0x7d4d3770, 0x36d8a566,
                                   0x4f10e410, 0x7f9458ea};
  Type i64 = getI64Type();
  auto i32c = [&](int64_t v) -> Value {
    return create<arith::ConstantIntOp>(v, 32);
  };
  auto i64c = [&](int64_t v) -> Value {
    return create<arith::ConstantIntOp>(v, 64);
  };
  auto wide = [&](Value v) -> Value { return create<arith::ExtUIOp>(i64, v); };
  Value image = bits(x);
  Value fraction = create<arith::OrIOp>(create<arith::ShLIOp>(image, i32c(8)),
                                        i32c(INT32_MIN));
  Value exponent = create<arith::SubIOp>(
      create<arith::AndIOp>(create<arith::ShRUIOp>(image, i32c(23)), i32c(255)),
      i32c(126));
  Value first = create<arith::ShRUIOp>(exponent, i32c(5));
  Value shift = create<arith::AndIOp>(exponent, i32c(31));
  // words[first + k] without indexed memory; first is 0 to 4.
  auto word = [&](int k) {
    Value result = i32c(words[k]);
    for (int i = 1; i <= 4 && k + i < 8; ++i)
      result = select(create<arith::CmpIOp>(Whole::eq, first, i32c(i)),
                      i32c(int32_t(words[k + i])), result);
    return result;
  };
  // Each shifted word takes its low bits from the next.
  auto shifted = [&](int k) {
    Value pair = create<arith::OrIOp>(
        create<arith::ShLIOp>(wide(word(k)), i64c(32)), wide(word(k + 1)));
    Value moved = create<arith::ShLIOp>(pair, wide(shift));
    return create<arith::ShRUIOp>(moved, i64c(32)).getResult();
  };
  Value m = wide(fraction);
  Value low =
      create<arith::ShRUIOp>(create<arith::MulIOp>(m, shifted(2)), i64c(32));
  Value middle =
      create<arith::AddIOp>(create<arith::MulIOp>(m, shifted(1)), low);
  Value top =
      create<arith::ShLIOp>(create<arith::MulIOp>(m, shifted(0)), i64c(32));
  Value product = create<arith::AddIOp>(top, middle);
  // Round to the nearest quarter: the rest becomes a signed fraction.
  Value rounded = create<arith::AddIOp>(product, i64c(int64_t(1) << 61));
  Value quarter = create<arith::ShRUIOp>(rounded, i64c(62));
  Value rest =
      create<arith::SubIOp>(product, create<arith::ShLIOp>(quarter, i64c(62)));
  Value real = create<arith::SIToFPOp>(getF64Type(), rest);
  Value scale =
      create<arith::ConstantOp>(getF64FloatAttr(std::ldexp(M_PI_2, -62)));
  Value r = create<arith::TruncFOp>(type, create<arith::MulFOp>(real, scale));
  Value whole = create<arith::TruncIOp>(getI32Type(), quarter);
  Value isNegative = compare(Real::OLT, x, 0);
  Value negated = create<arith::SubIOp>(i32c(0), whole);
  return {select(isNegative, neg(r), r), select(isNegative, negated, whole)};
}

ScalarMath::Rounded ScalarMath::reduceQuarter(Value x) {
  Rounded q = roundProduct(x, M_2_PI);
  if (!isSingle()) {
    // pi/2 in three pieces (fdlibm's e_rem_pio2.c), fused.
    Value r = fma(q.real, -1.57079632679489655800e+00, x);
    r = fma(q.real, -6.12323399573676603587e-17, r);
    return {fma(q.real, 1.49738490859168400000e-33, r), q.whole};
  }
  // N. Juffa, "sinf and cosf", public domain notes: good below 71476.
  Value r = fma(q.real, -1.57079601e+00, x);
  r = fma(q.real, -3.13916473e-07, r);
  r = fma(q.real, -5.39030253e-15, r);
  Value isLarge = compare(Real::OGT, abs(x), 71476);
  auto chosen = create<scf::IfOp>(TypeRange{type, getI32Type()}, isLarge,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(*this);
    setInsertionPointToStart(chosen.thenBlock());
    Rounded large = reduceLargeQuarter(x);
    create<scf::YieldOp>(ValueRange{large.real, large.whole});
    setInsertionPointToStart(chosen.elseBlock());
    create<scf::YieldOp>(ValueRange{r, q.whole});
  }
  return {chosen.getResult(0), chosen.getResult(1)};
}

/// Both series are cheap beside the reduction; the multiple of pi/2 chooses.
Value ScalarMath::circular(Value x, int64_t quarter) {
  Rounded reduced = reduceQuarter(x);
  Value r = reduced.real, s = mul(r, r);
  Value which = create<arith::AddIOp>(reduced.whole, integer(quarter));
  SmallVector<double> sines, cosines;
  if (isSingle()) {
    sines = {-1.66666672e-1, 8.33338592e-3, -1.98559923e-4, 2.86567956e-6};
    cosines = {1, -5.00000000e-1, 4.16666567e-2, -1.38877297e-3, 2.44677067e-5};
  } else {
    // Taylor's; the sine's first term is r itself.
    double term = 1;
    for (int n = 0; n <= 17; ++n, term /= n) {
      double signedTerm = n % 4 < 2 ? term : -term;
      if (n % 2 == 0)
        cosines.push_back(signedTerm);
      else if (n > 1)
        sines.push_back(signedTerm);
    }
  }
  Value sine = fma(polynomial(s, sines), mul(r, s), r);
  Value cosine = polynomial(s, cosines);
  auto bit = [&](int64_t mask) -> Value {
    Value masked = create<arith::AndIOp>(which, integer(mask));
    return create<arith::CmpIOp>(Whole::ne, masked, integer(0));
  };
  Value result = select(bit(1), cosine, sine);
  result = select(bit(2), neg(result), result);
  if (quarter == 0) // keeps the sign of zero
    result = select(compare(Real::OEQ, x, 0), x, result);
  // Infinity has no place on the circle; NaN stays.
  return select(compare(Real::OLT, abs(x), kInfinity), result, number(kNan));
}

//===- Arc tangent
//----------------------------------------------------------===//

Value ScalarMath::atan(Value x) {
  static const double single[] = {
      -0.333333343, 0.199999496,   -0.142840043, 0.110882618,    -0.089318268,
      0.0703191459, -0.0489605144, 0.0263050012, -0.00914462935, 0.00148869189};
  static const double twice[] = {
      -0.33333333333333331,    0.19999999999999554,   -0.14285714285648404,
      0.11111111107234799,     -0.090909089695574027, 0.076923053546786552,
      -0.066666364357776925,   0.058820749563712943,  -0.052612657357094542,
      0.04752086773576656,     -0.04308119655330471,  0.038726402140426323,
      -0.033750132001619734,   0.027567942297344678,  -0.020238706986393514,
      0.012756172907694298,    -0.006575683344151699, 0.0026229778919060892,
      -0.00075184725269738216, 0.0001368724853148122, -1.1832505417555692e-05};
  Value t = abs(x);
  Value isLarge = compare(Real::OGT, t, 1);
  Value z = select(isLarge, div(number(1), t), t);
  Value s = mul(z, z);
  Value p = isSingle() ? polynomial(s, single) : polynomial(s, twice);
  Value near = fma(mul(p, s), z, z);
  // pi/2 as a product keeps more bits than one number would.
  Value far = isSingle() ? fma(number(0.93282184640716537),
                               number(1.6839188885261840), neg(near))
                         : sub(number(M_PI_2),
                               sub(near, number(6.123233995736766e-17)));
  return withSign(select(isLarge, far, near), x);
}

//===- Remainder
//------------------------------------------------------------===//

/// a - trunc(a / b) b, exactly: long division in f64, some 27 bits a step. A
/// partial quotient may be off by one, which one addition mends; every other
/// operation is exact.
Value ScalarMath::fmod(Value a, Value b) {
  if (isSingle()) {
    ScalarMath wide(getLoc(), *this, getF64Type());
    Value result = wide.fmod(create<arith::ExtFOp>(getF64Type(), a),
                             create<arith::ExtFOp>(getF64Type(), b));
    return create<arith::TruncFOp>(type, result);
  }
  constexpr int64_t kStep = 27, kMostScale = 1000;
  Value dividend = abs(a), divisor = abs(b);
  auto exponent = [&](Value v) -> Value {
    return create<arith::ShRUIOp>(bits(v), integer(52));
  };
  Value defined = both(compare(Real::OLT, dividend, kInfinity),
                       compare(Real::OGT, divisor, 0));
  // Without a defined result, or with an infinite divisor, no step is taken.
  Value start = select(defined, dividend, number(0));
  auto loop = create<scf::WhileOp>(
      TypeRange{type}, ValueRange{start},
      [&](OpBuilder &, Location, ValueRange rest) {
        create<scf::ConditionOp>(compare(Real::OGE, rest[0], divisor), rest);
      },
      [&](OpBuilder &, Location, ValueRange rest) {
        Value r = rest[0];
        Value distance = create<arith::SubIOp>(
            create<arith::SubIOp>(exponent(r), exponent(divisor)),
            integer(kStep));
        distance = create<arith::MaxSIOp>(distance, integer(0));
        // In two factors: one power of two does not reach over all exponents.
        Value most = integer(kMostScale);
        Value scale = create<arith::MinSIOp>(distance, most);
        Value beyond = create<arith::MinSIOp>(
            create<arith::SubIOp>(distance, scale), most);
        Value t = mul(mul(divisor, powerOfTwo(scale)), powerOfTwo(beyond));
        Value quotient = trunc(div(r, t));
        Value next = fma(neg(quotient), t, r);
        next = select(compare(Real::OLT, next, 0), add(next, t), next);
        create<scf::YieldOp>(next);
      });
  Value result = withSign(loop.getResult(0), a);
  return select(defined, result, number(kNan));
}

} // namespace pascaline
