// The automatic schedule derives LEGACY's schedule (legacy_schedule.h) from one number, the uniform
// parameter or average density. Layers that together hold a tenth of the elements send five times
// as much as the average, and the others send the rest. The first half of the training sends 1.8
// times, and the second 0.2 times the average (the ratios of LEGACY's experiments on small models).
// All parameters are then solved for the uniform parameter's average volume. This rule is not in
// the paper.
//
// For bits and ranks, layers below the split get twice the anchor. For thresholds, whose volume is
// not known beforehand, parameters are scaled as if the volume were inverse to them, and nothing is
// solved.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compress/policies/equal_volume.h"
#include "compress/policies/legacy_schedule.h"

namespace legacy {

// The quantities that the schedule depends on.
struct AutoShape {
  bool by_layer = true;
  bool by_phase = true;
  // Number of elements that separates the buckets; 0: the size below which layers hold at most a
  // tenth of all elements.
  int64_t split = 0;
};

// Returns the model's measure if volumes in it depend on the parameter, otherwise the other
// measure; nothing if neither does (a threshold). For bits the number of values sent is constant,
// so they need bytes.
std::optional<VolumeMeasure> UsableMeasure(const VolumeModel& model);

// Returns the schedule. Throws Error if `parameter` is out of range, and as SolveSchedule does.
LegacySchedule AutoSchedule(const VolumeModel& model, double parameter, const AutoShape& shape);

}  // namespace legacy
