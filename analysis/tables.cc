#include "analysis/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "analysis/csv.h"
#include "analysis/step_parts.h"
#include "analysis/table_text.h"
#include "base/programs/terminal.h"

namespace legacy::analysis {
namespace {

constexpr int kTimeDigits = 4;  // significant digits
constexpr int kRatioDigits = 3;
std::string TimeNumber(double value) { return Fixed(value, Decimals(value, kTimeDigits)); }

// Returns the mean, with its deviation unless all seeds agree.
std::string Show(const Spread& spread, double scale, int decimals, bool sign = false) {
  std::string text = Fixed(spread.mean * scale, decimals, sign);
  const bool agreed = spread.deviation <= 1e-9 * std::abs(spread.mean);
  if (spread.count > 1 && !agreed) text += " ± " + Fixed(spread.deviation * scale, decimals);
  return text;
}

std::string ShowRatio(const Spread& spread) {
  return Show(spread, 1, Decimals(spread.mean, kRatioDigits));
}

std::string ShowTime(const Spread& spread, double scale) {
  return Show(spread, scale, Decimals(spread.mean * scale, kTimeDigits));
}

std::string ShowReached(const CensoredSpread& value, size_t seeds) {
  return fmt::format("{}/{} reached", value.reached, seeds);
}

std::string ShowTime(const CensoredSpread& value, size_t seeds) {
  return value.spread.count > 0 ? ShowTime(value.spread, 1) : ShowReached(value, seeds);
}

std::string ShowMetric(const Metric& metric, const Spread& spread) {
  return Show(spread, metric.Scale(), MetricDecimals(metric, spread.mean));
}

std::string ShowPaired(const Metric& metric, const Spread& spread) {
  if (spread.count == 0) return "-";
  const int decimals = MetricDecimals(metric, spread.mean);
  return fmt::format("{} ({})", Show(spread, metric.Scale(), decimals, true), spread.count);
}

Table MetricTable(const Summary& summary) {
  const Metric& metric = summary.metric;
  Table table{
      Capitalised(metric.title) + ", and simulated time to target (TTA)",
      {"method", "seeds", MetricHeader("final", metric), MetricHeader("best", metric), "TTA s"},
      {}};
  const bool dense = summary.policies.front().speedup_dense.has_value();
  const bool fp16 = summary.policies.front().speedup_fp16.has_value();
  if (dense) table.header.push_back("speed-up over dense");
  if (fp16) table.header.push_back("speed-up over fp16");
  table.header.push_back(metric.fraction ? "final, points over baseline (pairs)"
                                         : "final, over baseline (pairs)");
  for (const PolicySummary& policy : summary.policies) {
    const size_t seeds = policy.seeds.size();
    const auto show_ratio = [&](const CensoredSpread& value) {
      if (!summary.target) return std::string("-");
      return value.spread.count > 0 ? ShowRatio(value.spread) : ShowReached(value, seeds);
    };
    std::vector<std::string> row = {
        MarkedName(policy.name, policy.decisions), fmt::format("{}/{}", policy.finished, seeds),
        ShowMetric(metric, policy.final_metric), ShowMetric(metric, policy.best_metric),
        summary.target ? ShowTime(policy.time_to_target, seeds) : "-"};
    if (dense) row.push_back(show_ratio(*policy.speedup_dense));
    if (fp16) row.push_back(show_ratio(*policy.speedup_fp16));
    row.push_back(policy.name == summary.baseline ? "baseline"
                                                  : ShowPaired(metric, policy.metric_difference));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The table of the rounds, and of the USD and client hours, after which a federated run reached its
// target.
Table TargetTable(const Summary& summary) {
  Table table{"What the target took", {"method", "rounds"}, {}};
  if (summary.priced) table.header.emplace_back("USD");
  table.header.emplace_back("client hours");
  for (const PolicySummary& policy : summary.policies) {
    const size_t seeds = policy.seeds.size();
    const CensoredSpread& rounds = policy.rounds_to_target;
    std::vector<std::string> row = {MarkedName(policy.name, policy.decisions),
                                    rounds.spread.count > 0
                                        ? Show(rounds.spread, 1, seeds > 1 ? 1 : 0)
                                        : ShowReached(rounds, seeds)};
    if (summary.priced) row.push_back(ShowTime(policy.usd_to_target, seeds));
    row.push_back(ShowTime(policy.client_hours_to_target, seeds));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Returns how many times faster the mean step is than the baseline's.
std::string StepSpeedup(const Summary& summary, const PolicySummary& policy) {
  const auto base = std::ranges::find(summary.policies, summary.baseline, &PolicySummary::name);
  const double ratio = base->step_seconds.mean / policy.step_seconds.mean;
  return Fixed(ratio, Decimals(ratio, kRatioDigits));
}

// Adds the parts of the devices' peak that a step uses.
void AddUtilisation(const StepFlops& flops, const PolicySummary& policy,
                    std::vector<std::string>& row) {
  for (const double form : {flops.model, flops.hardware, flops.six_n}) {
    if (form > 0) row.push_back(Fixed(100 * flops.Utilisation(form, policy.step_seconds.mean), 1));
  }
}

// The time of a step comes first if the run has only times.
Table VolumeTable(const Summary& summary, bool times_alone) {
  Table table{times_alone ? "The mean step in ms, and volume against dense fp32"
                          : "Volume against dense fp32, and the mean step in ms",
              {"method"},
              {}};
  const auto name_volume = [&] {
    for (const char* name : {"element ratio", "payload ratio", "traffic ratio"}) {
      table.header.push_back(name);
    }
  };
  if (!times_alone) name_volume();
  table.header.push_back("step");
  if (times_alone) table.header.push_back("step speed-up over " + summary.baseline);
  for (const StepPart& part : kStepParts) table.header.push_back(part.name);
  // Parts of the communication of steps of divided models.
  const auto any = [&](const auto& has) { return std::ranges::any_of(summary.policies, has); };
  const bool sharded = any([](const PolicySummary& policy) { return policy.step.gather >= 0; });
  const bool layers =
      any([](const PolicySummary& policy) { return policy.step.tensor + policy.step.pipe > 0; });
  if (sharded) {
    for (const char* part : {"of it gather", "reduce", "copies"}) table.header.push_back(part);
  }
  if (layers) {
    for (const char* part : {"tensors", "stages"}) table.header.push_back(part);
  }
  const bool contexts = any([](const PolicySummary& policy) { return policy.step.context > 0; });
  const bool experts = any([](const PolicySummary& policy) { return policy.step.expert > 0; });
  if (contexts) table.header.emplace_back("contexts");
  if (experts) table.header.emplace_back("experts");
  if (summary.flops) {
    for (const char* part : {"MFU %", "HFU %"}) table.header.push_back(part);
    if (summary.flops->six_n > 0) table.header.push_back("MFU % by 6N");
  }
  if (times_alone) name_volume();
  const bool priced = std::ranges::any_of(
      summary.policies, [](const PolicySummary& policy) { return policy.egress_usd.count > 0; });
  const bool requested = std::ranges::any_of(summary.policies, [](const PolicySummary& policy) {
    return policy.requested_bytes.has_value();
  });
  if (requested) {
    for (const char* header : {"bytes a step", "asked for"}) table.header.push_back(header);
  }
  if (priced) table.header.push_back("egress USD");
  for (const PolicySummary& policy : summary.policies) {
    std::vector<std::string> row = {MarkedName(policy.name, policy.decisions)};
    const auto add_volume = [&] {
      for (const Spread& ratio :
           {policy.element_ratio, policy.payload_ratio, policy.traffic_ratio}) {
        row.push_back(ShowRatio(ratio));
      }
    };
    if (!times_alone) add_volume();
    const bool known = policy.step_seconds.count > 0;
    row.push_back(ShowTime(policy.step_seconds, 1e3));
    if (times_alone) row.push_back(StepSpeedup(summary, policy));
    for (const StepPart& part : kStepParts) {
      row.push_back(known ? TimeNumber(policy.step.*part.seconds * 1e3) : "-");
    }
    if (sharded) {
      for (const double part : {policy.step.gather, policy.step.reduce, policy.step.replica}) {
        row.push_back(part >= 0 ? TimeNumber(part * 1e3) : "-");
      }
    }
    if (layers) {
      for (const double part : {policy.step.tensor, policy.step.pipe}) {
        row.push_back(part >= 0 ? TimeNumber(part * 1e3) : "-");
      }
    }
    if (contexts) row.push_back(TimeNumber(policy.step.context * 1e3));
    if (experts) row.push_back(TimeNumber(policy.step.expert * 1e3));
    if (summary.flops) AddUtilisation(*summary.flops, policy, row);
    if (times_alone) add_volume();
    if (requested) {
      row.push_back(Show(policy.step_bytes, 1, 0));
      row.push_back(policy.requested_bytes ? Fixed(*policy.requested_bytes, 0) : "-");
    }
    if (priced) row.push_back(ShowTime(policy.egress_usd, 1));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Returns true if a buffer held a frame of RoCEv2.
bool HasRoce(const Summary& summary) {
  return std::ranges::any_of(summary.policies, [](const PolicySummary& policy) {
    return policy.network.roce.max_buffer_bytes > 0;
  });
}

Table NetworkTable(const Summary& summary, bool verbose) {
  Table table{"Network simulation, summed over seeds", {"method", "fidelity"}, {}};
  const auto add = [&](std::initializer_list<const char*> names) {
    table.header.insert(table.header.end(), names.begin(), names.end());
  };
  if (verbose) add({"events", "packets", "fresh steps", "memoised"});
  add({"time-outs", "drops"});
  if (verbose) add({"marks"});
  add({"busiest link", "its use %", "peak %"});
  const bool with_roce = HasRoce(summary);
  if (with_roce) add({"pauses", "paused %", "CNPs", "resent", "headroom %"});
  for (const PolicySummary& policy : summary.policies) {
    const NetworkSummary& network = policy.network;
    std::vector<std::string> row = {MarkedName(policy.name, policy.decisions), network.fidelity};
    const bool simulated = !network.fidelity.empty();
    const bool links = !network.busiest_link.empty();
    const auto count = [&](bool known, int64_t value) {
      row.push_back(known ? std::to_string(value) : "");
    };
    if (verbose) {
      for (const int64_t value :
           {network.events, network.packets, network.fresh_steps, network.memoised_steps}) {
        count(simulated, value);
      }
    }
    count(simulated, network.retransmit_timeouts);
    count(links, network.drops);
    if (verbose) count(links, network.marks);
    row.push_back(network.busiest_link);
    row.push_back(Fixed(network.busiest_utilisation * 100, 1));
    row.push_back(Fixed(network.busiest_peak * 100, 1));
    if (with_roce) {
      const RoceFigures& roce = network.roce;
      row.push_back(std::to_string(roce.pauses));
      row.push_back(Fixed(roce.paused_share * 100, 2));
      row.push_back(std::to_string(roce.cnps));
      row.push_back(std::to_string(roce.resent));
      row.push_back(Fixed(roce.max_headroom_share * 100, 1));
    }
    for (std::string& cell : row) {
      if (cell.empty()) cell.push_back('-');
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// True if the run evaluated, or was meant to. Otherwise only its times are shown.
bool Evaluates(const Summary& summary) {
  const auto evaluated = [](const SeedSummary& seed) { return seed.evaluations > 0; };
  return summary.target || std::ranges::any_of(summary.policies, [&](const PolicySummary& policy) {
           return std::ranges::any_of(policy.seeds, evaluated);
         });
}

std::string Heading(const Summary& summary) {
  const Metric& metric = summary.metric;
  const std::string target =
      summary.target
          ? fmt::format("target {} {}{} (mean of the last 3 evaluations)", metric.title,
                        TimeNumber(*summary.target * metric.Scale()), metric.fraction ? " %" : "")
          : fmt::format("no target{}{}", metric.name.empty() ? "" : " ", metric.title);
  return fmt::format(
      "{}: {} workers, {} parameters, fidelity {}, seeds {}\n"
      "{}, baseline {}\n",
      summary.program, summary.workers, summary.parameters, summary.fidelity,
      fmt::join(summary.seeds, " "), target, summary.baseline);
}

// CsvColumns collects one line of CsvTable and the names of its columns.
struct CsvColumns {
  std::vector<std::string> names;
  std::vector<std::string> fields;

  void Add(const std::string& name, const std::string& field) {
    names.push_back(name);
    fields.push_back(field);
  }
  void Add(const std::string& name, double value) {
    Add(name, std::isnan(value) ? std::string() : CsvNumber(value));
  }
  void Add(const std::string& name, int64_t value) { Add(name, std::to_string(value)); }
  void Add(const std::string& name, const Spread& spread) {
    Add(name + "_mean", spread.mean);
    Add(name + "_deviation", spread.deviation);
  }
  void Add(const std::string& name, const CensoredSpread& value) {
    Add(name + "_reached", int64_t{value.reached});
    Add(name, value.spread);
  }
};

CsvColumns ColumnsOf(const PolicySummary& policy) {
  CsvColumns line;
  line.Add("policy", policy.name);
  line.Add("seeds", static_cast<int64_t>(policy.seeds.size()));
  line.Add("finished_seeds", int64_t{policy.finished});
  line.Add("final_metric", policy.final_metric);
  line.Add("best_metric", policy.best_metric);
  line.Add("time_to_target_seconds", policy.time_to_target);
  line.Add("rounds_to_target", policy.rounds_to_target);
  line.Add("usd_to_target", policy.usd_to_target);
  line.Add("client_hours_to_target", policy.client_hours_to_target);
  line.Add("speedup_over_dense", policy.speedup_dense.value_or(CensoredSpread{}));
  line.Add("speedup_over_fp16", policy.speedup_fp16.value_or(CensoredSpread{}));
  line.Add("metric_difference", policy.metric_difference);
  line.Add("metric_difference_pairs", int64_t{policy.metric_difference.count});
  line.Add("element_ratio", policy.element_ratio);
  line.Add("payload_ratio", policy.payload_ratio);
  line.Add("traffic_ratio", policy.traffic_ratio);
  line.Add("step_bytes", policy.step_bytes);
  line.Add("requested_bytes", policy.requested_bytes.value_or(kUnknown));
  line.Add("egress_usd", policy.egress_usd);
  line.Add("decisions", policy.decisions ? std::to_string(*policy.decisions) : std::string());
  line.Add("step_seconds", policy.step_seconds);
  line.Add("compute_seconds", policy.step.compute);
  line.Add("encode_seconds", policy.step.encode);
  line.Add("communication_seconds", policy.step.communication);
  line.Add("decode_seconds", policy.step.decode);
  line.Add("wait_seconds", policy.step.wait);
  line.Add("hidden_seconds", policy.step.hidden);
  line.Add("gather_seconds", policy.step.gather);
  line.Add("reduce_seconds", policy.step.reduce);
  line.Add("replica_seconds", policy.step.replica);
  line.Add("tensor_seconds", policy.step.tensor);
  line.Add("pipe_seconds", policy.step.pipe);
  line.Add("context_seconds", policy.step.context);
  line.Add("expert_seconds", policy.step.expert);
  line.Add("fidelity", policy.network.fidelity);
  line.Add("events", policy.network.events);
  line.Add("packets", policy.network.packets);
  line.Add("fresh_steps", policy.network.fresh_steps);
  line.Add("memoised_steps", policy.network.memoised_steps);
  line.Add("retransmit_timeouts", policy.network.retransmit_timeouts);
  line.Add("drops", policy.network.drops);
  line.Add("marks", policy.network.marks);
  line.Add("busiest_link", policy.network.busiest_link);
  line.Add("busiest_utilisation", policy.network.busiest_utilisation);
  line.Add("busiest_peak_utilisation", policy.network.busiest_peak);
  RoceFigures::Columns(policy.network.roce, [&](const char* name, const char*, const auto& member) {
    line.Add(name, member);
  });
  return line;
}

}  // namespace

int Decimals(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double rounded_up = std::abs(value) * (1 + 0.5 * std::pow(10, -digits));
  return std::clamp(digits - 1 - static_cast<int>(std::floor(std::log10(rounded_up))), 0, 9);
}

std::string Fixed(double value, int decimals, bool sign) {
  if (std::isnan(value)) return "-";
  return sign ? fmt::format("{:+.{}f}", value, decimals) : fmt::format("{:.{}f}", value, decimals);
}

int MetricDecimals(const Metric& metric, double value) {
  constexpr int kMetricDigits = 4;
  return metric.fraction ? 2 : Decimals(value, kMetricDigits);
}

std::string MetricHeader(const std::string& what, const Metric& metric) {
  return metric.fraction ? what + " %" : what;
}

std::vector<Table> SummaryTables(const Summary& summary, bool verbose) {
  const bool times_alone = !Evaluates(summary);
  std::vector<Table> tables = {VolumeTable(summary, times_alone), NetworkTable(summary, verbose)};
  if (times_alone) return tables;
  if (summary.federated && summary.target) tables.insert(tables.begin(), TargetTable(summary));
  tables.insert(tables.begin(), MetricTable(summary));
  return tables;
}

std::string TextTable(const Summary& summary, bool verbose) {
  std::string text = Wrapped(Heading(summary), OutputColumns());
  for (const Table& table : SummaryTables(summary, verbose)) {
    text += '\n';
    text += RenderText(table);
  }
  if (!summary.notes.empty()) text += "\n";
  for (const std::string& note : summary.notes) {
    text += Wrapped("note: " + note, OutputColumns(), 2) + "\n";
  }
  return text;
}

std::string MarkdownTable(const Summary& summary, bool verbose) {
  std::string text = Heading(summary);
  for (const Table& table : SummaryTables(summary, verbose)) {
    text += '\n';
    text += RenderMarkdown(table);
  }
  if (!summary.notes.empty()) text += "\n";
  for (const std::string& note : summary.notes) text += "- note: " + note + "\n";
  return text;
}

std::string CsvTable(const Summary& summary) {
  std::string text;
  for (const PolicySummary& policy : summary.policies) {
    const CsvColumns line = ColumnsOf(policy);
    if (text.empty()) text = CsvLine(line.names);
    text += CsvLine(line.fields);
  }
  return text;
}

}  // namespace legacy::analysis
