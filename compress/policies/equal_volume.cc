#include "compress/policies/equal_volume.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "compress/error.h"
#include "compress/number.h"

namespace legacy {
namespace {

constexpr int kBisections = 100;

double Level(const ParameterSpec& spec, double level) {
  return std::clamp(spec.integer ? std::round(level) : level, spec.minimum, spec.maximum);
}

double UnitVolume(const VolumeModel& model, const Unit& unit, double parameter) {
  if (model.measure == VolumeMeasure::kElements) {
    return static_cast<double>(model.scheme->ElementsSent(unit, parameter));
  }
  const auto bytes = model.scheme->MessageBytes(unit, parameter);
  if (bytes) return static_cast<double>(*bytes);
  throw Error("equal volume in bytes: message lengths of scheme " +
              std::string(model.scheme->Name()) + " depend on the data; use elements");
}

void CheckModel(const VolumeModel& model) {
  assert(model.scheme != nullptr);
  if (model.units.empty()) throw Error("equal volume: the model has no units");
  if (model.total_steps < 1) {
    throw Error("total steps", std::to_string(model.total_steps), "at least 1");
  }
  if (model.scheme->Parameter().name.empty()) {
    throw Error("equal volume: scheme " + std::string(model.scheme->Name()) +
                " has no parameter to solve for");
  }
}

// The `x` in [low, high] whose volume is nearest to the target; volume(low) <= target <=
// volume(high). The volume need not be continuous: the search keeps one end on each side and then
// takes the nearer.
double Bisect(double low, double high, double target, const std::function<double(double)>& volume) {
  for (int i = 0; i < kBisections && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (volume(middle) <= target ? low : high) = middle;
  }
  return target - volume(low) <= volume(high) - target ? low : high;
}

bool IsFree(FreeLevels free, size_t bucket, size_t buckets) {
  return free == FreeLevels::kAll || bucket + 1 == buckets;
}

LegacySchedule Scaled(const LegacySchedule& schedule, const ParameterSpec& spec, FreeLevels free,
                      double factor) {
  LegacySchedule scaled = schedule;
  for (auto& row : scaled.levels) {
    for (size_t bucket = 0; bucket < row.size(); ++bucket) {
      if (IsFree(free, bucket, row.size())) row[bucket] = Level(spec, row[bucket] * factor);
    }
  }
  return scaled;
}

// Factor from which on every free level is at the parameter's maximum.
double LargestFactor(const LegacySchedule& schedule, const ParameterSpec& spec, FreeLevels free) {
  double smallest = spec.maximum;
  for (const auto& row : schedule.levels) {
    for (size_t bucket = 0; bucket < row.size(); ++bucket) {
      if (!IsFree(free, bucket, row.size())) continue;
      if (!(row[bucket] > 0)) {
        throw Error("free level", FormatNumber(row[bucket]), "above 0: levels are scaled");
      }
      smallest = std::min(smallest, row[bucket]);
    }
  }
  return spec.maximum / smallest;
}

std::string Amount(const VolumeModel& model, double volume) {
  const bool bytes = model.measure == VolumeMeasure::kBytes;
  std::string text = FormatNumber(volume) + (bytes ? " bytes" : " elements") + " per step";
  if (bytes) return text;
  return text + " (density " + FormatNumber(volume / static_cast<double>(model.Elements())) + ")";
}

[[noreturn]] void TooSmall(const VolumeModel& model, const LegacySchedule& schedule, double target,
                           double least, FreeLevels free) {
  std::string allowed = "at least " + Amount(model, least) + " with these levels";
  if (free == FreeLevels::kLargest && !schedule.splits.empty()) {
    double fixed = 0;  // elements outside the last bucket
    for (const Unit& unit : model.units) {
      if (unit.numel < schedule.splits.back()) fixed += static_cast<double>(unit.numel);
    }
    const auto all = static_cast<double>(model.Elements());
    allowed += "; the layers below the last split hold the share f = " + FormatNumber(fixed / all) +
               " of the elements";
    if (fixed > 0 && model.measure == VolumeMeasure::kElements) {
      allowed +=
          ", so their average level can be at most target / f = " + FormatNumber(target / fixed);
    }
  }
  throw Error("target volume", Amount(model, target), allowed);
}

}  // namespace

int64_t VolumeModel::Elements() const {
  int64_t sum = 0;
  for (const Unit& unit : units) sum += unit.numel;
  return sum;
}

double AverageVolume(const VolumeModel& model, const LegacySchedule& schedule) {
  CheckModel(model);
  schedule.Validate();
  const ParameterSpec& spec = model.scheme->Parameter();
  double sum = 0;
  for (int64_t phase = 0; phase < schedule.Phases(); ++phase) {
    const int64_t end = phase + 1 < schedule.Phases()
                            ? schedule.PhaseStart(phase + 1, model.total_steps)
                            : model.total_steps;
    const auto steps = static_cast<double>(end - schedule.PhaseStart(phase, model.total_steps));
    for (const Unit& unit : model.units) {
      const double level = schedule.levels[phase][schedule.Bucket(unit.numel)];
      CheckParameter(spec, level);
      sum += steps * UnitVolume(model, unit, Level(spec, level));
    }
  }
  return sum / static_cast<double>(model.total_steps);
}

double UniformVolume(const VolumeModel& model, double parameter) {
  return AverageVolume(
      model, {.splits = {}, .phase_bounds = {}, .levels = {{parameter}}, .closed_right = false});
}

UniformSolution SolveUniform(const VolumeModel& model, const LegacySchedule& schedule) {
  const double target = AverageVolume(model, schedule);
  const ParameterSpec& spec = model.scheme->Parameter();
  const auto volume = [&](double parameter) {
    return UniformVolume(model, Level(spec, parameter));
  };
  // The schedule's own extremes enclose the answer.
  double low = spec.maximum;
  double high = spec.minimum;
  for (const auto& row : schedule.levels) {
    low = std::min(low, *std::ranges::min_element(row));
    high = std::max(high, *std::ranges::max_element(row));
  }
  const double parameter = Level(spec, Bisect(low, high, target, volume));
  return {.parameter = parameter, .requested = target, .realised = UniformVolume(model, parameter)};
}

ScheduleSolution SolveSchedule(const VolumeModel& model, const LegacySchedule& schedule,
                               double target, FreeLevels free) {
  CheckModel(model);
  schedule.Validate();
  const ParameterSpec& spec = model.scheme->Parameter();
  const double largest = LargestFactor(schedule, spec, free);
  const auto volume = [&](double factor) {
    return AverageVolume(model, Scaled(schedule, spec, free, factor));
  };
  const double least = volume(0);
  const double most = volume(largest);
  if (!(target >= least)) TooSmall(model, schedule, target, least, free);
  if (target > most) {
    throw Error("target volume", Amount(model, target), "at most " + Amount(model, most));
  }
  ScheduleSolution solution;
  solution.schedule = Scaled(schedule, spec, free, Bisect(0, largest, target, volume));
  solution.requested = target;
  solution.realised = AverageVolume(model, solution.schedule);
  return solution;
}

ScheduleSolution SmallModelSchedule(const VolumeModel& model, double target, double small_level,
                                    double share) {
  const double fallback = model.scheme->Parameter().fallback;
  const LegacySchedule start{.splits = {SplitAtShare(model.units, share)},
                             .phase_bounds = {},
                             .levels = {{small_level, fallback}},
                             .closed_right = false};
  return SolveSchedule(model, start, target, FreeLevels::kLargest);
}

}  // namespace legacy
