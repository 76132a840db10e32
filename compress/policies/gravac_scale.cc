#include "compress/policies/gravac_scale.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

namespace legacy {

std::vector<double> GravacFactors(double theta_min, double theta_max, GravacScaling scaling) {
  assert(theta_min >= 1 && theta_min <= theta_max);
  std::vector<double> factors;
  double exponent = 0;
  for (double factor = theta_min; factor < theta_max; factor = theta_min * std::exp2(exponent)) {
    factors.push_back(factor);
    const bool doubles = scaling == GravacScaling::kExponential && exponent > 0;
    exponent = doubles ? 2 * exponent : exponent + 1;
  }
  factors.push_back(theta_max);
  return factors;
}

GravacBranch GravacScale::Weigh(double minimum_gain, double current_gain) {
  const auto smooth = [&](double& average, double sample) {
    average = average == kNoSample ? sample : average + rules_.smoothing * (sample - average);
  };
  smooth(minimum_gain_, minimum_gain);
  smooth(current_gain_, current_gain);
  GravacBranch branch = GravacBranch::kDense;
  sent_gain_ = 1;
  if (current_gain_ >= rules_.epsilon) {
    branch = GravacBranch::kCurrent;
    sent_ = current_;
    sent_gain_ = current_gain_;
  } else if (minimum_gain_ >= rules_.epsilon) {
    branch = GravacBranch::kMinimum;
    sent_ = minimum_;
    sent_gain_ = minimum_gain_;
  }
  sent_dense_ = branch == GravacBranch::kDense;
  return branch;
}

void GravacScale::Record(double throughput) {
  if (!sent_dense_) throughputs_[sent_] = throughput * sent_gain_;
}

// Returns true if the two best throughputs are nearly equal; theta_cur is then the lower factor.
bool GravacScale::FindStay() {
  std::vector<std::pair<double, size_t>> best;  // throughput, factor
  for (const auto& [factor, throughput] : throughputs_) best.emplace_back(throughput, factor);
  if (best.size() < 2) return false;
  std::ranges::sort(best, std::greater());
  const auto& [first, first_factor] = best[0];
  const auto& [second, second_factor] = best[1];
  if (first - second > rules_.omega * second) return false;
  current_ = std::min(first_factor, second_factor);
  return true;
}

void GravacScale::EndWindow() {
  if (stays_) return;
  const double lost = std::abs(minimum_gain_ - current_gain_);
  if (lost <= rules_.omega * minimum_gain_) {
    minimum_ = current_;
    minimum_gain_ = current_gain_;
  }
  const size_t before = current_;
  stays_ = FindStay();
  if (!stays_) current_ = std::min(current_ + 1, factors_.size() - 1);
  if (current_ < minimum_) {
    minimum_ = current_;
    minimum_gain_ = kNoSample;
  }
  if (current_ != before) current_gain_ = current_ == minimum_ ? minimum_gain_ : kNoSample;
}

void GravacScale::Save(StateWriter& out) const {
  out.Number(minimum_);
  out.Number(current_);
  out.Real(minimum_gain_);
  out.Real(current_gain_);
  out.Number(sent_);
  out.Real(sent_gain_);
  out.Number(sent_dense_ ? 1 : 0);
  out.Number(stays_ ? 1 : 0);
  out.Number(throughputs_.size());
  for (const auto& [factor, throughput] : throughputs_) {
    out.Number(factor);
    out.Real(throughput);
  }
}

void GravacScale::Load(StateReader& in) {
  const uint64_t last = factors_.size() - 1;
  minimum_ = in.Number("lowest factor", last);
  current_ = in.Number("current factor", last);
  minimum_gain_ = in.Real("gain of the lowest factor");
  current_gain_ = in.Real("gain of the current factor");
  sent_ = in.Number("factor sent", last);
  sent_gain_ = in.Real("gain of what was sent");
  sent_dense_ = in.Number("dense", 1) == 1;
  stays_ = in.Number("stays", 1) == 1;
  throughputs_.clear();
  for (uint64_t left = in.Number("throughputs", factors_.size()); left > 0; --left) {
    const size_t factor = in.Number("factor", last);
    throughputs_[factor] = in.Real("throughput");
  }
}

}  // namespace legacy
