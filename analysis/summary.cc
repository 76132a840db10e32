#include "analysis/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "analysis/federated/round_figures.h"
#include "analysis/summary_notes.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

constexpr size_t kWindow = 3;  // number of evaluations whose mean must reach the target
// Rounding of a sum of values, relative to the target where that is above 1; far below what one
// test sample changes.
constexpr double kRounding = 1e-9;
constexpr double kBytesPerElement = 4;  // fp32

using Key = std::pair<std::string, uint64_t>;  // policy, seed

struct SeedRows {
  std::vector<const StepRow*> steps;
  std::vector<EvaluationRow> evaluations;
  const NetworkRow* network = nullptr;
  std::optional<double> egress_usd;
  int64_t decisions = 0;
  std::vector<const RoundRow*> rounds;
};

std::map<Key, SeedRows> Group(const RunDirectory& run) {
  std::map<Key, SeedRows> groups;
  for (const StepRow& row : run.steps) groups[{row.policy, row.seed}].steps.push_back(&row);
  for (const EvaluationRow& row : run.evaluations) {
    groups[{row.policy, row.seed}].evaluations.push_back(row);
  }
  for (const RoundRow& row : run.rounds) groups[{row.policy, row.seed}].rounds.push_back(&row);
  for (const NetworkRow& row : run.network) groups[{row.policy, row.seed}].network = &row;
  for (const DecisionRow& row : run.decisions) {
    int64_t& decisions = groups[{row.policy, row.seed}].decisions;
    decisions = std::max(decisions, row.decision);
  }
  for (const LinkRow& row : run.links) {
    if (!(row.usd_per_gb > 0)) continue;
    std::optional<double>& usd = groups[{row.policy, row.seed}].egress_usd;
    usd = usd.value_or(0) + row.usd;
  }
  return groups;
}

void Add(StepSplit& sum, const StepSplit& other, double weight) {
  sum.total += weight * other.total;
  sum.compute += weight * other.compute;
  sum.encode += weight * other.encode;
  sum.communication += weight * other.communication;
  sum.decode += weight * other.decode;
  sum.wait += weight * other.wait;
  sum.hidden += weight * other.hidden;
  sum.gather += weight * other.gather;
  sum.reduce += weight * other.reduce;
  sum.replica += weight * other.replica;
  sum.tensor += weight * other.tensor;
  sum.pipe += weight * other.pipe;
  sum.context += weight * other.context;
  sum.expert += weight * other.expert;
}

void AddVolume(SeedSummary& seed, const std::vector<const StepRow*>& steps, int64_t parameters) {
  double elements = 0, messages = 0, nic = 0, dense_nic = 0;
  for (const StepRow* row : steps) {
    elements += row->elements_sent;
    messages += row->message_bytes;
    nic += row->nic_bytes;
    dense_nic += row->dense_nic_bytes;
    Add(seed.step,
        {row->step_seconds, row->compute_seconds, row->encode_seconds, row->communication_seconds,
         row->decode_seconds, row->wait_seconds, row->hidden_seconds.value_or(kUnknown),
         row->gather_seconds.value_or(kUnknown), row->reduce_seconds.value_or(kUnknown),
         row->replica_seconds.value_or(kUnknown), row->tensor_seconds.value_or(kUnknown),
         row->pipe_seconds.value_or(kUnknown), row->context_seconds.value_or(kUnknown),
         row->expert_seconds.value_or(kUnknown)},
        1.0 / static_cast<double>(steps.size()));
  }
  const double dense = static_cast<double>(parameters) * static_cast<double>(steps.size());
  seed.element_ratio = dense / elements;
  seed.payload_ratio = kBytesPerElement * dense / messages;
  seed.traffic_ratio = dense_nic / nic;
  seed.step_bytes = messages / static_cast<double>(steps.size());
}

