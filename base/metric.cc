#include "base/metric.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/error.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr double kLargest = 1e12;

// Returns the number with at most 12 significant digits, which hide the rounding of per cents.
std::string Digits(double value) {
  std::array<char, 32> text;
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 12)
          .ptr;
  return {text.data(), end};
}

}  // namespace

bool IsMetricName(const std::string& name) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz";
  return !name.empty() && letters.find(name.front()) != std::string::npos &&
         name.find_first_not_of(letters + "0123456789_") == std::string::npos;
}

Target ParseTarget(const std::string& text, const std::string& key) {
  const size_t equals = text.find('=');
  Target target;
  std::string value = text;
  if (equals != std::string::npos) {
    target.metric = text.substr(0, equals);
    value = text.substr(equals + 1);
    if (!IsMetricName(target.metric)) {
      throw Error(key, text, "METRIC=VALUE, as in perplexity=120");
    }
  }
  target.percent = value.ends_with('%');
  try {
    target.value =
        target.percent ? ParseFraction(value, key) : ParseNumber(value, key, 0, kLargest);
  } catch (const Error&) {
    throw Error(key, text, "a value such as 85%, 0.85, top5=90% or perplexity=120");
  }
  return target;
}

const Metric& FindMetric(const Target& target, std::span<const Metric> metrics,
                         const std::string& key) {
  if (metrics.empty()) throw Error(key, FormatNumber(target.value), "none, as nothing is trained");
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  for (const Metric& metric : metrics) {
    if (!target.metric.empty() && metric.name != target.metric) continue;
    const bool fits = target.value > 0 && (metric.fraction ? target.value <= 1 : !target.percent);
    if (fits) return metric;
    throw Error(key, target.percent ? FormatPercent(target.value) : FormatNumber(target.value),
                metric.fraction
                    ? "for " + metric.name + ", a percentage such as 85% or a fraction such as 0.85"
                    : "for " + metric.name + ", a number above 0");
  }
  throw Error(key, target.metric, "a metric of the task: " + Join(names, ", "));
}

Target NamedTarget(const Target& target, std::span<const Metric> metrics, const std::string& key) {
  return {FindMetric(target, metrics, key).name, target.value};
}

size_t MetricPosition(std::span<const Metric> metrics, const std::string& name) {
  if (name.empty()) return 0;
  return static_cast<size_t>(std::ranges::find(metrics, name, &Metric::name) - metrics.begin());
}

std::string MetricLabel(const Metric& metric) {
  return metric.fraction ? metric.title + " [%]" : metric.title;
}

std::string Capitalised(std::string title) {
  if (!title.empty() && title[0] >= 'a' && title[0] <= 'z') {
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
  }
  return title;
}

std::string ShowTarget(const Metric& metric, double value) {
  const std::string text = ShowValue(metric, value);
  return metric.fraction ? text + " " + metric.title : metric.title + " " + text;
}

std::string ShowValue(const Metric& metric, double value) {
  return Digits(value * metric.Scale()) + (metric.fraction ? " %" : "");
}

}  // namespace legacy
