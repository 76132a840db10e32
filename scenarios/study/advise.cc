#include "scenarios/study/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/scenario_network.h"
#include "scenarios/study/grid.h"
#include "scenarios/study/quantity.h"
#include "scenarios/study/run.h"

namespace legacy {
namespace {

constexpr int64_t kRates = 7;         // three for each factor of 10, in both directions
constexpr double kReach = 10;         // factor to the slowest and to the fastest link
constexpr double kTargetShare = 0.9;  // quality of the target as a share of the baseline's
constexpr size_t kWindow = 3;         // number of evaluations in a mean
constexpr int64_t kLeastSteps = 10;

// Returns rates around the requested one.
std::vector<std::string> RatesAround(OptionKind kind, const std::string& asked, double least,
                                     double most) {
  std::vector<std::string> rates =
      LogSteps(kind, QuantityText(kind, least), QuantityText(kind, most), kRates);
  rates[kRates / 2] = asked;
  return rates;
}

std::string BandwidthAxis(const Scenario& scenario) {
  const std::string& asked = scenario.bandwidth.text();
  std::vector<std::string> values = {asked};
  if (scenario.network_schedule->empty() && scenario.workers > 1 &&
      ReadsLinkOption(scenario, "network.bandwidth")) {
    const double rate = *QuantityOf(OptionKind::kRate, asked);
    values = RatesAround(OptionKind::kRate, asked, std::max(1.0, std::round(rate / kReach)),
                         std::round(rate * kReach));
  }
  return fmt::format("  bandwidth: [{}]\n", Join(values, ", "));
}

// Returns the axis of factors on the rates of the clients' lines, in both directions.
std::string LinesAxis(const Scenario& scenario) {
  std::vector<std::string> factors = {"1"};
  if (CouplingsOf(scenario).empty()) {
    factors = RatesAround(OptionKind::kNumber, "1", 1 / kReach, kReach);
  }
  std::string axis = "  lines:\n    cases:\n";
  for (const std::string& factor : factors) {
    const double times = ParseNumber(factor, "lines", 0, kReach);
    axis += fmt::format("      {}: {{down-rates: {}, up-rates: {}}}\n", factor,
                        FormatNumber(times * scenario.federated->down_rates),
                        FormatNumber(times * scenario.federated->up_rates));
  }
  return axis;
}

std::string Indented(const std::string& text) {
  std::istringstream lines(text);
  std::string indented;
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  return indented;
}

// Refuses options about the files and views of a single run, which have no meaning here.
void RefuseViews(const Scenario& scenario) {
  const Scenario defaults = scenario.federated ? FederatedDefaults() : Scenario();
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    const bool run = option.key.starts_with("run.") || option.key == "federated.state_memory";
    if (run || !option.Has(kLeavesResults)) continue;
    if (option.get(scenario) == option.get(defaults)) continue;
    throw Error(option.key, option.get(scenario), "its default: advise keeps no single run");
  }
}

// StepNames has the key and the flag of a scenario's steps, and the flag of the short training's.
struct StepNames {
  const char* key;
  const char* flag;
  const char* quick;
};
StepNames NamesOf(const Scenario& scenario) {
  if (scenario.federated) return {"federated.rounds", "--rounds", "--quick-rounds"};
  return {"training.steps", "--steps", "--quick-steps"};
}

void CheckScenario(const Scenario& scenario) {
  RefuseViews(scenario);
  scenario.federated ? ValidateFederated(scenario) : ValidateScenario(scenario);
  if (scenario.target->kind != TargetChoice::Kind::kAuto && !TargetOf(scenario)) {
    throw Error("training.target", scenario.target.text(),
                "a target, or auto: advice compares times to it");
  }
  if (scenario.federated) return;
  const std::vector<std::string> refusals = ReplayRefusals(scenario);
  if (!refusals.empty()) throw Error("advise rests on replays: " + Join(refusals, "; "));
}

void CompleteSteps(AdviseRequest& request) {
  const int64_t steps = StepsOf(request.scenario);
  const StepNames names = NamesOf(request.scenario);
  if (steps < kLeastSteps) {
    throw Error(names.key, std::to_string(steps), fmt::format("{} or more", kLeastSteps));
  }
  const int64_t quick = request.scenario.federated ? kQuickRounds : kQuickSteps;
  if (request.quick_steps == 0) request.quick_steps = std::min(quick, steps);
  if (request.quick_steps < kLeastSteps || request.quick_steps > steps) {
    throw Error(names.quick, std::to_string(request.quick_steps),
                fmt::format("{} to {}, the {} of the full training ({})", kLeastSteps, steps,
                            request.scenario.federated ? "rounds" : "steps", names.flag));
  }
}

int64_t InProportion(int64_t steps, double part) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(steps) * part));
}

