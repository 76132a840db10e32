// LEGACY's schedules are comparable if they send the same volume on average. This solves for equal
// average volume exactly: with the integer k of every layer and the lengths of the phases in steps,
// either in values or in bytes on the wire (headers and positions included). The two differ, and
// time depends on bytes.
#pragma once

#include <cstdint>
#include <span>

#include "compress/exchange.h"
#include "compress/policies/legacy_schedule.h"
#include "compress/unit.h"

namespace legacy {

// The unit in which volumes are counted.
enum class VolumeMeasure : uint8_t {
  kElements,  // number of values sent
  kBytes,     // message lengths; throws Error if they depend on the data
};

// The trained model and its scheme. All volumes are those of one worker, averaged over
// `total_steps` steps.
struct VolumeModel {
  std::span<const Unit> units;
  const Scheme* scheme = nullptr;
  int64_t total_steps = 1;
  VolumeMeasure measure = VolumeMeasure::kElements;

  int64_t Elements() const;  // number of elements of all units
};

// Return the volume per step of a schedule, and of a uniform parameter.
double AverageVolume(const VolumeModel& model, const LegacySchedule& schedule);
double UniformVolume(const VolumeModel& model, double parameter);

// A uniform parameter with its volume.
struct UniformSolution {
  double parameter = 0;
  double requested = 0;  // volume per step
  double realised = 0;
};

// Returns the uniform parameter of the same average volume as `schedule`.
UniformSolution SolveUniform(const VolumeModel& model, const LegacySchedule& schedule);

// The parameters that may change. All change by one factor of what they send (parameter_scale.h),
// each within its range. Whole numbers are then moved one by one, in order, if that comes nearer to
// the target. The other parameters do not change.
enum class FreeParameters : uint8_t {
  kLargest,  // parameters of the last bucket, in every phase
  kAll,
};

// A schedule with its volume.
struct ScheduleSolution {
  LegacySchedule schedule;
  double requested = 0;  // volume per step
  double realised = 0;
};

// Scales the free parameters of `schedule` until its average volume is `target`: values or bytes
// per step, for instance UniformVolume(model, 0.01), or density * model.Elements(). Volumes come in
// steps of whole values, so the nearest reachable one is taken. Throws Error with the bound if no
// factor reaches the target: for the layer rule, delta_small <= target density / fraction of
// elements in small layers.
ScheduleSolution SolveSchedule(const VolumeModel& model, const LegacySchedule& schedule,
                               double target, FreeParameters free);

}  // namespace legacy
