#include "base/draws.h"

#include <array>
#include <cmath>

#include "base/hash.h"

namespace legacy {

namespace {

// Returns the polynomial whose coefficients are given with the highest power first.
double Polynomial(const std::array<double, 8>& coefficients, double x) {
  double sum = 0;
  for (double coefficient : coefficients) {
    sum = sum * x + coefficient;
  }
  return sum;
}

// Coefficients of the paper: numerator and denominator near the centre, in the tails, and far out.
constexpr std::array<double, 8> kCentre{2.5090809287301226727e3, 3.3430575583588128105e4,
                                        6.7265770927008700853e4, 4.5921953931549871457e4,
                                        1.3731693765509461125e4, 1.9715909503065514427e3,
                                        1.3314166789178437745e2, 3.3871328727963666080e0};
constexpr std::array<double, 8> kCentreBelow{5.2264952788528545610e3, 2.8729085735721942674e4,
                                             3.9307895800092710610e4, 2.1213794301586595867e4,
                                             5.3941960214247511077e3, 6.8718700749205790830e2,
                                             4.2313330701600911252e1, 1.0};
constexpr std::array<double, 8> kTail{7.74545014278341407640e-4, 2.27238449892691845833e-2,
                                      2.41780725177450611770e-1, 1.27045825245236838258e0,
                                      3.64784832476320460504e0,  5.76949722146069140550e0,
                                      4.63033784615654529590e0,  1.42343711074968357734e0};
constexpr std::array<double, 8> kTailBelow{1.05075007164441684324e-9, 5.47593808499534494600e-4,
                                           1.51986665636164571966e-2, 1.48103976427480074590e-1,
                                           6.89767334985100004550e-1, 1.67638483018380384940e0,
                                           2.05319162663775882187e0,  1.0};
constexpr std::array<double, 8> kFar{2.01033439929228813265e-7, 2.71155556874348757815e-5,
                                     1.24266094738807843860e-3, 2.65321895265761230930e-2,
                                     2.96560571828504891230e-1, 1.78482653991729133580e0,
                                     5.46378491116411436990e0,  6.65790464350110377720e0};
constexpr std::array<double, 8> kFarBelow{2.04426310338993978564e-15, 1.42151175831644588870e-7,
                                          1.84631831751005468180e-5,  7.86869131145613259100e-4,
                                          1.48753612908506148525e-2,  1.36929880922735805310e-1,
                                          5.99832206555887937690e-1,  1.0};

}  // namespace

double NormalQuantile(double p) {
  constexpr double kCentreHalf = 0.425;
  constexpr double kFarFrom = 5;
  const double q = p - 0.5;
  if (std::abs(q) <= kCentreHalf) {
    const double r = kCentreHalf * kCentreHalf - q * q;
    return q * Polynomial(kCentre, r) / Polynomial(kCentreBelow, r);
  }
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double value = r <= kFarFrom
                           ? Polynomial(kTail, r - 1.6) / Polynomial(kTailBelow, r - 1.6)
                           : Polynomial(kFar, r - kFarFrom) / Polynomial(kFarBelow, r - kFarFrom);
  return q < 0 ? -value : value;
}

double NormalDraw(uint64_t hash) { return NormalQuantile(UnitInterval(hash)); }

double ExponentialDraw(uint64_t hash) { return -std::log(UnitInterval(hash)); }

}  // namespace legacy
