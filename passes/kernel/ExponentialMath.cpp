// ExponentialMath.cpp - exp, log, pow, tanh and erf; see ScalarMath.h.

#include "passes/kernel/ScalarMath.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace pascaline {

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// e^x = 2^i e^f with i = round(x / ln 2), |f| <= ln 2 / 2. The power of two is
/// applied in halves, so that neither overflows before the result does, and a
/// denormal result is rounded once. f32 polynomial: N. Juffa, "expf", public
/// domain notes on CUDA math; f64: Taylor.
Value ScalarMath::exp(Value x) {
  // Beyond these the result is infinity or zero anyway; NaN passes.
  Value high = number(pick(89.5, 710.5)), low = number(pick(-105, -746));
  x = select(compare(Real::OGT, x, high), high, x);
  x = select(compare(Real::OLT, x, low), low, x);
  Rounded i = roundProduct(x, M_LOG2E);
  // ln 2 in two pieces; products with the first are exact.
  Value f = fma(i.real, pick(-6.93145752e-1, -6.93147180369123816490e-1), x);
  f = fma(i.real, pick(-1.42860677e-6, -1.90821492927058770002e-10), f);
  SmallVector<double> c;
  if (isSingle()) {
    c = {1,
         1,
         4.99999851e-1,
         1.66664720e-1,
         4.16695364e-2,
         8.37312452e-3,
         1.37805939e-3};
  } else {
    double term = 1;
    for (int n = 0; n <= 13; ++n, term /= n)
      c.push_back(term);
  }
  Value result = polynomial(f, c);
  Value half = create<arith::ShRSIOp>(i.whole, integer(1));
  result = mul(result, powerOfTwo(half));
  return mul(result, powerOfTwo(create<arith::SubIOp>(i.whole, half)));
}

/// x = 2^e m with m in [2/3, 4/3): log x = e ln 2 + log m. For f64 after
/// fdlibm's e_log.c (Sun Microsystems, freely usable), with Taylor's series of
/// atanh.
Value ScalarMath::log(Value x) {
  double tiny = pick(std::numeric_limits<float>::min(),
                     std::numeric_limits<double>::min());
  int mantissa = isSingle() ? 23 : 52;
  double scale = std::ldexp(1.0, mantissa);
  Value isTiny = compare(Real::OLT, x, tiny);
  Value a = select(isTiny, mul(x, number(scale)), x);
  int64_t twoThirds = isSingle() ? 0x3f2aaaab : 0x3fe5555555555555;
  Value e =
      create<arith::AndIOp>(create<arith::SubIOp>(bits(a), integer(twoThirds)),
                            integer(-(int64_t(1) << mantissa)));
  Value f = sub(fromBits(create<arith::SubIOp>(bits(a), e)), number(1));
  Value power = create<arith::SIToFPOp>(
      type, create<arith::ShRSIOp>(e, integer(mantissa)));
  power = add(power, select(isTiny, number(-mantissa), number(0)));

  Value result;
  if (isSingle()) {
    // log(1 + f) = f - f^2 / 2 + f^3 P(f)
    Value p = polynomial(f, {0.333333343, -0.249999449, 0.199999481,
                             -0.166733161, 0.142918676, -0.122887217,
                             0.109156549, -0.124222003, 0.113306172});
    Value square = mul(f, f);
    result = fma(fma(p, f, number(-0.5)), square, f);
    result = fma(power, M_LN2, result);
  } else {
    // With s = f / (2 + f): log(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R(s^2)))
    Value s = div(f, add(f, number(2)));
    Value z = mul(s, s);
    SmallVector<double> c;
    for (int n = 1; n <= 11; ++n)
      c.push_back(2.0 / (2 * n + 1));
    Value r = mul(polynomial(z, c), z);
    Value half = mul(mul(f, f), number(0.5));
    Value low = fma(power, 1.90821492927058770002e-10, mul(s, add(half, r)));
    result = sub(f, sub(half, low));
    // 6.93147180369123816490e-01 has trailing zeros: the product is exact.
    result = fma(power, 6.93147180369123816490e-1, result);
  }
  result = select(compare(Real::OEQ, x, kInfinity), x, result);
  result = select(compare(Real::OEQ, x, 0), number(-kInfinity), result);
  return select(compare(Real::ULT, x, 0), number(kNan), result);
}

