// FedDyn (Acar et al., ICLR 2021). Clients step by g - h_k + alpha (y - x). With D_k their updates,
//
//   h_k <- h_k - alpha D_k;   h <- h - alpha / N sum of D_k;   x <- mean of (b + D_k) - h / alpha
//
// where b are the weights that the clients started from: x, or what they decoded of it.
#include <algorithm>

#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

class Dynamic : public MeanAggregator {
 public:
  Dynamic(const AggregatorTraits& traits, const FederationInfo& info)
      : MeanAggregator(traits, info.numel),
        clients_(static_cast<double>(info.clients)),
        corrections_(static_cast<size_t>(info.numel)) {}

  void Add(const ClientUpdate& update) override {
    MeanAggregator::Add(update);
    base_.assign(update.base.begin(), update.base.end());
  }

  void Apply(std::span<float> model) override {
    std::ranges::copy(base_, model.begin());  // the same for all updates of a round
    const double alpha = traits_.client.dynamic;
    const auto count = static_cast<double>(sum_.count());
    const std::span<const double> mean = sum_.Over(sum_.weight());
    for (size_t i = 0; i < model.size(); ++i) {
      corrections_[i] -= alpha / clients_ * count * mean[i];
      model[i] =
          static_cast<float>(static_cast<double>(model[i]) + mean[i] - corrections_[i] / alpha);
    }
    sum_.Clear();
  }

  void Advance(const ClientUpdate& update, std::span<float> state) const override {
    const auto alpha = static_cast<float>(traits_.client.dynamic);
    for (size_t i = 0; i < state.size(); ++i) state[i] -= alpha * update.update[i];
  }

  void Save(StateWriter& out) const override {
    MeanAggregator::Save(out);
    out.Number(corrections_.size());
    for (const double value : corrections_) out.Real(value);
  }
  void Load(StateReader& in) override {
    MeanAggregator::Load(in);
    in.ExpectNumber("corrections of the server", corrections_.size());
    for (double& value : corrections_) value = in.Real("correction of the server");
  }

 private:
  double clients_;
  std::vector<double> corrections_;
  std::vector<float> base_;  // of the updates in the sum; empty: the model
};

Made FedDyn(const OptionReader& options, const FederationInfo& info) {
  AggregatorTraits traits;
  traits.weighting = Weighting::kUniform;
  traits.client.dynamic = options.Number("alpha", 1e-6, 1000);
  traits.mean_alone = false;
  return std::make_unique<Dynamic>(traits, info);
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {

AggregatorRow FedDynRow() {
  return {{"feddyn",
           "clients' losses have linear terms that align their optima",
           "Acar et al., ICLR 2021",
           {{"alpha", "0.01", "1e-6 to 1000", "factor of the quadratic term"}}},
          aggregators::FedDyn};
}

}  // namespace legacy
