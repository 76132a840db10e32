// Aggregators of asynchronous servers. FedBuff (Nguyen et al., AISTATS 2022, Algorithm 1) makes a
// version of k updates, x <- x + rate / k sum of w(s) D, where s is an update's staleness and
// w = (1 + s)^-alpha; `normalise=weights` divides by the sum of the weights instead of k. FedAsync
// (Xie, Koyejo, Gupta, 2019) makes one of each update, x <- (1 - mix w(s)) x + mix w(s) y, with
// w = (1 + s)^-a (poly), 1 for s <= b and 1 / (a (s - b) + 1) beyond (hinge), or 1 (constant).
#include <array>
#include <cassert>
#include <cmath>
#include <string_view>

#include "trainer/federated/aggregator_rules.h"

namespace legacy::aggregators {
namespace {

constexpr int64_t kMostStaleness = 1'000'000'000;

class Buffered : public Aggregator {
 public:
  Buffered(const AggregatorTraits& traits, int64_t numel, double rate, double alpha, bool by_weight)
      : traits_(traits), rate_(rate), alpha_(alpha), by_weight_(by_weight), sum_(numel) {}

  const AggregatorTraits& Traits() const override { return traits_; }

  void Add(const ClientUpdate& update) override {
    const double weight =
        update.weight * std::pow(1 + static_cast<double>(update.staleness), -alpha_);
    sum_.Add(update.update, weight);
    sum_.AddWeight(by_weight_ ? weight : update.weight);
  }

  void Apply(std::span<float> model) override {
    const std::span<const double> mean = sum_.Over(sum_.weight());
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] = static_cast<float>(static_cast<double>(model[i]) + rate_ * mean[i]);
    }
    sum_.Clear();
  }

  void Save(StateWriter& out) const override { sum_.Save(out); }
  void Load(StateReader& in) override { sum_.Load(in); }

 private:
  AggregatorTraits traits_;
  double rate_, alpha_;
  bool by_weight_;
  WeightedSum sum_;
};

enum class Fading : uint8_t { kPoly, kHinge, kConstant };

class Mixing : public Aggregator {
 public:
  Mixing(const AggregatorTraits& traits, double mix, Fading fading, double a, double b)
      : traits_(traits), mix_(mix), fading_(fading), a_(a), b_(b) {}

  const AggregatorTraits& Traits() const override { return traits_; }

  void Add(const ClientUpdate& update) override {
    assert(trained_.empty() && update.base.size() == update.update.size());
    for (size_t i = 0; i < update.base.size(); ++i) {
      trained_.push_back(static_cast<double>(update.base[i]) +
                         static_cast<double>(update.update[i]));
    }
    part_ = mix_ * Weight(static_cast<double>(update.staleness));
  }

  void Apply(std::span<float> model) override {
    for (size_t i = 0; i < model.size(); ++i) {
      model[i] =
          static_cast<float>((1 - part_) * static_cast<double>(model[i]) + part_ * trained_[i]);
    }
    trained_.clear();
  }

  // A version follows each update at once, so there is nothing to save.
  void Save(StateWriter&) const override { assert(trained_.empty()); }
  void Load(StateReader&) override {}

 private:
  double Weight(double staleness) const {
    switch (fading_) {
      case Fading::kPoly:
        return std::pow(1 + staleness, -a_);
      case Fading::kHinge:
        return staleness <= b_ ? 1 : 1 / (a_ * (staleness - b_) + 1);
      default:
        return 1;
    }
  }

  AggregatorTraits traits_;
  double mix_;
  Fading fading_;
  double a_, b_;
  std::vector<double> trained_;
  double part_ = 0;
};

Made FedBuff(const OptionReader& options, const FederationInfo& info) {
  constexpr std::array<std::string_view, 2> kDivisors = {"k", "weights"};
  AggregatorTraits traits;
  traits.weighting = Weighting::kUniform;
  traits.buffer = options.Integer("k", 1, 1'000'000);
  traits.max_staleness = options.Integer("max_staleness", 0, kMostStaleness);
  traits.mean_alone = false;
  return std::make_unique<Buffered>(traits, info.numel, options.Number("rate", 1e-6, 100),
                                    options.Number("alpha", 0, 100),
                                    options.Choice("normalise", kDivisors) == 1);
}

Made FedAsync(const OptionReader& options, const FederationInfo&) {
  constexpr std::array<std::string_view, 3> kFadings = {"poly", "hinge", "constant"};
  AggregatorTraits traits;
  traits.weighting = Weighting::kUniform;
  traits.client.proximal = options.Number("rho", 0, 1000);
  traits.buffer = 1;
  traits.max_staleness = options.Integer("max_staleness", 0, kMostStaleness);
  traits.mean_alone = false;
  const auto fading = static_cast<Fading>(options.Choice("staleness", kFadings));
  const bool hinge = fading == Fading::kHinge;
  const double a = options.Text("a").empty() ? (hinge ? 10 : 0.5) : options.Number("a", 0, 1000);
  const double b = options.Text("b").empty() ? 4 : options.Number("b", 0, 1e9);
  return std::make_unique<Mixing>(traits, options.Number("mix", 1e-6, 1), fading, a, b);
}

}  // namespace
}  // namespace legacy::aggregators

namespace legacy {
namespace {

const OptionSpec kStale = {"max_staleness", "0", "0 to 10^9",
                           "versions beyond which an update is discarded; 0: none"};

}  // namespace

AggregatorRow FedBuffRow() {
  return {{"fedbuff",
           "asynchronous: a version of each k updates, which fade with staleness",
           "Nguyen et al., AISTATS 2022",
           {{"k", "10", "1 to 10^6", "updates that make a version"},
            {"alpha", "0.5", "0 to 100", "exponent of (1 + staleness)"},
            RateOption("1"),
            {"normalise", "k", "k, weights", "divisor of the sum of the weighted updates"},
            kStale}},
          aggregators::FedBuff};
}

AggregatorRow FedAsyncRow() {
  return {{"fedasync",
           "asynchronous: each update is mixed into the model",
           "Xie, Koyejo, Gupta, 2019",
           {{"mix", "0.6", "1e-6 to 1", "part of the client's weights"},
            {"staleness", "poly", "poly, hinge, constant", "how that part fades"},
            {"a", "", "0 to 1000", "exponent of poly (0.5) or slope of hinge (10)"},
            {"b", "", "0 to 10^9", "staleness up to which hinge is 1 (4)"},
            {"rho", "0.005", "0 to 1000", "factor of a proximal term at the clients"},
            kStale}},
          aggregators::FedAsync};
}

}  // namespace legacy
