#include "compress/policies/parameter_scale.h"

#include <algorithm>
#include <cmath>

namespace legacy {
namespace {

// Returns true for a fraction of elements that is dropped, and false for a threshold of values.
bool IsLeftShare(const ParameterSpec& spec) { return spec.volume_falls && spec.maximum <= 1; }

}  // namespace

double Amount(const ParameterSpec& spec, double parameter) {
  if (!spec.volume_falls) return parameter;
  return IsLeftShare(spec) ? 1 - parameter : 1 / parameter;
}

double FromAmount(const ParameterSpec& spec, double amount) {
  // Each map is its own inverse.
  const double parameter = Amount(spec, amount);
  return std::clamp(spec.integer ? std::round(parameter) : parameter, spec.minimum, spec.maximum);
}

double MostParameter(const ParameterSpec& spec) {
  return spec.volume_falls ? spec.minimum : spec.maximum;
}

double LeastParameter(const ParameterSpec& spec) {
  return spec.volume_falls ? spec.maximum : spec.minimum;
}

double ScaleParameter(const ParameterSpec& spec, double parameter, double factor) {
  if (factor == 1) return parameter;
  return FromAmount(spec, Amount(spec, parameter) * factor);
}

}  // namespace legacy
