// The rules behind the table of aggregators, and what they share.
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

Made FedAvg(const OptionReader& options, const FederationInfo& info);
Made FedProx(const OptionReader& options, const FederationInfo& info);
Made FedAvgM(const OptionReader& options, const FederationInfo& info);
Made FedAdagrad(const OptionReader& options, const FederationInfo& info);
Made FedAdam(const OptionReader& options, const FederationInfo& info);
Made FedYogi(const OptionReader& options, const FederationInfo& info);
Made Scaffold(const OptionReader& options, const FederationInfo& info);
Made FedNova(const OptionReader& options, const FederationInfo& info);
Made FedDyn(const OptionReader& options, const FederationInfo& info);
Made FedBuff(const OptionReader& options, const FederationInfo& info);
Made FedAsync(const OptionReader& options, const FederationInfo& info);
Made DiLoCo(const OptionReader& options, const FederationInfo& info);

}  // namespace legacy::aggregators
