#include "trainer/federated/aggregator.h"

#include <array>
#include <cassert>

#include "base/error.h"
#include "trainer/federated/aggregator_rules.h"

namespace legacy {
namespace {

OptionSpec Rate(const char* fallback) {
  return {"rate", fallback, "1e-6 to 100", "learning rate of the server"};
}
const OptionSpec kTau = {"tau", "1e-3", "1e-12 to 1", "added to the root; v starts at its square"};
const OptionSpec kStale = {"max_staleness", "0", "0 to 10^9",
                           "versions beyond which an update is discarded; 0: none"};
const OptionSpec kMomentum = {"momentum", "0.9", "0 to 0.999999", "momentum of the server"};

std::vector<OptionSpec> AdamOptions() {
  return {Rate("0.1"),
          {"beta1", "0.9", "0 to 0.999999", "decay of the mean update"},
          {"beta2", "0.99", "0 to 0.999999", "decay of its square"},
          kTau};
}

}  // namespace

std::span<const AggregatorRow> AggregatorRows() {
  constexpr const char* kReddi = "Reddi et al., ICLR 2021";
  static const std::array<AggregatorRow, 12> kRows = {{
      {{"fedavg",
        "the mean of the updates, by samples",
        "McMahan et al., AISTATS 2017",
        {Rate("1")}},
       aggregators::FedAvg},
      {{"fedprox",
        "fedavg, with clients held near the weights that they started from",
        "Li et al., MLSys 2020",
        {{"mu", "0.01", "0 to 1000", "factor of the proximal term"}, Rate("1")}},
       aggregators::FedProx},
      {{"fedavgm",
        "fedavg, with momentum at the server",
        "Hsu, Qi, Brown, 2019",
        {kMomentum, Rate("1")}},
       aggregators::FedAvgM},
      {{"fedadagrad", "Adagrad at the server", kReddi, {Rate("0.1"), kTau}},
       aggregators::FedAdagrad},
      {{"fedadam", "Adam at the server", kReddi, AdamOptions()}, aggregators::FedAdam},
      {{"fedyogi", "Yogi at the server", kReddi, AdamOptions()}, aggregators::FedYogi},
      {{"scaffold",
        "control variates correct the drift of clients",
        "Karimireddy et al., ICML 2020",
        {Rate("1"),
         {"uplink", "one", "one, two",
          "vectors that go up: the control variate follows from the update, or is sent"}}},
       aggregators::Scaffold},
      {{"fednova",
        "updates are divided by what local steps amount to",
        "Wang et al., NeurIPS 2020",
        {{"mu", "0", "0 to 1000", "factor of a proximal term at the clients"}}},
       aggregators::FedNova},
      {{"feddyn",
        "clients' losses have linear terms that align their optima",
        "Acar et al., ICLR 2021",
        {{"alpha", "0.01", "1e-6 to 1000", "factor of the quadratic term"}}},
       aggregators::FedDyn},
      {{"fedbuff",
        "asynchronous: a version of each k updates, which fade with staleness",
        "Nguyen et al., AISTATS 2022",
        {{"k", "10", "1 to 10^6", "updates that make a version"},
         {"alpha", "0.5", "0 to 100", "exponent of (1 + staleness)"},
         Rate("1"),
         {"normalise", "k", "k, weights", "divisor of the sum of the weighted updates"},
         kStale}},
       aggregators::FedBuff},
      {{"fedasync",
        "asynchronous: each update is mixed into the model",
        "Xie, Koyejo, Gupta, 2019",
        {{"mix", "0.6", "1e-6 to 1", "part of the client's weights"},
         {"staleness", "poly", "poly, hinge, constant", "how that part fades"},
         {"a", "", "0 to 1000", "exponent of poly (0.5) or slope of hinge (10)"},
         {"b", "", "0 to 10^9", "staleness up to which hinge is 1 (4)"},
         {"rho", "0.005", "0 to 1000", "factor of a proximal term at the clients"},
         kStale}},
       aggregators::FedAsync},
      {{"diloco",
        "Nesterov momentum at the server, updates by AdamW",
        "Douillard et al., 2023; fragments, overlap and mix: Douillard et al., 2025",
        {Rate("0.7"),
         kMomentum,
         {"fragments", "1", "1 to 1000",
          "parts of the model that are exchanged in turn, without a server"},
         {"overlap", "0", "0 to 10^6", "local steps that clients make while a fragment travels"},
         {"mix", "", "0 to 1",
          "part of a client's own weights that it keeps where a fragment arrives (0.5)"}}},
       aggregators::DiLoCo},
  }};
  return kRows;
}

std::unique_ptr<Aggregator> MakeAggregator(const std::string& text, const FederationInfo& info) {
  const Stage stage = ParseOneStage(text);
  const AggregatorRow& row = FindRow("algorithm", stage.name, AggregatorRows());
  return row.make(OptionReader(stage, row.info.options), info);
}

void Aggregator::ApplyMean(std::span<float>, std::span<const double>) {
  throw Error("algorithm: this one needs each update, not their mean alone");
}

void Aggregator::Advance(const ClientUpdate&, [[maybe_unused]] std::span<float> state) const {
  assert(state.empty());
}

void CorrectGradient(const ClientRule& rule, std::span<const float> weights,
                     std::span<const float> base, std::span<const float> state,
                     std::span<float> gradient) {
  const auto pull = static_cast<float>(rule.proximal + rule.dynamic);
  if (pull > 0) {
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] += pull * (weights[i] - base[i]);
  }
  if (rule.dynamic > 0) {
    for (size_t i = 0; i < gradient.size(); ++i) gradient[i] -= state[i];
  }
}

void CorrectWeights(const ClientRule& rule, std::span<const float> downlink,
                    std::span<const float> state, double rate, std::span<float> weights) {
  if (!rule.control) return;
  const auto step = static_cast<float>(rate);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] -= step * (downlink[i] - state[i]);
}

}  // namespace legacy
