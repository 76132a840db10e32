#include "trainer/federated/dirichlet.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace legacy {
namespace {

// Returns the logarithm of a number that is uniform in (0, 1].
double LogUniform(RandomStream& random) { return std::log(1 - random.Uniform()); }

}  // namespace

double LogGamma(RandomStream& random, double shape) {
  if (shape < 1) {
    const double above = LogGamma(random, shape + 1);
    return above + LogUniform(random) / shape;
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = random.Normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (LogUniform(random) < x * x / 2 + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

std::vector<double> Dirichlet(RandomStream& random, std::span<const double> concentrations) {
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  std::vector<double> shares;
  for (const double concentration : concentrations) {
    shares.push_back(concentration > 0 ? LogGamma(random, concentration) : kNone);
  }
  const double largest = std::ranges::max(shares);
  double sum = 0;
  for (double& share : shares) sum += share = std::exp(share - largest);
  for (double& share : shares) share /= sum;
  return shares;
}

}  // namespace legacy
