// What the rules of aggregators share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trainer/federated/aggregator.h"

namespace legacy::aggregators {

using Made = std::unique_ptr<Aggregator>;

// A WeightedSum adds up updates in double.
class WeightedSum {
 public:
  explicit WeightedSum(int64_t numel) : sum_(static_cast<size_t>(numel)) {}

  void Add(std::span<const float> update, double factor);
  double weight() const { return weight_; }
  int64_t count() const { return count_; }
  void AddWeight(double weight);
  // Returns the sum divided by `divisor`, valid until Clear.
  std::span<const double> Over(double divisor);
  void Clear();

  void Save(StateWriter& out) const;
  void Load(StateReader& in);

 private:
  std::vector<double> sum_;
  double weight_ = 0;
  int64_t count_ = 0;
};

// A MeanAggregator makes versions of the weighted mean of the updates.
class MeanAggregator : public Aggregator {
 public:
  MeanAggregator(const AggregatorTraits& traits, int64_t numel) : traits_(traits), sum_(numel) {}

  const AggregatorTraits& Traits() const override { return traits_; }
  void Add(const ClientUpdate& update) override;
  void Apply(std::span<float> model) override;
  void Save(StateWriter& out) const override;
  void Load(StateReader& in) override;

 protected:
  AggregatorTraits traits_;
  WeightedSum sum_;
};

// Append and restore a vector with its length.
void SaveVector(std::span<const float> values, StateWriter& out);
void LoadVector(const char* what, StateReader& in, std::span<float> values);

}  // namespace legacy::aggregators

namespace legacy {

// Returns the description of the option "rate" of rules whose server has a learning rate.
OptionSpec RateOption(const char* fallback);

}  // namespace legacy
