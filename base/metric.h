// A metric says how well a model does its task on the test set. A task has one or more of them, and
// the first is the one that is meant where none is named. Nothing outside a task knows which
// metrics there are: names, titles and directions travel with the results.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace legacy {

// A Metric describes one measure.
struct Metric {
  enum class Better : uint8_t { kHigher, kLower };

  std::string name;   // in files, columns and targets: "accuracy", "perplexity"
  std::string title;  // for people: "accuracy", "bits per character"
  Better better = Better::kHigher;
  bool fraction = false;  // true: values lie in [0, 1], and are shown in per cent

  // True where `value` is at least as good as `target`. NaN is as good as nothing.
  bool Reaches(double value, double target) const {
    return better == Better::kHigher ? value >= target : value <= target;
  }
  // True where `value` is better than `other`. Any number is better than NaN.
  bool IsBetter(double value, double other) const {
    return Reaches(value, other) ? value != other : value == value && other != other;
  }
  // Returns the unit of values, as in files: "fraction" or "".
  const char* Unit() const { return fraction ? "fraction" : ""; }
  // Returns the factor from values to those that people are shown: fractions in per cent.
  double Scale() const { return fraction ? 100 : 1; }

  bool operator==(const Metric&) const = default;
};

// A Target is a value of a metric that a training should reach.
struct Target {
  std::string metric;    // name of the metric; "": the task's first
  double value = 0;      // a fraction where the metric is one
  bool percent = false;  // true where the text had a per cent sign, which suits fractions alone

  bool operator==(const Target&) const = default;
};

// True for a name of small letters, digits and _, of which the first is a letter. Names of metrics
// are parts of names of columns.
bool IsMetricName(const std::string& name);

// Reads "85%" or "0.85" (of the task's first metric), "120", "top5=90%" or "perplexity=120". Throws
// Error naming `key`. FindMetric checks whether the metric is one of the task's.
Target ParseTarget(const std::string& text, const std::string& key = "target");

// Returns the metric of a target. Throws Error naming `key` where the task has none of that name,
// and where the value is not one that the metric takes: fractions are in (0, 1], others are
// positive.
const Metric& FindMetric(const Target& target, std::span<const Metric> metrics,
                         const std::string& key = "target");

// Returns the target with the name of its metric. Throws as FindMetric does.
Target NamedTarget(const Target& target, std::span<const Metric> metrics,
                   const std::string& key = "target");

// Returns the position of the metric of that name; "" stands for the first. Where there is none, it
// is the number of metrics.
size_t MetricPosition(std::span<const Metric> metrics, const std::string& name);

// Returns the metric as the label of an axis or a column: "accuracy [%]", "perplexity".
std::string MetricLabel(const Metric& metric);

// Returns the title at the beginning of a text: "Accuracy".
std::string Capitalised(std::string title);

// Returns "85 %", "120" or "3.5": a value of the metric, for people, with at most 12 significant
// digits.
std::string ShowValue(const Metric& metric, double value);

// Returns "85 % accuracy" or "perplexity 120": a target in a sentence.
std::string ShowTarget(const Metric& metric, double value);

}  // namespace legacy
