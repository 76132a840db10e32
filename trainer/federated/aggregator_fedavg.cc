// FedAvg (McMahan et al., AISTATS 2017): x <- x + rate * mean of the updates. FedProx (Li et al.,
// MLSys 2020) is the same with a proximal term at the clients.
#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

class Averaging : public MeanAggregator {
 public:
  Averaging(const AggregatorTraits& traits, int64_t numel, double rate)
      : MeanAggregator(traits, numel), rate_(rate) {}

  void ApplyMean(std::span<float> model, std::span<const double> mean) override {
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<float>(static_cast<double>(model[i]) + rate_ * mean[i]);
    }
  }

 private:
  double rate_;
};

Made FedAvg(const OptionReader& options, const FederationInfo& info) {
  return std::make_unique<Averaging>(AggregatorTraits{}, info.numel,
                                     options.Number("rate", 1e-6, 100));
}

Made FedProx(const OptionReader& options, const FederationInfo& info) {
  AggregatorTraits traits;
  traits.client.proximal = options.Number("mu", 0, 1000);
  return std::make_unique<Averaging>(traits, info.numel, options.Number("rate", 1e-6, 100));
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {

AggregatorRow FedAvgRow() {
  return {{"fedavg",
           "the mean of the updates, by samples",
           "McMahan et al., AISTATS 2017",
           {RateOption("1")}},
          aggregators::FedAvg};
}

AggregatorRow FedProxRow() {
  return {{"fedprox",
           "fedavg, with clients held near the weights that they started from",
           "Li et al., MLSys 2020",
           {{"mu", "0.01", "0 to 1000", "factor of the proximal term"}, RateOption("1")}},
          aggregators::FedProx};
}

}  // namespace legacy
