// Writer of summary.json. Unknown values (no deviation of one seed, no time where the target was
// not reached) are null.
#include "analysis/metric_json.h"
#include "analysis/summary.h"
#include "base/files/json.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

json ToJson(const Spread& spread) {
  return {{"count", spread.count},
          {"mean", NumberOrNull(spread.mean)},
          {"deviation", NumberOrNull(spread.deviation)}};
}

json ToJson(const CensoredSpread& censored, size_t seeds) {
  return {{"reached", censored.reached},
          {"of", seeds},
          {"mean", NumberOrNull(censored.spread.mean)},
          {"deviation", NumberOrNull(censored.spread.deviation)}};
}

json ToJson(const std::optional<CensoredSpread>& censored, size_t seeds) {
  return censored ? ToJson(*censored, seeds) : json();
}

json OrNull(const std::optional<double>& value) { return value ? json(*value) : json(); }

json ToJson(const StepSplit& step) {
  return {{"total", step.total},
          {"compute", step.compute},
          {"encode", step.encode},
          {"communication", step.communication},
          {"decode", step.decode},
          {"wait", step.wait},
          {"hidden", NumberOrNull(step.hidden)},
          {"gather", NumberOrNull(step.gather)},
          {"reduce", NumberOrNull(step.reduce)},
          {"replica", NumberOrNull(step.replica)},
          {"tensor", NumberOrNull(step.tensor)},
          {"pipe", NumberOrNull(step.pipe)},
          {"context", NumberOrNull(step.context)},
          {"expert", NumberOrNull(step.expert)}};
}

json ToJson(const SeedSummary& seed) {
  return {{"seed", seed.seed},
          {"finished", seed.finished},
          {"steps", seed.steps},
          {"evaluations", seed.evaluations},
          {"simulated_seconds", seed.simulated_seconds},
          {"final_metric", NumberOrNull(seed.final_metric)},
          {"best_metric", NumberOrNull(seed.best_metric)},
          {"time_to_target_seconds", OrNull(seed.time_to_target)},
          {"rounds_to_target", OrNull(seed.rounds_to_target)},
          {"usd_to_target", OrNull(seed.usd_to_target)},
          {"client_hours_to_target", OrNull(seed.client_hours_to_target)},
          {"element_ratio", NumberOrNull(seed.element_ratio)},
          {"payload_ratio", NumberOrNull(seed.payload_ratio)},
          {"traffic_ratio", NumberOrNull(seed.traffic_ratio)},
          {"step_bytes", NumberOrNull(seed.step_bytes)},
          {"egress_usd", OrNull(seed.egress_usd)},
          {"decisions", seed.decisions ? json(*seed.decisions) : json()},
          {"step_seconds", ToJson(seed.step)}};
}

json ToJson(const NetworkSummary& network) {
  json object = {{"fidelity", network.fidelity},
                 {"events", network.events},
                 {"packets", network.packets},
                 {"fresh_steps", network.fresh_steps},
                 {"memoised_steps", network.memoised_steps},
                 {"retransmit_timeouts", network.retransmit_timeouts},
                 {"drops", network.drops},
                 {"marks", network.marks},
                 {"busiest_link", network.busiest_link},
                 {"busiest_utilisation", NumberOrNull(network.busiest_utilisation)},
                 {"busiest_peak_utilisation", NumberOrNull(network.busiest_peak)}};
  RoceFigures::Columns(network.roce, [&](const char* name, const char*, const auto& member) {
    object[name] = member;
  });
  return object;
}

json ToJson(const PolicySummary& policy) {
  json seeds = json::array();
  for (const SeedSummary& seed : policy.seeds) seeds.push_back(ToJson(seed));
  const size_t count = policy.seeds.size();
  return {{"name", policy.name},
          {"complete", policy.complete},
          {"finished_seeds", policy.finished},
          {"final_metric", ToJson(policy.final_metric)},
          {"best_metric", ToJson(policy.best_metric)},
          {"time_to_target_seconds", ToJson(policy.time_to_target, count)},
          {"rounds_to_target", ToJson(policy.rounds_to_target, count)},
          {"usd_to_target", ToJson(policy.usd_to_target, count)},
          {"client_hours_to_target", ToJson(policy.client_hours_to_target, count)},
          {"speedup_over_dense", ToJson(policy.speedup_dense, count)},
          {"speedup_over_fp16", ToJson(policy.speedup_fp16, count)},
          {"metric_difference", ToJson(policy.metric_difference)},
          {"element_ratio", ToJson(policy.element_ratio)},
          {"payload_ratio", ToJson(policy.payload_ratio)},
          {"traffic_ratio", ToJson(policy.traffic_ratio)},
          {"step_bytes", ToJson(policy.step_bytes)},
          {"requested_bytes", policy.requested_bytes ? json(*policy.requested_bytes) : json()},
          {"egress_usd", ToJson(policy.egress_usd)},
          {"decisions", policy.decisions ? json(*policy.decisions) : json()},
          {"idle", IsIdle(policy.decisions)},
          {"step_seconds", ToJson(policy.step_seconds)},
          {"step_split_seconds", ToJson(policy.step)},
          {"network", ToJson(policy.network)},
          {"seeds", std::move(seeds)}};
}

}  // namespace

json ToJson(const Summary& summary) {
  json policies = json::array();
  for (const PolicySummary& policy : summary.policies) policies.push_back(ToJson(policy));
  std::optional<Target> target;
  if (summary.target) target = Target{summary.metric.name, *summary.target};
  return {{"format", kFormatVersion},
          {"program", summary.program},
          {"workers", summary.workers},
          {"parameters", summary.parameters},
          {"seeds", summary.seeds},
          {"fidelity", summary.fidelity},
          {"metric", summary.metric.name.empty() ? json() : MetricJson(summary.metric)},
          {"target", TargetJson(target)},
          {"baseline", summary.baseline},
          {"policies", std::move(policies)},
          {"notes", summary.notes}};
}

}  // namespace legacy::analysis