// Sets the results of evaluations: last and best value of the metric, and the time to target.
void AddMetric(SeedSummary& seed, const SeedRows& rows, const Summary& summary, size_t position) {
  const std::vector<EvaluationRow>& evaluations = rows.evaluations;
  if (summary.metric.name.empty()) return;
  std::vector<double> values;
  for (const EvaluationRow& row : evaluations) {
    values.push_back(row.metrics.at(position));
    if (summary.metric.IsBetter(values.back(), seed.best_metric)) seed.best_metric = values.back();
  }
  if (!values.empty()) seed.final_metric = values.back();
  if (!summary.target) return;
  const auto reached = TargetReached(summary.metric, *summary.target, values);
  if (!reached) return;
  seed.time_to_target = evaluations[*reached].simulated_seconds;
  seed.time_before_target = *reached == 0 ? 0 : evaluations[*reached - 1].simulated_seconds;
  if (rows.rounds.empty()) return;
  const RoundTotals totals = TotalsTo(rows.rounds, evaluations[*reached].step);
  seed.rounds_to_target = totals.rounds;
  seed.usd_to_target = totals.usd;
  seed.client_hours_to_target = totals.client_hours;
}

SeedSummary SummariseSeed(uint64_t number, const SeedRows& rows, const Summary& summary,
                          size_t position) {
  SeedSummary seed;
  seed.seed = number;
  seed.finished = rows.network != nullptr;
  seed.steps = static_cast<int64_t>(rows.steps.size());
  seed.evaluations = static_cast<int64_t>(rows.evaluations.size());
  if (!rows.steps.empty()) {
    seed.simulated_seconds = rows.steps.back()->simulated_seconds;
    AddVolume(seed, rows.steps, summary.parameters);
  }
  AddMetric(seed, rows, summary, position);
  seed.egress_usd = rows.egress_usd;
  return seed;
}

// Returns the seeds over which spreads are computed.
std::vector<const SeedSummary*> Counted(const PolicySummary& policy) {
  std::vector<const SeedSummary*> counted;
  for (const SeedSummary& seed : policy.seeds) {
    if (policy.finished > 0 ? seed.finished : seed.steps > 0) counted.push_back(&seed);
  }
  return counted;
}

// Returns the spread of the values that are known. A seed without evaluations has no metric.
Spread SpreadOver(const std::vector<const SeedSummary*>& seeds, double SeedSummary::*value) {
  std::vector<double> values;
  for (const SeedSummary* seed : seeds) {
    if (!std::isnan(seed->*value)) values.push_back(seed->*value);
  }
  return SpreadOf(values);
}

CensoredSpread Censored(const PolicySummary& policy, std::optional<double> SeedSummary::*cost) {
  std::vector<double> values;
  for (const SeedSummary& seed : policy.seeds) {
    if (seed.*cost) values.push_back(*(seed.*cost));
  }
  CensoredSpread result;
  result.reached = static_cast<int>(values.size());
  if (values.size() == policy.seeds.size()) result.spread = SpreadOf(values);
  return result;
}

void AddSpreads(PolicySummary& policy) {
  const std::vector<const SeedSummary*> counted = Counted(policy);
  for (const SeedSummary* seed : counted) {
    if (!seed->decisions) continue;
    policy.decisions = std::min(policy.decisions.value_or(*seed->decisions), *seed->decisions);
  }
  policy.final_metric = SpreadOver(counted, &SeedSummary::final_metric);
  policy.best_metric = SpreadOver(counted, &SeedSummary::best_metric);
  policy.element_ratio = SpreadOver(counted, &SeedSummary::element_ratio);
  policy.payload_ratio = SpreadOver(counted, &SeedSummary::payload_ratio);
  policy.traffic_ratio = SpreadOver(counted, &SeedSummary::traffic_ratio);
  policy.step_bytes = SpreadOver(counted, &SeedSummary::step_bytes);
  std::vector<double> steps;
  std::vector<double> dollars;
  for (const SeedSummary* seed : counted) {
    steps.push_back(seed->step.total);
    if (seed->egress_usd) dollars.push_back(*seed->egress_usd);
    Add(policy.step, seed->step, 1.0 / static_cast<double>(counted.size()));
  }
  policy.step_seconds = SpreadOf(steps);
  policy.egress_usd = SpreadOf(dollars);
  policy.time_to_target = Censored(policy, &SeedSummary::time_to_target);
  policy.rounds_to_target = Censored(policy, &SeedSummary::rounds_to_target);
  policy.usd_to_target = Censored(policy, &SeedSummary::usd_to_target);
  policy.client_hours_to_target = Censored(policy, &SeedSummary::client_hours_to_target);
}

