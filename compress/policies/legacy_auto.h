// The automatic schedule is LEGACY's (legacy_schedule.h) from one number, the uniform parameter or
// average density: layers that together hold a tenth of the elements send five times as much as the
// average and the others what is left; the first half of the training sends 1.8 and the second 0.2
// times the average (the ratios of LEGACY's experiments on small models). All parameters are then
// solved for the uniform parameter's average volume. The rule is ours, not the paper's.
//
// For bits and ranks, layers below the split get twice the anchor. For thresholds, whose volume is
// not known beforehand, parameters are scaled as if it were inverse to them, and nothing is solved.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compress/policies/equal_volume.h"
#include "compress/policies/legacy_schedule.h"

namespace legacy {

// An AutoShape says what the schedule depends on.
struct AutoShape {
  bool by_layer = true;
  bool by_phase = true;
  // Elements that separate the buckets; 0: the size below which layers hold at most a tenth.
  int64_t split = 0;
};

// Returns the model's measure where volumes in it depend on the parameter, else the other one;
// nothing where neither does (a threshold). Values sent do not depend on bits: those need bytes.
std::optional<VolumeMeasure> UsableMeasure(const VolumeModel& model);

// Returns the schedule. Throws Error where `parameter` is out of range, and as SolveSchedule does.
LegacySchedule AutoSchedule(const VolumeModel& model, double parameter, const AutoShape& shape);

}  // namespace legacy
