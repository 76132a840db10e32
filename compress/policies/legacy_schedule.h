// LEGACY's schedule ("LEGACY: A Lightweight Dynamic Gradient Compression Strategy for Distributed
// Deep Learning", ICLR 2026): a pure function (step, layer size) -> compression parameter, read
// from a table of parameters with one row per training phase and one column per size bucket. No
// statistics, no communication, no state.
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

struct LegacySchedule {
  // Ascending element counts that separate the buckets: bucket i holds numel < splits[i]
  // (strictly), the last the rest.
  std::vector<int64_t> splits;
  // Ascending steps at which the next phase begins; empty: phases of equal length.
  std::vector<int64_t> phase_bounds;
  // parameters[phase][bucket], in units of the codec's parameter; usually falling in both
  // directions.
  std::vector<std::vector<double>> parameters;
  // The step on a boundary belongs to the next phase; with `closed_right` to the earlier one (t <=
  // lambda, as the paper writes it).
  bool closed_right = false;

  int64_t Phases() const { return static_cast<int64_t>(parameters.size()); }

  // Throws Error unless there is one parameter per phase and bucket, and splits and bounds are
  // positive and ascending.
  void Validate() const;

  // First step of phase `phase` of a training of `total_steps`; total_steps for a phase that never
  // comes.
  int64_t PhaseStart(int64_t phase, int64_t total_steps) const;
  // Equal phases: min(p - 1, floor(step * p / total_steps)). Steps past the end are in the last
  // phase.
  int64_t Phase(int64_t step, int64_t total_steps) const;
  int64_t Bucket(int64_t numel) const;
  double Parameter(int64_t step, int64_t total_steps, int64_t numel) const;
};

// A split for models whose tensors are too small for the default: the largest size such that the
// tensors below it hold at most `share` of all elements (none of them where already the smallest
// size holds more).
int64_t SplitAtShare(std::span<const Unit> units, double share);

enum class ScheduleUnit : uint8_t {
  kFraction,  // densities: "1%" or "0.01"; a bare number above 1 is refused as ambiguous
  kRaw,       // any other parameter: "4,2"
};

// "10%,0.5%/1%,0.05%": phases separated by '/', buckets by ','. Throws Error on anything else.
std::vector<std::vector<double>> ParseSchedule(std::string_view text, ScheduleUnit unit);

// The schedule as a policy over any numeric codec parameter; parameters are rounded where it is an
// integer. Names: "uniform" (1 x 1), "legacy-layer" (one phase), "legacy-phase" (one bucket),
// "legacy-both" (any table). Throws Error on a table of another shape and on parameters outside the
// parameter's range.
std::unique_ptr<Policy> MakeLegacyPolicy(std::string_view name, const LegacySchedule& schedule,
                                         const ParameterSpec& parameter);
std::vector<std::string> LegacyPolicyNames();

}  // namespace legacy
