#include "scenarios/options/target.h"

#include <algorithm>

#include "base/error.h"
#include "scenarios/options/scenario.h"
#include "trainer/data/data_catalog.h"

namespace legacy {
namespace {

constexpr const char* kTargetKey = "training.target";

}  // namespace

TargetChoice ParseTargetChoice(const std::string& text, const std::string& key) {
  if (text == "auto") return {TargetChoice::Kind::kAuto, {}};
  if (text == "none") return {TargetChoice::Kind::kNone, {}};
  try {
    return {TargetChoice::Kind::kGiven, ParseTarget(text, key)};
  } catch (const Error&) {
    throw Error(key, text, "85%, 0.85, METRIC=VALUE as in top5=90% or perplexity=120, auto, none");
  }
}

std::span<const Metric> MetricsOf(const Scenario& scenario) {
  if (!scenario.layers.empty()) return {};
  return InfoOf(FindInCatalog(scenario.dataset).task).metrics;
}

std::optional<Target> TargetAmong(const Scenario& scenario, std::span<const Metric> metrics) {
  const TargetChoice& choice = *scenario.target;
  if (metrics.empty() || choice.kind == TargetChoice::Kind::kNone) return std::nullopt;
  if (choice.kind == TargetChoice::Kind::kGiven)
    return NamedTarget(choice.target, metrics, kTargetKey);
  const CatalogEntry& data = FindInCatalog(scenario.dataset);
  const Target target = NamedTarget(ParseTarget(data.target), InfoOf(data.task).metrics);
  const bool has = std::ranges::find(metrics, target.metric, &Metric::name) != metrics.end();
  return has ? std::optional(target) : std::nullopt;
}

std::optional<Target> TargetOf(const Scenario& scenario) {
  return TargetAmong(scenario, MetricsOf(scenario));
}

}  // namespace legacy
