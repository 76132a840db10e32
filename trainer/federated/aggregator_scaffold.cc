// SCAFFOLD (Karimireddy et al., ICML 2020, Algorithm 1, option II). With D a client's update after
// t steps at rate r,
//
//   c_k <- c_k + d,   d = -c - D / (t r);   x <- x + rate mean of D;   c <- c + |S| / N mean of d
//
// Control variates start at zero. The server knows c, t and r, and so it derives d from the decoded
// D (`uplink=one`), as the client does; `uplink=two` sends d as well, as published. With local
// momentum, c_k has the scale of a momentum step, which amounts to several gradients, and the
// correction comes after that step.
#include <array>
#include <string_view>

#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

class ControlVariates : public MeanAggregator {
 public:
  ControlVariates(const AggregatorTraits& traits, const FederationInfo& info, double rate)
      : MeanAggregator(traits, info.numel),
        clients_(static_cast<double>(info.clients)),
        rate_(rate),
        control_(static_cast<size_t>(info.numel)),
        moved_(info.numel) {}

  void Add(const ClientUpdate& update) override {
    MeanAggregator::Add(update);
    if (traits_.up_vectors == 2) {
      moved_.Add(update.control, 1);
    } else {
      moved_.Add(Derived(update), 1);
    }
    moved_.AddWeight(1);
  }

  void Apply(std::span<float> model) override {
    const std::span<const double> mean = sum_.Over(sum_.weight());
    const std::span<const double> moved = moved_.Over(clients_);
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<float>(static_cast<double>(model[i]) + rate_ * mean[i]);
      control_[i] = static_cast<float>(static_cast<double>(control_[i]) + moved[i]);
    }
    sum_.Clear();
    moved_.Clear();
  }

  std::span<const float> Downlink() const override { return control_; }

  void Advance(const ClientUpdate& update, std::span<float> state) const override {
    const std::span<const float> moved = traits_.up_vectors == 2 ? update.control : Derived(update);
    for (size_t i = 0; i < state.size(); ++i) state[i] += moved[i];
  }

  void Save(StateWriter& out) const override {
    MeanAggregator::Save(out);
    moved_.Save(out);
    SaveVector(control_, out);
  }
  void Load(StateReader& in) override {
    MeanAggregator::Load(in);
    moved_.Load(in);
    LoadVector("control variate of the server", in, control_);
  }

 private:
  // Returns how a client's control variate moves, valid until the next call.
  std::span<const float> Derived(const ClientUpdate& update) const {
    derived_.assign(control_.size(), 0.0F);
    if (update.rate <= 0) return derived_;  // nothing moved, so its gradients are unknown
    const double scale = 1 / (static_cast<double>(update.local_steps) * update.rate);
    for (size_t i = 0; i < control_.size(); ++i) {
      derived_[i] = static_cast<float>(-static_cast<double>(control_[i]) -
                                       scale * static_cast<double>(update.update[i]));
    }
    return derived_;
  }

  double clients_, rate_;
  std::vector<float> control_;
  WeightedSum moved_;
  mutable std::vector<float> derived_;
};

Made Scaffold(const OptionReader& options, const FederationInfo& info) {
  constexpr std::array<std::string_view, 2> kUplinks = {"one", "two"};
  AggregatorTraits traits;
  traits.weighting = Weighting::kUniform;
  traits.client.control = true;
  traits.up_vectors = 1 + static_cast<int>(options.Choice("uplink", kUplinks));
  traits.down_vectors = 2;
  traits.mean_alone = false;
  return std::make_unique<ControlVariates>(traits, info, options.Number("rate", 1e-6, 100));
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {

AggregatorRow ScaffoldRow() {
  return {{"scaffold",
           "control variates correct the drift of clients",
           "Karimireddy et al., ICML 2020",
           {RateOption("1"),
            {"uplink", "one", "one, two",
             "vectors that go up: the control variate follows from the update, or is sent"}}},
          aggregators::Scaffold};
}

}  // namespace legacy