CensoredSpread SpeedUp(const PolicySummary& policy, const PolicySummary& reference) {
  std::vector<double> ratios;
  for (size_t i = 0; i < policy.seeds.size(); ++i) {
    const auto& mine = policy.seeds[i].time_to_target;
    const auto& other = reference.seeds[i].time_to_target;
    if (mine && other) ratios.push_back(*other / *mine);
  }
  CensoredSpread result;
  result.reached = static_cast<int>(ratios.size());
  if (ratios.size() == policy.seeds.size()) result.spread = SpreadOf(ratios);
  return result;
}

Spread MetricDifference(const PolicySummary& policy, const PolicySummary& baseline) {
  std::vector<double> differences;
  for (size_t i = 0; i < policy.seeds.size(); ++i) {
    const SeedSummary& mine = policy.seeds[i];
    const SeedSummary& other = baseline.seeds[i];
    const double difference = mine.final_metric - other.final_metric;
    if (mine.finished && other.finished && !std::isnan(difference)) {
      differences.push_back(difference);
    }
  }
  return SpreadOf(differences);
}

void Compare(Summary& summary) {
  const PolicySummary* baseline = FindPolicy(summary, summary.baseline);
  const PolicySummary* dense = FindPolicy(summary, "dense");
  const PolicySummary* fp16 = FindPolicy(summary, "fp16");
  for (PolicySummary& policy : summary.policies) {
    policy.metric_difference = MetricDifference(policy, *baseline);
    if (dense != nullptr) policy.speedup_dense = SpeedUp(policy, *dense);
    if (fp16 != nullptr) policy.speedup_fp16 = SpeedUp(policy, *fp16);
  }
}

void AddNetwork(Summary& summary, const RunDirectory& run) {
  std::map<std::string, NetworkSummary*> networks;
  std::map<std::string, int> seeds;  // finished so far
  for (PolicySummary& policy : summary.policies) networks[policy.name] = &policy.network;
  for (const NetworkRow& row : run.network) {
    NetworkSummary& network = *networks.at(row.policy);
    network.fidelity = row.fidelity;
    network.events += row.events;
    network.packets += row.packets;
    network.fresh_steps += row.fresh_steps;
    network.memoised_steps += row.memoised_steps;
    network.retransmit_timeouts += row.retransmit_timeouts;
    RoceFigures& roce = network.roce;
    roce.pauses += row.roce.pauses;
    roce.paused_share += (row.roce.paused_share - roce.paused_share) / ++seeds[row.policy];
    roce.cnps += row.roce.cnps;
    roce.naks += row.roce.naks;
    roce.resent += row.roce.resent;
    roce.reordered += row.roce.reordered;
    roce.max_buffer_bytes = std::max(roce.max_buffer_bytes, row.roce.max_buffer_bytes);
    roce.max_headroom_share = std::max(roce.max_headroom_share, row.roce.max_headroom_share);
  }
  for (const LinkRow& row : run.links) {
    NetworkSummary& network = *networks.at(row.policy);
    network.drops += row.drops;
    network.marks += row.marks;
    // The utilisation is unknown (nan) at first.
    if (!(row.mean_utilisation <= network.busiest_utilisation)) {
      network.busiest_utilisation = row.mean_utilisation;
      network.busiest_peak = row.peak_utilisation;
      network.busiest_link = row.from + " -> " + row.to;
    }
  }
}

// Returns the FLOPs of a step that the manifest of a shape's run has.
std::optional<StepFlops> FlopsIn(const nlohmann::json& manifest) {
  const auto shape = manifest.find("shape");
  if (shape == manifest.end() || !shape->contains("flops")) return std::nullopt;
  const nlohmann::json& flops = shape->at("flops");
  return StepFlops{flops.at("model"), flops.at("hardware"), flops.at("six_n"), flops.at("peak")};
}

