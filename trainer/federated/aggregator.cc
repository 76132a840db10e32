#include "trainer/federated/aggregator.h"

#include <cassert>
#include <vector>

#include "base/error.h"
#include "legacy_rows.h"

namespace legacy {

std::span<const AggregatorRow> AggregatorTable() {
  static const std::vector<AggregatorRow> table = AggregatorRows();
  return table;
}

std::unique_ptr<Aggregator> MakeAggregator(const std::string& text, const FederationInfo& info) {
  const Stage stage = ParseOneStage(text);
  const AggregatorRow& row = FindRow("algorithm", stage.name, AggregatorTable());
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
