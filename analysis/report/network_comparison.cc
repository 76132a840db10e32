#include "analysis/report/network_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/quantities.h"
#include "analysis/table_text.h"
#include "analysis/tables.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

// Returns the mean time to target; nan if not all seeds reached the target.
double TimeOf(const PolicySummary& policy) { return policy.time_to_target.spread.mean; }

std::string TimeCell(const PolicySummary& policy) {
  const CensoredSpread& time = policy.time_to_target;
  if (time.spread.count == 0) {
    return fmt::format("{}/{} reached", time.reached, policy.seeds.size());
  }
  const std::string text = ShowNumber(time.spread.mean);
  if (!policy.speedup_dense || policy.speedup_dense->spread.count == 0) return text;
  return text + fmt::format(" ({}x)", ShowNumber(policy.speedup_dense->spread.mean));
}

// Returns the mean step in ms, and how many times shorter it is than that of dense.
std::string StepCell(const PolicySummary& policy, const Summary& summary) {
  const std::string text = ShowNumber(policy.step.total * 1e3);
  const PolicySummary* dense = FindPolicy(summary, "dense");
  if (dense == nullptr || dense == &policy) return text;
  return text + fmt::format(" ({}x)", ShowNumber(dense->step.total / policy.step.total));
}

// Returns the ratio of computing to communication in a step, as "1 : 64".
std::string RatioCell(double ratio) {
  return std::isfinite(ratio) ? fmt::format("1 : {}", ShowNumber(ratio)) : "-";
}

double BaselineRatio(const NetworkResult& network) {
  const PolicySummary* policy = FindPolicy(network.summary, network.summary.baseline);
  return policy == nullptr ? kUnknown : policy->step.communication / policy->step.compute;
}

// Returns MFU and HFU of the baseline's steps, as "41.2 (54.9)".
std::string UtilisationCell(const Summary& summary) {
  const PolicySummary* policy = FindPolicy(summary, summary.baseline);
  if (policy == nullptr || !summary.flops) return "-";
  const auto percent = [&](double flops) {
    return 100 * summary.flops->Utilisation(flops, policy->step_seconds.mean);
  };
  return fmt::format("{:.1f} ({:.1f})", percent(summary.flops->model),
                     percent(summary.flops->hardware));
}

double WellKnownRatio(const NetworkResult& network, const std::string& model) {
  for (const auto& [name, ratio] : network.well_known) {
    if (name == model) return ratio;
  }
  return kUnknown;
}

}  // namespace

std::vector<NetworkResult> ReadNetworks(const RunDirectory& run, const Summary& own,
                                        const SummaryOptions& options) {
  const auto list = run.manifest.document.find("networks");
  if (list == run.manifest.document.end()) return {};
  std::vector<NetworkResult> networks;
  try {
    for (const nlohmann::json& entry : *list) {
      const std::string name = entry.at("name").get<std::string>();
      const std::filesystem::path folder = entry.at("directory").get<std::string>();
      if (networks.empty()) {
        networks.push_back({name, own});
      } else {
        RunDirectory further = ReadRunDirectory(run.path / folder);
        networks.push_back({name, Summarise(further, options)});
        RunDirectory& rows = networks.back().rows;
        rows.manifest = std::move(further.manifest);
        rows.steps = std::move(further.steps);
        rows.evaluations = std::move(further.evaluations);
      }
      for (const nlohmann::json& known : entry.value("well_known", nlohmann::json::array())) {
        networks.back().well_known.emplace_back(known.at("model").get<std::string>(),
                                                known.at("ratio").get<double>());
      }
    }
  } catch (const nlohmann::json::exception&) {
    throw Error((run.path / "manifest.json").string() + ": networks", list->dump(),
                "a list of {\"name\": ..., \"directory\": ..., \"well_known\": [...]}");
  }
  return networks;
}

