#include "analysis/metric_json.h"

#include "base/error.h"
#include "base/files/json.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

constexpr const char* kMetricForm =
    "{\"name\": small letters, digits and _, \"title\": a text, \"better\": \"higher\" or "
    "\"lower\", \"unit\": \"fraction\" or \"\"}";

// Returns the text of a key; "?" if there is none.
std::string TextOf(const json& document, const char* key) {
  if (!document.is_object() || !document.contains(key)) return "?";
  return document[key].is_string() ? document[key].get<std::string>() : "?";
}

}  // namespace

json MetricJson(const Metric& metric) {
  return {{"name", metric.name},
          {"title", metric.title},
          {"better", metric.better == Metric::Better::kHigher ? "higher" : "lower"},
          {"unit", metric.Unit()}};
}

Metric MetricOf(const json& document, const std::string& where) {
  Metric metric;
  metric.name = TextOf(document, "name");
  metric.title = TextOf(document, "title");
  const std::string better = TextOf(document, "better");
  const std::string unit = TextOf(document, "unit");
  const bool valid = IsMetricName(metric.name) && metric.title != "?" &&
                     (better == "higher" || better == "lower") &&
                     (unit == "fraction" || unit.empty());
  if (!valid) throw Error(where, Shown(document), kMetricForm);
  metric.better = better == "higher" ? Metric::Better::kHigher : Metric::Better::kLower;
  metric.fraction = unit == "fraction";
  return metric;
}

json TargetJson(const std::optional<Target>& target) {
  if (!target) return nullptr;
  return {{"metric", target->metric}, {"value", target->value}};
}

std::optional<Target> TargetOf(const json& document, const std::string& where) {
  if (document.is_null()) return std::nullopt;
  const std::string metric = TextOf(document, "metric");
  const json value = document.is_object() ? document.value("value", json()) : json();
  if (!IsMetricName(metric) || !value.is_number()) throw Error(where, Shown(document), kTargetForm);
  return Target{metric, value.get<double>()};
}

}  // namespace legacy::analysis
