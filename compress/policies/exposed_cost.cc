#include "compress/policies/exposed_cost.h"

#include <algorithm>
#include <cassert>

namespace legacy {

void ExposedCost::Add(std::span<const double> bytes, std::span<const double> seconds) {
  assert(bytes.size() == seconds.size());
  if (bytes.empty()) return;
  assert(bytes.size() == exposed_.size());
  measured_ = true;
  for (size_t unit = 0; unit < bytes.size(); ++unit) {
    exposed_[unit] += seconds[unit];
    if (seconds[unit] <= 0) continue;
    bytes_seconds_ += bytes[unit] * seconds[unit];
    bytes_bytes_ += bytes[unit] * bytes[unit];
  }
}

void ExposedCost::Price(OptionTable& bytes) const {
  if (!measured_) return;
  const double slope = bytes_bytes_ > 0 ? bytes_seconds_ / bytes_bytes_ : 0;
  for (size_t unit = 0; unit < bytes.units; ++unit) {
    const double beta = exposed_[unit] > 0 ? slope : 0;
    for (size_t option = 0; option < bytes.options; ++option) bytes.At(unit, option) *= beta;
  }
}

void ExposedCost::Clear() { *this = ExposedCost(exposed_.size()); }

void ExposedCost::Save(StateWriter& out) const {
  out.Number(measured_ ? 1 : 0);
  out.Real(bytes_seconds_);
  out.Real(bytes_bytes_);
  for (const double seconds : exposed_) out.Real(seconds);
}

void ExposedCost::Load(StateReader& in) {
  measured_ = in.Number("measured", 1) == 1;
  bytes_seconds_ = in.Real("sum of bytes and seconds");
  bytes_bytes_ = in.Real("sum of squared bytes");
  for (double& seconds : exposed_) seconds = in.Real("exposed seconds");
}

}  // namespace legacy
