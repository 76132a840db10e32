// Momentum at the server. FedAvgM (Hsu, Qi, Brown, 2019): v <- momentum v + mean of the updates, x
// <- x + rate v. DiLoCo (Douillard et al., 2023) has Nesterov's momentum in PyTorch's form, over g
// = -mean: v <- momentum v + g, x <- x - rate (g + momentum v). Streaming DiLoCo (Douillard et al.,
// 2025, arXiv:2501.18512) does so with each fragment of the model in turn; exchange_training.h
// exchanges them.
#include "base/error.h"
#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

class Momentum : public MeanAggregator {
 public:
  Momentum(const AggregatorTraits& traits, int64_t numel, double rate, double momentum,
           bool nesterov)
      : MeanAggregator(traits, numel),
        rate_(rate),
        momentum_(momentum),
        nesterov_(nesterov),
        velocity_(static_cast<size_t>(numel)) {}

  void ApplyMean(std::span<float> model, std::span<const double> mean) override {
    for (size_t i = 0; i < model.size(); ++i) {
      const double v = momentum_ * static_cast<double>(velocity_[i]) + mean[i];
      velocity_[i] = static_cast<float>(v);
      const double step = nesterov_ ? mean[i] + momentum_ * v : v;
      model[i] = static_cast<float>(static_cast<double>(model[i]) + rate_ * step);
    }
  }

  void Save(StateWriter& out) const override {
    MeanAggregator::Save(out);
    SaveVector(velocity_, out);
  }
  void Load(StateReader& in) override {
    MeanAggregator::Load(in);
    LoadVector("velocity of the server", in, velocity_);
  }

 private:
  double rate_, momentum_;
  bool nesterov_;
  std::vector<float> velocity_;
};

Made MakeMomentum(const OptionReader& options, const FederationInfo& info, AggregatorTraits traits,
                  bool nesterov) {
  traits.kernel = "optimizer.sgd";
  return std::make_unique<Momentum>(traits, info.numel, options.Number("rate", 1e-6, 100),
                                    options.Number("momentum", 0, 0.999999), nesterov);
}

Made FedAvgM(const OptionReader& options, const FederationInfo& info) {
  return MakeMomentum(options, info, {.weighting = Weighting::kSamples}, false);
}

Made DiLoCo(const OptionReader& options, const FederationInfo& info) {
  constexpr double kMix = 0.5;
  AggregatorTraits traits = {.weighting = Weighting::kUniform, .keeps_optimizer = true};
  traits.fragments = static_cast<int>(options.Integer("fragments", 1, 1000));
  traits.overlap = options.Integer("overlap", 0, 1'000'000);
  const bool given = !options.Text("mix").empty();
  if (given && traits.overlap == 0) {
    throw Error("diloco: mix", options.Text("mix"),
                "nothing without overlap: no step is made then");
  }
  if (traits.overlap > 0) traits.mix = given ? options.Number("mix", 0, 1) : kMix;
  return MakeMomentum(options, info, traits, true);
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {
namespace {

const OptionSpec kMomentum = {"momentum", "0.9", "0 to 0.999999", "momentum of the server"};

}  // namespace

AggregatorRow FedAvgMRow() {
  return {{"fedavgm",
           "fedavg, with momentum at the server",
           "Hsu, Qi, Brown, 2019",
           {kMomentum, RateOption("1")}},
          aggregators::FedAvgM};
}

AggregatorRow DiLoCoRow() {
  return {{"diloco",
           "Nesterov momentum at the server, updates by AdamW",
           "Douillard et al., 2023; fragments, overlap and mix: Douillard et al., 2025",
           {RateOption("0.7"),
            kMomentum,
            {"fragments", "1", "1 to 1000",
             "parts of the model that are exchanged in turn, without a server"},
            {"overlap", "0", "0 to 10^6", "local steps that clients make while a fragment travels"},
            {"mix", "", "0 to 1",
             "part of a client's own weights that it keeps where a fragment arrives (0.5)"}}},
          aggregators::DiLoCo};
}

}  // namespace legacy
