#include "compress/density.h"

#include <algorithm>
#include <cmath>
#include <string_view>

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

ParameterKind ParameterSpec::Kind() const {
  constexpr std::string_view kNames[] = {"", "density", "theta", "rank", "bits"};
  const auto* const found = std::ranges::find(kNames, name);
  return static_cast<ParameterKind>(found - kNames);  // after them: kOther
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