/// C's pow. Through f64 for f32: the product must keep the result's bits and
/// those of its exponent.
Value ScalarMath::pow(Value base, Value exponent) {
  Value magnitude;
  if (isSingle()) {
    ScalarMath wide(getLoc(), *this, getF64Type());
    Value a = create<arith::ExtFOp>(getF64Type(), abs(base));
    Value b = create<arith::ExtFOp>(getF64Type(), exponent);
    magnitude =
        create<arith::TruncFOp>(type, wide.exp(wide.mul(b, wide.log(a))));
  } else {
    magnitude = exp(mul(exponent, log(abs(base))));
  }
  Value isWhole = compare(Real::OEQ, trunc(exponent), exponent);
  Value half = mul(exponent, number(0.5));
  Value isOdd = both(isWhole, compare(Real::UNE, trunc(half), half));
  Value isNegative = create<arith::CmpIOp>(Whole::slt, bits(base), integer(0));
  Value result = select(both(isNegative, isOdd), neg(magnitude), magnitude);
  // A negative finite base has no power that is not whole.
  Value undefined = both(
      both(compare(Real::OLT, base, 0), compare(Real::OGT, base, -kInfinity)),
      both(compare(Real::UNE, trunc(exponent), exponent),
           compare(Real::OLT, abs(exponent), kInfinity)));
  result = select(undefined, number(kNan), result);
  Value endless = compare(Real::OEQ, abs(exponent), kInfinity);
  Value unit = both(compare(Real::OEQ, abs(base), 1), endless);
  Value one = create<arith::OrIOp>(
      create<arith::OrIOp>(unit, compare(Real::OEQ, base, 1)),
      compare(Real::OEQ, exponent, 0));
  return select(one, number(1), result);
}

/// An odd polynomial near zero, 1 - 2 / (e^2x + 1) further out.
Value ScalarMath::tanh(Value x) {
  static const double single[] = {-0.333333313, 0.133331135, -0.0539094284,
                                  0.0213093888, -0.00661022775};
  static const double twice[] = {
      -0.33333333333333331,   0.13333333333333311,     -0.053968253968220373,
      0.021869488534073906,   -0.0088632354631467992,  0.0035921267699626346,
      -0.0014558190971513511, 0.00058990529694927327,  -0.00023847272480152521,
      9.455133052924858e-05,  -3.3720801120463162e-05, 7.8742743453444186e-06};
  Value t = abs(x), s = mul(t, t);
  Value p = isSingle() ? polynomial(s, single) : polynomial(s, twice);
  Value near = fma(mul(p, s), t, t);
  Value far = sub(number(1), div(number(2), add(exp(add(t, t)), number(1))));
  return withSign(select(compare(Real::OLT, t, 0.55), near, far), x);
}

Value ScalarMath::erf(Value x) {
  Value t = abs(x), s = mul(x, x);
  if (isSingle()) {
    // N. Juffa, "erff", public domain notes on CUDA math.
    Value r = fma(t, -1.72853470e-5, number(3.83197126e-4));
    Value u = fma(t, -3.88396438e-3, number(2.42546219e-2));
    r = fma(r, s, u);
    r = fma(r, t, number(-1.06777877e-1));
    r = fma(r, t, number(-6.34846687e-1));
    r = fma(r, t, number(-1.28717512e-1));
    r = fma(r, t, neg(t));
    Value far = withSign(sub(number(1), exp(r)), x);
    Value p = polynomial(s, {1.28379166e-1, -3.76125336e-1, 1.12819925e-1,
                             -2.67681349e-2, 4.99119423e-3, -5.96761703e-4});
    return select(compare(Real::OGT, t, 0.927734375), far, fma(p, x, x));
  }
  Value p = polynomial(s, {0.12837916709551259, -0.37612638903183754,
                           0.11283791670955121, -0.02686617064512984,
                           0.0052239776254232985, -0.00085483270219348297,
                           0.00012055332902888736, -1.4925647567519332e-05,
                           1.6462045441468418e-06, -1.6364642158167616e-07,
                           1.4792401209404813e-08, -1.216456005728345e-09,
                           8.7090451290531062e-11, -4.2309458242953377e-12});
  Value near = fma(p, x, x);
  // erfc(t) = e^(-t t) Q((t - 4) / (t + 4)) / (1 + 2 t), for t in [1, 6].
  Value inside = select(compare(Real::OGT, t, 6), number(6), t);
  Value q = polynomial(
      div(sub(inside, number(4)), add(inside, number(4))),
      {1.2329951186255526, -0.13962111684056255, 0.015379652102619448,
       0.068097054254705233, -0.10103906603617265, 0.093732834997188305,
       -0.066330365826734058, 0.037167515558014695, -0.016197733422051643,
       0.0050319712840669589, -0.00075778321992571061, -0.00019930845851906414,
       0.00015058885698023155, -2.4002746527531299e-05, -9.7569367549674572e-06,
       8.1597504787769261e-06, 2.4534258925042501e-06});
  Value rest =
      div(mul(exp(neg(mul(inside, inside))), q), fma(inside, 2, number(1)));
  Value far = withSign(sub(number(1), rest), x);
  far = select(compare(Real::UNO, x, x), x, far);
  return select(compare(Real::OGT, t, 1), far, near);
}

} // namespace pascaline
