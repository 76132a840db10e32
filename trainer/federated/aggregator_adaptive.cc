// Adaptive federated optimization (Reddi et al., ICLR 2021, Algorithm 2). With D the mean update,
//
//   m <- beta1 m + (1 - beta1) D (fedadagrad: m = D)
//   v <- v + D^2 (fedadagrad), beta2 v + (1 - beta2) D^2 (fedadam),
//        v - (1 - beta2) D^2 sign(v - D^2) (fedyogi)
//   x <- x + rate m / (sqrt(v) + tau)
//
// v starts at tau^2, and there is no correction of a bias.
#include <cmath>

#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

enum class Rule : uint8_t { kAdagrad, kAdam, kYogi };

struct AdaptiveRates {
  double rate, beta1, beta2, tau;
};

class Adaptive : public MeanAggregator {
 public:
  Adaptive(int64_t numel, Rule rule, const AdaptiveRates& rates)
      : MeanAggregator({.weighting = Weighting::kUniform, .kernel = "optimizer.adam"}, numel),
        rule_(rule),
        rates_(rates),
        mean_(static_cast<size_t>(numel)),
        square_(static_cast<size_t>(numel), static_cast<float>(rates.tau * rates.tau)) {}

  void ApplyMean(std::span<float> model, std::span<const double> mean) override {
    for (size_t i = 0; i < model.size(); ++i) {
      const double d = mean[i], m = rates_.beta1 * mean_[i] + (1 - rates_.beta1) * d;
      const double v = NextSquare(square_[i], d * d);
      mean_[i] = static_cast<float>(m);
      square_[i] = static_cast<float>(v);
      model[i] = static_cast<float>(static_cast<double>(model[i]) +
                                    rates_.rate * m / (std::sqrt(v) + rates_.tau));
    }
  }

  void Save(StateWriter& out) const override {
    MeanAggregator::Save(out);
    SaveVector(mean_, out);
    SaveVector(square_, out);
  }
  void Load(StateReader& in) override {
    MeanAggregator::Load(in);
    LoadVector("mean of the server", in, mean_);
    LoadVector("mean square of the server", in, square_);
  }

 private:
  double NextSquare(double v, double square) const {
    switch (rule_) {
      case Rule::kAdagrad:
        return v + square;
      case Rule::kAdam:
        return rates_.beta2 * v + (1 - rates_.beta2) * square;
      default: {
        const double sign = v > square ? 1 : v < square ? -1 : 0;
        return v - (1 - rates_.beta2) * square * sign;
      }
    }
  }

  Rule rule_;
  AdaptiveRates rates_;
  std::vector<float> mean_, square_;
};

Made MakeAdaptive(const OptionReader& options, const FederationInfo& info, Rule rule) {
  AdaptiveRates rates = {.rate = options.Number("rate", 1e-9, 100),
                         .beta1 = 0,
                         .beta2 = 0,
                         .tau = options.Number("tau", 1e-12, 1)};
  if (rule != Rule::kAdagrad) {
    rates.beta1 = options.Number("beta1", 0, 0.999999);
    rates.beta2 = options.Number("beta2", 0, 0.999999);
  }
  return std::make_unique<Adaptive>(info.numel, rule, rates);
}

Made FedAdagrad(const OptionReader& options, const FederationInfo& info) {
  return MakeAdaptive(options, info, Rule::kAdagrad);
}
Made FedAdam(const OptionReader& options, const FederationInfo& info) {
  return MakeAdaptive(options, info, Rule::kAdam);
}
Made FedYogi(const OptionReader& options, const FederationInfo& info) {
  return MakeAdaptive(options, info, Rule::kYogi);
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {
namespace {

constexpr const char* kReddi = "Reddi et al., ICLR 2021";
const OptionSpec kTau = {"tau", "1e-3", "1e-12 to 1", "added to the root; v starts at its square"};

std::vector<OptionSpec> AdamOptions() {
  return {RateOption("0.1"),
          {"beta1", "0.9", "0 to 0.999999", "decay of the mean update"},
          {"beta2", "0.99", "0 to 0.999999", "decay of its square"},
          kTau};
}

}  // namespace

AggregatorRow FedAdagradRow() {
  return {{"fedadagrad", "Adagrad at the server", kReddi, {RateOption("0.1"), kTau}},
          aggregators::FedAdagrad};
}

AggregatorRow FedAdamRow() {
  return {{"fedadam", "Adam at the server", kReddi, AdamOptions()}, aggregators::FedAdam};
}

AggregatorRow FedYogiRow() {
  return {{"fedyogi", "Yogi at the server", kReddi, AdamOptions()}, aggregators::FedYogi};
}

}  // namespace legacy
