// Equal average volume makes LEGACY's schedules comparable, as they then send the same on average.
// This solves for it exactly: with the real integer k of every layer and the real lengths of the
// phases in steps, either in values or in bytes on the wire (headers and positions included). The
// two differ, and time depends on bytes.
#pragma once

#include <cstdint>
#include <span>

#include "compress/exchange.h"
#include "compress/policies/legacy_schedule.h"
#include "compress/unit.h"

namespace legacy {

// A VolumeMeasure says in what volumes are counted.
enum class VolumeMeasure : uint8_t {
  kElements,  // values sent
  kBytes,     // message lengths; throws Error where a scheme's depend on the data
};

// A VolumeModel says what is trained. All volumes are those of one worker, averaged over
// `total_steps` steps.
struct VolumeModel {
  std::span<const Unit> units;
  const Scheme* scheme = nullptr;
  int64_t total_steps = 1;
  VolumeMeasure measure = VolumeMeasure::kElements;

  int64_t Elements() const;  // elements of all units
};

// Return the volume per step of a schedule, and of a uniform parameter.
double AverageVolume(const VolumeModel& model, const LegacySchedule& schedule);
double UniformVolume(const VolumeModel& model, double parameter);

// A UniformSolution is a uniform parameter with its volume.
struct UniformSolution {
  double parameter = 0;
  double requested = 0;  // volume per step
  double realised = 0;
};

// Returns the uniform parameter of the same average volume as `schedule`.
UniformSolution SolveUniform(const VolumeModel& model, const LegacySchedule& schedule);

// FreeParameters are those that may change, all by one factor of what they send
// (parameter_scale.h), each within its range. Whole numbers are then moved one by one, keeping
// their order, where that comes nearer to the target. The others are kept.
enum class FreeParameters : uint8_t {
  kLargest,  // those of the last bucket, in every phase
  kAll,
};

// A ScheduleSolution is a schedule with its volume.
struct ScheduleSolution {
  LegacySchedule schedule;
  double requested = 0;  // volume per step
  double realised = 0;
};

// Scales the free parameters of `schedule` until its average volume is `target`: values or bytes
// per step, for instance UniformVolume(model, 0.01), or density * model.Elements(). Volumes come in
// steps of whole values, so the nearest reachable one is taken. Throws Error with the bound where
// no factor reaches the target: for the layer rule, delta_small <= target density / share of the
// small layers.
ScheduleSolution SolveSchedule(const VolumeModel& model, const LegacySchedule& schedule,
                               double target, FreeParameters free);

}  // namespace legacy
