#include "base/metric.h"

#include <cmath>
#include <vector>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr double kLargest = 1e12;

}  // namespace

Target ParseTarget(const std::string& text, const std::string& key) {
  const size_t equals = text.find('=');
  Target target;
  std::string value = text;
  if (equals != std::string::npos) {
    target.metric = text.substr(0, equals);
    value = text.substr(equals + 1);
    if (target.metric.empty()) throw Error(key, text, "METRIC=VALUE, as in perplexity=120");
  }
  target.value =
      value.ends_with('%') ? ParseFraction(value, key) : ParseNumber(value, key, 0, kLargest);
  return target;
}

const Metric& FindMetric(const Target& target, std::span<const Metric> metrics,
                         const std::string& key) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  for (const Metric& metric : metrics) {
    if (!target.metric.empty() && metric.name != target.metric) continue;
    const bool fits = target.value > 0 && (!metric.fraction || target.value <= 1);
    if (fits) return metric;
    throw Error(key, FormatNumber(target.value) + " of metric " + metric.name,
                metric.fraction ? "above 0, at most 1 or 100%" : "above 0");
  }
  throw Error(key, target.metric, "a metric of the task: " + Join(names, ", "));
}

std::string ShowValue(const Metric& metric, double value) {
  constexpr double kPercent = 100;
  return metric.fraction ? FormatNumber(value * kPercent) + " %" : FormatNumber(value);
}

}  // namespace legacy
