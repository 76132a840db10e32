#include "compress/policies/gradient_watch.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "compress/cpu/vector.h"

namespace legacy {
namespace {

constexpr double kDrop = 0.9;

int64_t FlatSize(std::span<const Unit> units) {
  int64_t size = 0;
  for (const Unit& unit : units) size = std::max(size, unit.offset + unit.numel);
  return size;
}

}  // namespace

GradientSum::GradientSum(std::span<const Unit> units) : sum_(FlatSize(units)) {}

void GradientSum::Add(const Unit& unit, std::span<const float> gradient) {
  cpu::Add(gradient, std::span(sum_).subspan(unit.offset, unit.numel));
}

void GradientSum::AddFlat(std::span<const float> gradient) { cpu::Add(gradient, sum_); }

std::span<const float> GradientSum::TakeMean() {
  const auto steps = static_cast<float>(steps_);
  if (steps_ > 1) {
    for (float& x : sum_) x /= steps;
  }
  steps_ = 0;
  return sum_;
}

double GradientSum::Norm(const Unit& unit) const {
  return std::sqrt(cpu::SquaredNorm(std::span(sum_).subspan(unit.offset, unit.numel)));
}

void GradientSum::Clear() {
  std::ranges::fill(sum_, 0.0f);
  steps_ = 0;
}

void GradientSum::Save(StateWriter& out) const {
  out.Number(static_cast<uint64_t>(steps_));
  out.Floats(sum_);
}

void GradientSum::Load(StateReader& in) {
  steps_ = static_cast<int64_t>(in.Number("steps", std::numeric_limits<int32_t>::max()));
  in.Floats(sum_);
}

bool RateDrop::Sees(double learning_rate) {
  const bool drops = last_ > 0 && learning_rate <= kDrop * last_;
  last_ = learning_rate;
  return drops;
}

std::vector<double> CriticalRegimes::Moved(std::span<const double> norms) const {
  std::vector<double> moved;
  for (size_t unit = 0; unit < norms.size(); ++unit) {
    const bool known = before_[unit] != 0;
    moved.push_back(known ? std::abs(before_[unit] - norms[unit]) / before_[unit]
                          : std::numeric_limits<double>::quiet_NaN());
  }
  return moved;
}

std::vector<bool> CriticalRegimes::Test(std::span<const double> norms) {
  assert(norms.size() == before_.size());
  std::vector<bool> critical(norms.size());
  for (size_t unit = 0; unit < norms.size(); ++unit) {
    const double moved = std::abs(before_[unit] - norms[unit]);
    critical[unit] = before_[unit] == 0 || moved >= eta_ * before_[unit];
    before_[unit] = norms[unit];
  }
  return critical;
}

void CriticalRegimes::Forget() { std::ranges::fill(before_, 0.0); }

void CriticalRegimes::Save(StateWriter& out) const {
  for (const double norm : before_) out.Real(norm);
}

void CriticalRegimes::Load(StateReader& in) {
  for (double& norm : before_) norm = in.Real("norm");
}

}  // namespace legacy
