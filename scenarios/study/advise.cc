#include "scenarios/study/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/parse.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/scenario_network.h"
#include "scenarios/study/grid.h"
#include "scenarios/study/quantity.h"

namespace legacy {
namespace {

constexpr const char* kBaseline = "dense";
constexpr const char* kBandwidth = "network.bandwidth";
constexpr int64_t kBandwidths = 7;    // one for each third of a decade, both ways
constexpr double kReach = 10;         // factor to the slowest and to the fastest link
constexpr double kTargetShare = 0.9;  // quality of the target as a share of the baseline's
constexpr size_t kWindow = 3;         // number of evaluations in a mean
constexpr int64_t kLeastSteps = 10;

std::vector<std::string> BandwidthsOf(const Scenario& scenario) {
  const std::string& asked = scenario.bandwidth.text();
  if (!scenario.network_schedule->empty() || scenario.workers == 1 ||
      !ReadsLinkOption(scenario, "network.bandwidth")) {
    return {asked};
  }
  const double rate = *QuantityOf(OptionKind::kRate, asked);
  const double least = std::max(1.0, std::round(rate / kReach));
  std::vector<std::string> steps =
      LogSteps(OptionKind::kRate, QuantityText(OptionKind::kRate, least),
               QuantityText(OptionKind::kRate, std::round(rate * kReach)), kBandwidths);
  steps[kBandwidths / 2] = asked;
  return steps;
}

std::string Indented(const std::string& text) {
  std::istringstream lines(text);
  std::string indented;
  for (std::string line; std::getline(lines, line);) indented += "  " + line + "\n";
  return indented;
}

// Refuses options of a single run's files and views, which have no meaning here.
void RefuseViews(const Scenario& scenario) {
  const Scenario defaults;
  for (const ScenarioOption& option : ScenarioOptions()) {
    const bool run = option.key.rfind("run.", 0) == 0;
    if (run || AffectsResults(option.key) || option.get(scenario) == option.get(defaults)) continue;
    throw Error(option.key, option.get(scenario), "its default: advise keeps no single run");
  }
}

int64_t InProportion(int64_t steps, double part) {
  return std::max<int64_t>(1, std::llround(static_cast<double>(steps) * part));
}

// Returns the target of a share of the quality `value`, rounded to what is easier: in tenths of a
// per cent, or with three significant digits. "": there is none.
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

AdviseRequest CompleteRequest(AdviseRequest request) {
  Scenario& scenario = request.scenario;
  request.folder = scenario.out;
  scenario.out.clear();
  scenario.overwrite = false;
  auto& policies = scenario.policies;
  if (std::ranges::find(policies, kBaseline) == policies.end()) {
    policies.insert(policies.begin(), kBaseline);
  }
  if (policies.size() == 1) {
    throw Error("compression.policies", kBaseline, "at least one policy to compare it with");
  }
  if (scenario.steps < kLeastSteps) {
    throw Error("training.steps", std::to_string(scenario.steps),
                fmt::format("{} or more", kLeastSteps));
  }
  if (request.quick_steps == 0)
    request.quick_steps = std::min<int64_t>(kQuickSteps, scenario.steps);
  if (request.quick_steps < kLeastSteps || request.quick_steps > scenario.steps) {
    throw Error("--quick-steps", std::to_string(request.quick_steps),
                fmt::format("{} to {}, the steps of the full training (--steps)", kLeastSteps,
                            int64_t{scenario.steps}));
  }
  if (request.jobs == 0) {
    request.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  RefuseViews(scenario);
  ValidateScenario(scenario);
  if (scenario.target->kind != TargetChoice::Kind::kAuto && !TargetOf(scenario)) {
    throw Error("training.target", scenario.target.text(),
                "a target, or auto: advice compares times to it");
  }
  const std::vector<std::string> refusals = ReplayRefusals(scenario);
  if (!refusals.empty()) throw Error("advise rests on replays: " + Join(refusals, "; "));
  return request;
}

Scenario ShortScenario(const AdviseRequest& request) {
  Scenario scenario = request.scenario;
  const double part =
      static_cast<double>(request.quick_steps) / static_cast<double>(scenario.steps);
  scenario.steps = request.quick_steps;
  if (scenario.warmup_steps > 0) scenario.warmup_steps = InProportion(scenario.warmup_steps, part);
  for (StepCount& step : scenario.decay_steps) step = InProportion(step, part);
  std::vector<std::string> bounds;
  for (const int64_t step : ParsePhaseBounds(scenario.phase_bounds, request.scenario.steps)) {
    bounds.push_back(std::to_string(InProportion(step, part)));
  }
  scenario.phase_bounds = Join(bounds, ",");
  scenario.evaluate_every =
      std::min(InProportion(scenario.evaluate_every, part),
               std::max<int64_t>(1, scenario.steps / static_cast<int64_t>(kWindow)));
  return scenario;
}

std::string AdviceDefinition(const Scenario& scenario) {
  return fmt::format(
      "study:\n  name: advice\n  title: Should gradients be compressed?\n  baseline: {}\n"
      "scenario:\n{}grid:\n  bandwidth: [{}]\n",
      kBaseline, Indented(PrintScenario(scenario)), Join(BandwidthsOf(scenario), ", "));
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
                    "take more --quick-steps or another --learning-rate",
                    kBaseline));
  }
  return target;
}

}  // namespace legacy
