#include "compress/density.h"

#include <algorithm>
#include <cmath>

namespace legacy {

const ParameterSpec& NoParameter() {
  static const ParameterSpec spec;
  return spec;
}

const ParameterSpec& DensityParameter() {
  static const ParameterSpec spec{
      .name = "density",
      .minimum = 0,
      .maximum = 1,
      .integer = false,
      .fallback = 0.01,
      .help = "fraction of a unit's elements that is sent; at least one"};
  return spec;
}

int64_t KeptCount(int64_t numel, double density) {
  if (numel == 0) return 0;
  // Relative rounding error of the density and of the product.
  constexpr double kRoundingError = 4e-16;
  const double product = density * static_cast<double>(numel);
  const double kept = std::floor(product + product * kRoundingError + 1e-9);
  return std::clamp(static_cast<int64_t>(kept), int64_t{1}, numel);
}

}  // namespace legacy
