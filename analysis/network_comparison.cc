#include "analysis/network_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/csv.h"
#include "analysis/table_text.h"
#include "analysis/tables.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

constexpr int kDigits = 3;  // significant digits
// Policies whose times exceed that of the fastest by at most this fraction are named with it.
constexpr double kNear = 0.05;

std::string Number(double value) { return Fixed(value, Decimals(value, kDigits)); }

std::string Seconds(double seconds) {
  if (seconds >= 1) return Number(seconds) + " s";
  return seconds >= 1e-3 ? Number(seconds * 1e3) + " ms" : Number(seconds * 1e6) + " us";
}

// Returns the mean time to target; nan where not all seeds reached the target.
double TimeOf(const PolicySummary& policy) { return policy.time_to_target.spread.mean; }
double CodecSeconds(const PolicySummary& policy) { return policy.step.encode + policy.step.decode; }

std::string TimeCell(const PolicySummary& policy) {
  const CensoredSpread& time = policy.time_to_target;
  if (time.spread.count == 0) {
    return fmt::format("{}/{} reached", time.reached, policy.seeds.size());
  }
  const std::string text = Fixed(time.spread.mean, Decimals(time.spread.mean, kDigits));
  if (!policy.speedup_dense || policy.speedup_dense->spread.count == 0) return text;
  return text + fmt::format(" ({}x)", Number(policy.speedup_dense->spread.mean));
}

// Returns the mean step in ms, and how many times shorter it is than that of dense.
std::string StepCell(const PolicySummary& policy, const Summary& summary) {
  const std::string text = Number(policy.step.total * 1e3);
  const PolicySummary* dense = FindPolicy(summary, "dense");
  if (dense == nullptr || dense == &policy) return text;
  return text + fmt::format(" ({}x)", Number(dense->step.total / policy.step.total));
}

// Returns the ratio of computing to communication in a step, as "1 : 64".
std::string RatioCell(double ratio) {
  return std::isfinite(ratio) ? fmt::format("1 : {}", Number(ratio)) : "-";
}

double BaselineRatio(const NetworkResult& network) {
  const PolicySummary* policy = FindPolicy(network.summary, network.summary.baseline);
  return policy == nullptr ? kUnknown : policy->step.communication / policy->step.compute;
}

double WellKnownRatio(const NetworkResult& network, const std::string& model) {
  for (const auto& [name, ratio] : network.well_known) {
    if (name == model) return ratio;
  }
  return kUnknown;
}

// Where there is no target, the table has steps.
Table NetworksTable(const std::vector<NetworkResult>& networks) {
  const Summary& own = networks.front().summary;
  const std::string what = own.target ? "Seconds to the target" : "The mean step in ms";
  Table table{
      what + " on each network, from the same trainings (times faster than dense)", {"policy"}, {}};
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

// Returns the policies that reached the target with all seeds, the fastest first.
std::vector<const PolicySummary*> Ranked(const Summary& summary) {
  std::vector<const PolicySummary*> ranked;
  for (const PolicySummary& policy : summary.policies) {
    if (policy.time_to_target.spread.count > 0) ranked.push_back(&policy);
  }
  std::ranges::stable_sort(ranked, {}, [](const PolicySummary* policy) { return TimeOf(*policy); });
  return ranked;
}

// Returns a text such as "legacy-both is first on 1Gbps (0.38 s, 3.2 times faster than dense;
// topk-global within 5 %)".
std::string First(const NetworkResult& network, const std::vector<const PolicySummary*>& ranked) {
  const PolicySummary& first = *ranked.front();
  std::string text =
      fmt::format("{} is first on {} ({}", first.name, network.name, Seconds(TimeOf(first)));
  if (first.speedup_dense && first.speedup_dense->spread.count > 0 && first.name != "dense") {
    text += fmt::format(", {} times faster than dense", Number(first.speedup_dense->spread.mean));
  }
  std::vector<std::string> near;
  for (size_t i = 1; i < ranked.size(); ++i) {
    if (TimeOf(*ranked[i]) <= TimeOf(first) * (1 + kNear)) near.push_back(ranked[i]->name);
  }
  if (!near.empty()) {
    text += fmt::format("; within {:.0f} %: {}", kNear * 100, fmt::join(near, ", "));
  }
  return text + ")";
}

double StepsOf(const PolicySummary& policy) { return TimeOf(policy) / policy.step.total; }

// Returns why `winner` beats `other` on a network: its steps are shorter, with the reason, or it
// needs fewer of them.
std::string Why(const PolicySummary& winner, const PolicySummary& other) {
  const double step_gain = other.step.total / winner.step.total;
  const double steps_gain = StepsOf(other) / StepsOf(winner);
  const std::string steps = fmt::format("needs {:.0f} steps to the target and {} {:.0f}",
                                        StepsOf(winner), other.name, StepsOf(other));
  if (step_gain < 1 && steps_gain > 1) return winner.name + " " + steps;
  const double codec = CodecSeconds(other) - CodecSeconds(winner);
  const double traffic = other.step.communication - winner.step.communication;
  const bool by_codec = codec > traffic;
  const auto part = [&](const PolicySummary& policy) {
    return Seconds(by_codec ? CodecSeconds(policy) : policy.step.communication);
  };
  std::string text = fmt::format(
      "a step of {} takes {} and one of {} {}, of which {} {} and {}", winner.name,
      Seconds(winner.step.total), other.name, Seconds(other.step.total),
      by_codec ? "encoding and decoding are" : "communication is", part(winner), part(other));
  if (by_codec && traffic < 0) {
    text += fmt::format(": more than the {} of communication that {} saves", Seconds(-traffic),
                        other.name);
  }
  if (steps_gain > 1 && step_gain < steps_gain) text += "; it also " + steps;
  return text;
}

std::string Turn(const NetworkResult& from, const PolicySummary& before, const NetworkResult& to,
                 const PolicySummary& after) {
  const PolicySummary* loser = FindPolicy(to.summary, before.name);
  std::string text = fmt::format("From {} to {} the order changes: ", from.name, to.name);
  if (loser->time_to_target.spread.count == 0) {
    return text + fmt::format("{} does not reach the target there with every seed.", loser->name);
  }
  return text + "there " + Why(after, *loser) + ".";
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
      networks.push_back(
          {name,
           networks.empty() ? own : Summarise(ReadRunDirectory(run.path / folder), options),
           {}});
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

std::string NetworksConclusion(const std::vector<NetworkResult>& networks) {
  std::vector<std::string> firsts;
  std::string turns;
  const NetworkResult* before = nullptr;
  const PolicySummary* winner = nullptr;
  for (const NetworkResult& network : networks) {
    const std::vector<const PolicySummary*> ranked = Ranked(network.summary);
    if (ranked.empty()) continue;
    firsts.push_back(First(network, ranked));
    if (winner != nullptr && winner->name != ranked.front()->name) {
      turns += fmt::format(" {}", Turn(*before, *winner, network, *ranked.front()));
    }
    before = &network;
    winner = ranked.front();
  }
  if (firsts.empty()) return "";
  return fmt::format("{}.{}\n", fmt::join(firsts, "; "),
                     turns.empty() ? " The first policy is the same on all networks." : turns);
}

}  // namespace legacy::analysis
