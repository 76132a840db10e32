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

  bool operator==(const Metric&) const = default;
};

// A Target is a value of a metric that a training should reach.
struct Target {
  std::string metric;  // name of the metric; "": the task's first
  double value = 0;    // a fraction where the metric is one

  bool operator==(const Target&) const = default;
};

// Reads "85%" or "0.85" (of the task's first metric), "120", "top5=90%" or "perplexity=120". Throws
// Error naming `key`. Whether the metric is one of the task's, FindMetric says.
Target ParseTarget(const std::string& text, const std::string& key = "target");

// Returns the metric of a target. Throws Error naming `key` where the task has none of that name,
// and where the value is none that the metric takes: fractions are in (0, 1], others are positive.
const Metric& FindMetric(const Target& target, std::span<const Metric> metrics,
                         const std::string& key = "target");

// Returns "85 %", "120" or "3.5": a value of the metric, for people.
std::string ShowValue(const Metric& metric, double value);

}  // namespace legacy
