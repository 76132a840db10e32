// The target of a scenario: a value of one of its task's metrics (base/metric.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/metric.h"

namespace legacy {

struct Scenario;

// A TargetChoice is what an option asks for.
struct TargetChoice {
  enum class Kind : uint8_t {
    kAuto,   // the default target of the data set
    kNone,   // no target
    kGiven,  // `target`
  };

  Kind kind = Kind::kAuto;
  Target target;

  bool operator==(const TargetChoice&) const = default;
};

// Reads "auto", "none", or a target as ParseTarget does. Throws Error naming `key`.
TargetChoice ParseTargetChoice(const std::string& text, const std::string& key);

// Returns the metrics of the task of the scenario's data set; empty for shapes, which are not
// trained. Throws Error on data sets that are not known.
std::span<const Metric> MetricsOf(const Scenario& scenario);

// Returns the scenario's target, with its metric's name, among `metrics`: those of a training, a
// recording or a trace. Nothing where there are none, where no target is asked for, and where the
// default is of a metric that is not among them. Throws Error naming training.target where the
// metrics lack that of a given target, or it cannot have that value.
std::optional<Target> TargetAmong(const Scenario& scenario, std::span<const Metric> metrics);

// Returns the scenario's target among the metrics of its task. Throws as TargetAmong does.
std::optional<Target> TargetOf(const Scenario& scenario);

}  // namespace legacy
