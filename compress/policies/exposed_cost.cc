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

void ExposedCost::AddWork(double amount, double seconds) {
  ++steps_;
  const double from_mean = amount - mean_amount_;
  mean_amount_ += from_mean / steps_;
  mean_seconds_ += (seconds - mean_seconds_) / steps_;
  amount_amount_ += from_mean * (amount - mean_amount_);
  amount_seconds_ += from_mean * (seconds - mean_seconds_);
}

void ExposedCost::Price(const ChoiceTable& work, ChoiceTable& bytes) const {
  if (!measured_) return;
  const double slope = bytes_bytes_ > 0 ? bytes_seconds_ / bytes_bytes_ : 0;
  const double rate = amount_amount_ > 0 ? std::max(0.0, amount_seconds_ / amount_amount_) : 0;
  for (size_t unit = 0; unit < bytes.units; ++unit) {
    const double beta = exposed_[unit] > 0 ? slope : 0;
    for (size_t option = 0; option < bytes.options; ++option) {
      double& cost = bytes.At(unit, option);
      cost = beta * cost + rate * work.At(unit, option);
    }
  }
}

void ExposedCost::Clear() {
  std::ranges::fill(exposed_, 0.0);
  bytes_seconds_ = 0;
  bytes_bytes_ = 0;
  measured_ = false;
}

void ExposedCost::Save(StateWriter& out) const {
  out.Number(measured_ ? 1 : 0);
  out.Real(bytes_seconds_);
  out.Real(bytes_bytes_);
  for (const double seconds : exposed_) out.Real(seconds);
  for (const double number :
       {steps_, mean_amount_, mean_seconds_, amount_amount_, amount_seconds_}) {
    out.Real(number);
  }
}

void ExposedCost::Load(StateReader& in) {
  measured_ = in.Number("measured", 1) == 1;
  bytes_seconds_ = in.Real("sum of bytes and seconds");
  bytes_bytes_ = in.Real("sum of squared bytes");
  for (double& seconds : exposed_) seconds = in.Real("exposed seconds");
  for (double* number :
       {&steps_, &mean_amount_, &mean_seconds_, &amount_amount_, &amount_seconds_}) {
    *number = in.Real("work and its seconds");
  }
}

}  // namespace legacy
