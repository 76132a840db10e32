// Rows about a method's units: what its policy decided, and what was sent for each unit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/run/timed_run.h"
#include "trainer/step_source.h"

namespace legacy {

// UnitStats are sums over one training, by unit, for layers.csv.
struct UnitStats {
  explicit UnitStats(size_t units) : parameter(units), elements(units), bytes(units) {}

  // Adds a step in which `share` of the workers are active. Returns the elements that one worker
  // sends, as the mean over the workers.
  double Add(const std::vector<UnitOutcome>& units, double share) {
    double sent = 0;
    for (size_t u = 0; u < units.size(); ++u) {
      parameter[u] += units[u].parameter;
      elements[u] += static_cast<double>(units[u].elements) * share;
      bytes[u] += units[u].bytes;
      sent += static_cast<double>(units[u].elements) * share;
    }
    return sent;
  }

  template <class Archive>
  friend void Fields(Archive& archive, UnitStats& s) {
    archive(s.parameter, s.elements, s.bytes);
  }

  std::vector<double> parameter, elements;
  std::vector<int64_t> bytes;  // bytes of all workers
};

// A MethodRow says whose rows they are.
struct MethodRow {
  std::string method;
  uint64_t seed = 0;
  int64_t steps = 0;  // of the training
  int workers = 0;
};

// Writes the decisions that were made in the last step. Decisions for steps after the training are
// left out.
void WriteDecisions(const MethodRow& row, StepSource& training, TimedEverywhere& timed);
// Writes the sums over the training.
void WriteLayers(const MethodRow& row, const StepSource& training, const UnitStats& stats,
                 TimedEverywhere& timed);

}  // namespace legacy
