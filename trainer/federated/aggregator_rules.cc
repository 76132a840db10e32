#include "trainer/federated/aggregator_rules.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace legacy::aggregators {

void WeightedSum::Add(std::span<const float> update, double factor) {
  assert(update.size() == sum_.size());
  for (size_t i = 0; i < update.size(); ++i) sum_[i] += factor * static_cast<double>(update[i]);
}

void WeightedSum::AddWeight(double weight) {
  weight_ += weight;
  ++count_;
}

std::span<const double> WeightedSum::Over(double divisor) {
  for (double& value : sum_) value /= divisor;
  return sum_;
}

void WeightedSum::Clear() {
  std::ranges::fill(sum_, 0.0);
  weight_ = 0;
  count_ = 0;
}

void WeightedSum::Save(StateWriter& out) const {
  out.Number(sum_.size());
  for (const double value : sum_) out.Real(value);
  out.Real(weight_);
  out.Number(static_cast<uint64_t>(count_));
}

void WeightedSum::Load(StateReader& in) {
  in.ExpectNumber("elements of the sum", sum_.size());
  for (double& value : sum_) value = std::bit_cast<double>(in.Number());
  weight_ = in.Real("weight of the sum");
  count_ = static_cast<int64_t>(in.Number("updates in the sum", uint64_t{1} << 53));
}

void MeanAggregator::Add(const ClientUpdate& update) {
  sum_.Add(update.update, update.weight);
  sum_.AddWeight(update.weight);
}

void MeanAggregator::Apply(std::span<float> model) {
  assert(sum_.count() > 0);
  ApplyMean(model, sum_.Over(sum_.weight()));
  sum_.Clear();
}

void MeanAggregator::Save(StateWriter& out) const { sum_.Save(out); }
void MeanAggregator::Load(StateReader& in) { sum_.Load(in); }

void SaveVector(std::span<const float> values, StateWriter& out) {
  out.Number(values.size());
  out.Floats(values);
}

void LoadVector(const char* what, StateReader& in, std::span<float> values) {
  in.ExpectNumber(what, values.size());
  in.AnyFloats(values);
}

}  // namespace legacy::aggregators

namespace legacy {

OptionSpec RateOption(const char* fallback) {
  return {"rate", fallback, "1e-6 to 100", "learning rate of the server"};
}

}  // namespace legacy
