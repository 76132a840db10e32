// LEGACY's schedule ("LEGACY: A Lightweight Dynamic Gradient Compression Strategy for Distributed
// Deep Learning", ICLR 2026) is a pure function (step, layer size) -> compression parameter, read
// from a table of parameters with one row per training phase and one column per size bucket. It
// needs no statistics, no communication and no state.
//   1 x 1 uniform   1 x q by layer size   p x 1 by phase   p x q both
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/codec.h"
#include "compress/policy.h"
#include "compress/unit.h"

namespace legacy {

// The table of the schedule.
struct LegacySchedule {
  // Ascending element counts that separate the buckets: bucket i has units with numel < splits[i]
  // (strictly), the last bucket the rest.
  std::vector<int64_t> splits;
  // Ascending steps at which the next phase begins. Empty: phases have equal length.
  std::vector<int64_t> phase_bounds;
  // parameters[phase][bucket], in units of the codec's parameter, usually falls in both directions.
  std::vector<std::vector<double>> parameters;
  // The step on a boundary belongs to the next phase; with `closed_right` it belongs to the earlier
  // one (t <= lambda, as the paper writes it).
  bool closed_right = false;

  int64_t Phases() const { return static_cast<int64_t>(parameters.size()); }

  // Throws Error unless there is one parameter per phase and bucket, and splits and bounds are
  // positive and ascending.
  void Validate() const;

  // Returns the first step of phase `phase` of a training of `total_steps`, or total_steps for a
  // phase that never comes.
  int64_t PhaseStart(int64_t phase, int64_t total_steps) const;
  // Returns the phase of a step. Equal phases: min(p - 1, floor(step * p / total_steps)). Steps
  // past the end are in the last phase.
  int64_t Phase(int64_t step, int64_t total_steps) const;
  // Returns the bucket of a unit of that size.
  int64_t Bucket(int64_t numel) const;
  // Returns the table's parameter for a unit of that size in that step.
  double Parameter(int64_t step, int64_t total_steps, int64_t numel) const;
};

// Returns a split for models whose tensors are too small for the default: the largest size such
// that the tensors below it hold at most `share` of all elements (none of them if the smallest size
// already holds more).
int64_t SplitAtShare(std::span<const Unit> units, double share);

// The notation of a schedule's numbers.
enum class ScheduleUnit : uint8_t {
  kFraction,  // densities: "1%" or "0.01"; a bare number above 1 is refused as ambiguous
  kRaw,       // any other parameter: "4,2"
};

// Reads a table such as "10%,0.5%/1%,0.05%": '/' separates phases and ',' buckets. Throws Error on
// anything else.
std::vector<std::vector<double>> ParseSchedule(std::string_view text, ScheduleUnit unit);

// Makes the schedule as a policy over any numeric codec parameter; values are rounded if the
// parameter is an integer. Names are "uniform" (1 x 1), "legacy-layer" (one phase), "legacy-phase"
// (one bucket) and "legacy-both" (any table). Throws Error for a table of another shape and for
// values outside the range of `parameter`.
std::unique_ptr<Policy> MakeLegacyPolicy(std::string_view name, const LegacySchedule& schedule,
                                         const ParameterSpec& parameter);
// Returns these names.
std::vector<std::string> LegacyPolicyNames();

}  // namespace legacy