Summary Start(const RunDirectory& run, const SummaryOptions& options) {
  const Manifest& manifest = run.manifest;
  Summary summary;
  summary.program = manifest.program;
  summary.workers = manifest.workers;
  summary.parameters = manifest.parameters;
  summary.flops = FlopsIn(manifest.document);
  summary.seeds = manifest.seeds;
  summary.fidelity = manifest.fidelity;
  const std::optional<Target> target = options.target ? options.target : manifest.target;
  if (target) {
    summary.metric = FindMetric(*target, manifest.metrics);
    summary.target = target->value;
  } else if (!manifest.metrics.empty()) {
    summary.metric = manifest.metrics.front();
  }
  const auto& policies = manifest.policies;
  const bool has_dense = std::ranges::find(policies, "dense") != policies.end();
  summary.baseline = !options.baseline.empty() ? options.baseline
                     : has_dense               ? "dense"
                                               : policies.front();
  if (std::ranges::find(policies, summary.baseline) == policies.end()) {
    throw Error("baseline", summary.baseline, fmt::format("{}", fmt::join(policies, ", ")));
  }
  summary.federated = !run.rounds.empty();
  summary.priced = std::ranges::any_of(
      run.rounds, [](const RoundRow& row) { return row.usd + row.usd_hours > 0; });
  summary.notes = run.notes;
  return summary;
}

}  // namespace

const PolicySummary* FindPolicy(const Summary& summary, const std::string& name) {
  const auto found = std::ranges::find(summary.policies, name, &PolicySummary::name);
  return found == summary.policies.end() ? nullptr : &*found;
}

bool IsIdle(const std::optional<int64_t>& decisions) {
  return decisions && *decisions < kFewestDecisions;
}

std::string MarkedName(const std::string& policy, const std::optional<int64_t>& decisions) {
  return IsIdle(decisions) ? policy + kIdleMark : policy;
}

std::string IdleText(int64_t decisions) {
  return decisions == 0 ? "never decided" : decisions == 1 ? "decided once" : "decided twice";
}

Spread SpreadOf(const std::vector<double>& values) {
  Spread spread;
  spread.count = static_cast<int>(values.size());
  if (values.empty()) return spread;
  double sum = 0;
  for (const double value : values) sum += value;
  spread.mean = sum / static_cast<double>(values.size());
  if (values.size() < 2) return spread;
  double squares = 0;
  for (const double value : values) squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return spread;
}

std::optional<size_t> TargetReached(const Metric& metric, double target,
                                    std::span<const double> values) {
  const double rounding = kRounding * std::max(1.0, target);
  const bool higher = metric.better == Metric::Better::kHigher;
  const double least = static_cast<double>(kWindow) * target + (higher ? -rounding : rounding);
  for (size_t i = kWindow - 1; i < values.size(); ++i) {
    double sum = 0;
    for (size_t j = i + 1 - kWindow; j <= i; ++j) sum += values[j];
    if (metric.Reaches(sum, least)) return i;
  }
  return std::nullopt;
}

bool CrossesEarlier(const Metric& metric, double target, std::span<const double> values) {
  const size_t end = TargetReached(metric, target, values).value_or(values.size());
  return std::ranges::any_of(values.first(end),
                             [&](double value) { return metric.Reaches(value, target); });
}

Summary Summarise(const RunDirectory& run, const SummaryOptions& options) {
  Summary summary = Start(run, options);
  const size_t position = MetricPosition(run.manifest.metrics, summary.metric.name);
  const std::map<Key, SeedRows> groups = Group(run);
  const SeedRows none;
  for (const std::string& name : run.manifest.policies) {
    PolicySummary policy;
    policy.name = name;
    const auto requested = run.manifest.requested_bytes.find(name);
    if (requested != run.manifest.requested_bytes.end()) {
      policy.requested_bytes = requested->second;
    }
    policy.complete = true;
    for (const uint64_t seed : run.manifest.seeds) {
      const auto group = groups.find({name, seed});
      const SeedRows& rows = group == groups.end() ? none : group->second;
      policy.seeds.push_back(SummariseSeed(seed, rows, summary, position));
      SeedSummary& added = policy.seeds.back();
      if (run.manifest.decisions.contains(name)) added.decisions = rows.decisions;
      if (added.finished) ++policy.finished;
      if (!added.finished || added.evaluations == 0) policy.complete = false;
    }
    AddSpreads(policy);
    summary.policies.push_back(std::move(policy));
  }
  Compare(summary);
  AddNetwork(summary, run);
  AddNotes(run.manifest, summary);
  return summary;
}

}  // namespace legacy::analysis
