// FedNova (Wang et al., NeurIPS 2020): updates are divided by the effective number of local steps,
//
//   x <- x + T sum of p_k D_k / a_k,   T = sum of p_k a_k
//
// where a_k is the sum of the factors with which the gradients of t steps enter D_k. For SGD with
// momentum m and a proximal term mu at rate r it is that of the recurrence s <- m s + 1,
// a <- (1 - r mu) a + s in each step; without either, t.
#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

class Normalised : public Aggregator {
 public:
  Normalised(const AggregatorTraits& traits, const FederationInfo& info)
      : traits_(traits), momentum_(info.local_momentum), sum_(info.numel) {}

  const AggregatorTraits& Traits() const override { return traits_; }

  void Add(const ClientUpdate& update) override {
    const double steps = StepsOf(update);
    sum_.Add(update.update, update.weight / steps);
    sum_.AddWeight(update.weight);
    steps_ += update.weight * steps;
  }

  void Apply(std::span<float> model) override {
    const double effective = steps_ / sum_.weight();
    const std::span<const double> mean = sum_.Over(sum_.weight());
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<float>(static_cast<double>(model[i]) + effective * mean[i]);
    }
    sum_.Clear();
    steps_ = 0;
  }

  void Save(StateWriter& out) const override {
    sum_.Save(out);
    out.Real(steps_);
  }
  void Load(StateReader& in) override {
    sum_.Load(in);
    steps_ = in.Real("local steps in the sum");
  }

 private:
  double StepsOf(const ClientUpdate& update) const {
    const double kept = 1 - update.rate * traits_.client.proximal;
    double velocity = 0, steps = 0;
    for (int64_t i = 0; i < update.local_steps; ++i) {
      velocity = momentum_ * velocity + 1;
      steps = kept * steps + velocity;
    }
    return steps;
  }

  AggregatorTraits traits_;
  double momentum_;
  WeightedSum sum_;
  double steps_ = 0;
};

Made FedNova(const OptionReader& options, const FederationInfo& info) {
  AggregatorTraits traits;
  traits.client.proximal = options.Number("mu", 0, 1000);
  traits.mean_alone = false;
  return std::make_unique<Normalised>(traits, info);
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {

AggregatorRow FedNovaRow() {
  return {{"fednova",
           "updates are divided by what local steps amount to",
           "Wang et al., NeurIPS 2020",
           {{"mu", "0", "0 to 1000", "factor of a proximal term at the clients"}}},
          aggregators::FedNova};
}

}  // namespace legacy
