// A LEGACY table is a schedule as users write it: parameters as text, and the options that belong
// to them, for every program that takes one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/parsed.h"
#include "compress/policies/equal_volume.h"
#include "compress/policies/legacy_schedule.h"

namespace legacy {

// Largest fraction of all elements in tensors below the default split.
inline constexpr double kDefaultSplitShare = 0.1;

// Returns the measure "elements" or "bytes", or nothing for "off". Throws Error naming `key`.
std::optional<VolumeMeasure> ParseVolume(const std::string& text, const std::string& key);

// The options of a schedule.
struct LegacyTable {
  std::string schedule = {};  // "10%,0.5%/1%,0.05%"; empty: AutoSchedule
  // Element counts; empty: one split by SplitAtShare(`split_share`).
  std::vector<int64_t> splits = {};
  double split_share = kDefaultSplitShare;
  // "100,200" steps, parts of the training, "30%,60%", or epochs, "30ep,60ep"; empty: phases of
  // equal length.
  std::string phase_bounds = {};
  bool closed_right = false;  // LegacySchedule::closed_right
  // True for a control in which phases of strong compression come first; if parameters depend on
  // size alone, small layers are compressed most.
  bool reversed = false;
  // Measure in which parameters are scaled until they send as much as the uniform parameter; none:
  // parameters are used unscaled.
  Parsed<ParseVolume> volume = "elements";
};

// Returns the steps at which phases end. Throws Error for anything but ascending whole numbers from
// 1, parts of the training above 0 %, and numbers of epochs, whose length is `steps_per_epoch`; 0:
// unknown, so that they are refused.
std::vector<int64_t> ParsePhaseBounds(const std::string& text, int64_t total_steps,
                                      int64_t steps_per_epoch = 0);
// Returns true if bounds are given in epochs.
bool HasEpochs(const std::string& phase_bounds);

// Returns the schedule of policy `name`: legacy-layer uses the first phase of the parameters,
// legacy-phase the last bucket, legacy-both all of them. `parameter` is the uniform one;
// model.measure is ignored. Throws Error if the parameters do not fit, and as SolveSchedule does.
LegacySchedule ScheduleOfTable(std::string_view name, const LegacyTable& table, VolumeModel model,
                               double parameter);

}  // namespace legacy
