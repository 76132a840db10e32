// A LEGACY table is a schedule as users write it: parameters as text and what belongs to them, for
// every program that takes one.
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

// A LegacyTable has the options of a schedule.
struct LegacyTable {
  std::string schedule = {};         // "10%,0.5%/1%,0.05%"; empty: AutoSchedule's
  std::vector<int64_t> splits = {};  // element counts; empty: one, by `split_share` (SplitAtShare)
  double split_share = kDefaultSplitShare;
  // "100,200" steps, or parts of the training, "30%,60%"; empty: equal phases.
  std::string phase_bounds = {};
  bool closed_right = false;  // LegacySchedule::closed_right
  // True: a control, in which tight phases come first; where parameters depend on size alone, small
  // layers are tight.
  bool reversed = false;
  // Measure in which parameters are scaled until they send as much as the uniform parameter; none:
  // they are taken as they are.
  std::optional<VolumeMeasure> volume = VolumeMeasure::kElements;
};

// Returns the measure "elements" or "bytes", or nothing for "off". Throws Error naming `key`.
std::optional<VolumeMeasure> ParseVolume(const std::string& text, const std::string& key);

// Returns the steps at which phases end. Throws Error on anything but ascending whole numbers from
// 1 and parts of the training above 0 %.
std::vector<int64_t> ParsePhaseBounds(const std::string& text, int64_t total_steps);

// Returns the schedule of policy `name`: legacy-layer has the first phase of the parameters,
// legacy-phase the last bucket, legacy-both all of them. `parameter` is the uniform one;
// model.measure is not read. Throws Error on parameters that do not fit, and as SolveSchedule does.
LegacySchedule ScheduleOfTable(std::string_view name, const LegacyTable& table, VolumeModel model,
                               double parameter);

}  // namespace legacy
