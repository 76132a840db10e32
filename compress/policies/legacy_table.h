// LEGACY's schedules as users write them: parameters as text and what belongs to them, for every
// program that takes some.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compress/policies/equal_volume.h"
#include "compress/policies/legacy_schedule.h"

namespace legacy {

// Tensors below the default split hold at most this share of all elements.
inline constexpr double kDefaultSplitShare = 0.1;

struct LegacyTable {
  std::string schedule = {};         // "10%,0.5%/1%,0.05%"; "": AutoSchedule's
  std::vector<int64_t> splits = {};  // in elements; empty: one, by `split_share` (SplitAtShare)
  double split_share = kDefaultSplitShare;
  std::string phase_bounds =
      {};  // "100,200" steps, or parts of the training, "30%,60%"; "": equal phases
  bool closed_right = false;  // LegacySchedule's
  // A control: tight phases first; where parameters go by size alone, small layers tight.
  bool reversed = false;
  // Parameters are scaled until they send as much as the uniform parameter; none: taken as they
  // are.
  std::optional<VolumeMeasure> volume = VolumeMeasure::kElements;
};

// Steps at which phases end. Throws Error on anything but ascending whole numbers from 1 and parts
// of the training above 0 %.
std::vector<int64_t> ParsePhaseBounds(const std::string& text, int64_t total_steps);

// The schedule of policy `name`: legacy-layer has the first phase of the parameters, legacy-phase
// the last bucket, legacy-both all of them. `parameter`: the uniform one. model.measure is not
// read. Throws Error on parameters that do not fit, and as SolveSchedule does.
LegacySchedule ScheduleOfTable(std::string_view name, const LegacyTable& table, VolumeModel model,
                               double parameter);

}  // namespace legacy