// If there is no target, the table has steps.
Table NetworksTable(const std::vector<NetworkResult>& networks) {
  const Summary& own = networks.front().summary;
  const std::string what = own.target ? "Seconds to the target" : "The mean step in ms";
  Table table{
      what + " on each network, from the same trainings (times faster than dense)", {"method"}, {}};
  const Metric& metric = own.metric;
  if (own.target) table.header.push_back(MetricHeader("final", metric));
  for (const NetworkResult& network : networks) table.header.push_back(network.name);
  for (size_t p = 0; p < own.policies.size(); ++p) {
    const PolicySummary& policy = own.policies[p];
    table.rows.push_back({policy.name});
    const double value = policy.final_metric.mean;
    if (own.target) {
      table.rows.back().push_back(Fixed(value * metric.Scale(), MetricDecimals(metric, value)));
    }
    for (const NetworkResult& network : networks) {
      const PolicySummary& there = network.summary.policies[p];
      table.rows.back().push_back(own.target ? TimeCell(there) : StepCell(there, network.summary));
    }
  }
  const auto add_row = [&](const std::string& label) {
    table.rows.push_back({label});
    if (own.target) table.rows.back().push_back("");
  };
  add_row(own.baseline + ", compute : communication");
  for (const NetworkResult& network : networks) {
    table.rows.back().push_back(RatioCell(BaselineRatio(network)));
  }
  if (own.flops) {
    add_row(own.baseline + ", MFU % (HFU %)");
    for (const NetworkResult& network : networks) {
      table.rows.back().push_back(UtilisationCell(network.summary));
    }
  }
  const auto paused = [](const NetworkResult& network) {
    const PolicySummary* baseline = FindPolicy(network.summary, network.summary.baseline);
    return baseline == nullptr ? 0 : baseline->network.roce.paused_share;
  };
  if (std::ranges::any_of(networks, [&](const auto& network) { return paused(network) > 0; })) {
    add_row(own.baseline + ", link time paused %");
    for (const NetworkResult& network : networks) {
      table.rows.back().push_back(Fixed(paused(network) * 100, 2));
    }
  }
  for (const auto& [model, own_ratio] : networks.front().well_known) {
    add_row(fmt::format("{}, dense step", model));
    for (const NetworkResult& network : networks) {
      table.rows.back().push_back(RatioCell(WellKnownRatio(network, model)));
    }
  }
  return table;
}

std::string NetworksText(const std::vector<NetworkResult>& networks) {
  return RenderText(NetworksTable(networks));
}

std::string NetworksMarkdown(const std::vector<NetworkResult>& networks) {
  return RenderMarkdown(NetworksTable(networks));
}

std::string NetworksCsv(const std::vector<NetworkResult>& networks) {
  const auto number = [](double value) {
    return std::isnan(value) ? std::string() : CsvNumber(value);
  };
  std::string text =
      CsvLine({"network", "policy", "seeds", "reached", "time_to_target_seconds_mean",
               "time_to_target_seconds_deviation", "speedup_over_dense_mean", "final_metric_mean",
               "step_seconds_mean", "compute_seconds", "encode_seconds", "communication_seconds",
               "decode_seconds", "wait_seconds", "pauses", "paused_share"});
  for (const NetworkResult& network : networks) {
    for (const PolicySummary& policy : network.summary.policies) {
      const CensoredSpread dense = policy.speedup_dense.value_or(CensoredSpread{});
      text += CsvLine({network.name, policy.name, std::to_string(policy.seeds.size()),
                       std::to_string(policy.time_to_target.reached), number(TimeOf(policy)),
                       number(policy.time_to_target.spread.deviation), number(dense.spread.mean),
                       number(policy.final_metric.mean), number(policy.step_seconds.mean),
                       number(policy.step.compute), number(policy.step.encode),
                       number(policy.step.communication), number(policy.step.decode),
                       number(policy.step.wait), std::to_string(policy.network.roce.pauses),
                       number(policy.network.roce.paused_share)});
    }
  }
  return text;
}

}  // namespace legacy::analysis