// Returns the target for a share of the quality `value`, rounded in the easier direction: to tenths
// of a per cent, or to three significant digits. "" if there is none.
std::string EasierTarget(const Metric& metric, double value) {
  const bool higher = metric.better == Metric::Better::kHigher;
  const double target = higher ? kTargetShare * value : value / kTargetShare;
  if (!(target > 0) || !std::isfinite(target)) return "";
  constexpr double kTenthsOfAPercent = 1000;
  const double digits =
      metric.fraction ? kTenthsOfAPercent : std::pow(10, 2 - std::floor(std::log10(target)));
  const double rounded =
      (higher ? std::floor(target * digits) : std::ceil(target * digits)) / digits;
  if (!(rounded > 0) || (metric.fraction && rounded > 1)) return "";
  return metric.fraction ? FormatPercent(rounded) : FormatNumber(rounded);
}

}  // namespace

Scenario AdviseDefaults() {
  Scenario scenario;
  scenario.workers = 8;
  scenario.seeds = 3;
  scenario.fidelity = "flow";
  scenario.policies = {"dense",   "fp16",         "topk",         "topk-global", "randomk",
                       "ar-topk", "legacy-layer", "legacy-phase", "legacy-both"};
  return scenario;
}

Scenario FederatedAdviseDefaults() {
  Scenario scenario = FederatedDefaults();
  scenario.seeds = 3;
  scenario.target = "auto";
  scenario.policies = {"dense", "fp16", "qsgd", "topk", "legacy-both"};
  scenario.federated->downlink = "fp16";
  return scenario;
}

AdviseRequest CompleteRequest(AdviseRequest request) {
  Scenario& scenario = request.scenario;
  request.folder = scenario.out;
  scenario.out.clear();
  scenario.overwrite = false;
  auto& policies = scenario.policies;
  if (scenario.federated) {
    request.rows = TakeRows(scenario);
  } else if (std::ranges::find(policies, kAdviceBaseline) == policies.end()) {
    policies.insert(policies.begin(), kAdviceBaseline);
  }
  if (policies.size() == 1) {
    throw Error("compression.policies", kAdviceBaseline, "at least one method to compare it with");
  }
  CompleteSteps(request);
  if (request.jobs == 0) {
    request.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  CheckScenario(scenario);
  return request;
}

Scenario ShortScenario(const AdviseRequest& request) {
  Scenario scenario = request.scenario;
  const int64_t steps = StepsOf(scenario);
  const double part = static_cast<double>(request.quick_steps) / static_cast<double>(steps);
  SetSteps(scenario, request.quick_steps);
  if (scenario.warmup_steps > 0) scenario.warmup_steps = InProportion(scenario.warmup_steps, part);
  for (StepCount& step : scenario.decay_steps) step = InProportion(step, part);
  std::vector<std::string> bounds;
  for (const int64_t step : ParsePhaseBounds(scenario.legacy.phase_bounds, steps)) {
    bounds.push_back(std::to_string(InProportion(step, part)));
  }
  scenario.legacy.phase_bounds = Join(bounds, ",");
  scenario.evaluate_every =
      std::min(InProportion(scenario.evaluate_every, part),
               std::max<int64_t>(1, request.quick_steps / static_cast<int64_t>(kWindow)));
  return scenario;
}

std::string AdviceDefinition(const Scenario& scenario) {
  return fmt::format(
      "study:\n  name: advice\n  title: Should {} be compressed?\n  baseline: {}\n"
      "scenario:\n{}grid:\n{}",
      scenario.federated ? "updates and models" : "gradients",
      scenario.federated ? scenario.policies.front() : kAdviceBaseline,
      Indented(PrintScenario(scenario)),
      scenario.federated ? LinesAxis(scenario) : BandwidthAxis(scenario));
}

std::string FullDefinition(const AdviseRequest& request) {
  return AdviceDefinition(request.scenario);
}

std::string ChooseTarget(const std::vector<std::filesystem::path>& trainings) {
  Metric metric;
  double worst = std::numeric_limits<double>::quiet_NaN();
  for (const std::filesystem::path& training : trainings) {
    const analysis::RunDirectory run = analysis::ReadRunDirectory(training);
    metric = run.manifest.metrics.at(0);
    const auto& rows = run.evaluations;
    const size_t count = std::min(rows.size(), kWindow);
    double sum = 0;
    for (size_t i = rows.size() - count; i < rows.size(); ++i) sum += rows[i].metrics[0];
    const double mean = sum / static_cast<double>(count);
    if (std::isnan(worst) || metric.IsBetter(worst, mean)) worst = mean;
  }
  const std::string target = EasierTarget(metric, worst);
  if (target.empty()) {
    throw Error(
        fmt::format("no target can be chosen: {} learns nothing in the short training; "
                    "take more steps (--quick-steps, --quick-rounds) or another --learning-rate",
                    kAdviceBaseline));
  }
  return target;
}

}  // namespace legacy
