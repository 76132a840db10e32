#include "compress/policies/equal_volume.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "base/error.h"
#include "base/number.h"
#include "compress/policies/parameter_scale.h"

namespace legacy {
namespace {

constexpr int kBisections = 100;

double Rounded(const ParameterSpec& spec, double value) {
  return std::clamp(spec.integer ? std::round(value) : value, spec.minimum, spec.maximum);
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
}

void CheckSolvable(const VolumeModel& model) {
  CheckModel(model);
  if (model.scheme->Parameter().Kind() == ParameterKind::kNone) {
    throw Error("equal volume: scheme " + std::string(model.scheme->Name()) +
                " has no parameter to solve for");
  }
}

// Returns the `x` in [low, high] whose volume is nearest to the target; volume(low) <= target <=
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

bool IsFree(FreeParameters free, size_t bucket, size_t buckets) {
  return free == FreeParameters::kAll || bucket + 1 == buckets;
}

std::vector<double*> FreeOf(LegacySchedule& schedule, FreeParameters free) {
  std::vector<double*> parameters;
  for (auto& row : schedule.parameters) {
    for (size_t bucket = 0; bucket < row.size(); ++bucket) {
      if (IsFree(free, bucket, row.size())) parameters.push_back(&row[bucket]);
    }
  }
  return parameters;
}

LegacySchedule Scaled(const LegacySchedule& schedule, const ParameterSpec& spec,
                      FreeParameters free, double factor) {
  LegacySchedule scaled = schedule;
  for (double* value : FreeOf(scaled, free)) {
    *value = FromAmount(spec, Amount(spec, *value) * factor);
  }
  return scaled;
}

// Returns true if parameters that differ in `start` are still apart in `tried`: by at least 1, or
// as far as in `before` if that is less.
bool KeepsApart(std::span<double* const> start, std::span<double* const> before,
                std::span<double* const> tried) {
  for (size_t i = 0; i < start.size(); ++i) {
    for (size_t j = 0; j < start.size(); ++j) {
      if (!(*start[i] > *start[j])) continue;
      if (*tried[i] - *tried[j] < std::min(1.0, *before[i] - *before[j])) return false;
    }
  }
  return true;
}

// One factor reaches only a few whole numbers. This function moves single parameters by 1 as long
// as that brings the volume nearer to the target and keeps the order of parameters in `start`.
void Refine(const VolumeModel& model, double target, FreeParameters free, LegacySchedule start,
            LegacySchedule& schedule) {
  const ParameterSpec& spec = model.scheme->Parameter();
  const std::vector<double*> wanted = FreeOf(start, free);
  double distance = std::abs(AverageVolume(model, schedule) - target);
  for (bool moved = true; moved;) {
    moved = false;
    LegacySchedule nearest = schedule;
    LegacySchedule tried = schedule;
    const std::vector<double*> before = FreeOf(schedule, free);
    const std::vector<double*> parameters = FreeOf(tried, free);
    for (size_t i = 0; i < parameters.size(); ++i) {
      for (const double move : {-1.0, 1.0}) {
        *parameters[i] = Rounded(spec, *before[i] + move);
        const double reached = std::abs(AverageVolume(model, tried) - target);
        if (reached >= distance || !KeepsApart(wanted, before, parameters)) continue;
        distance = reached;
        nearest = tried;
        moved = true;
      }
      *parameters[i] = *before[i];
    }
    schedule = std::move(nearest);
  }
}

// Returns the factor from which on every free parameter sends as much as it can.
double LargestFactor(LegacySchedule schedule, const ParameterSpec& spec, FreeParameters free) {
  const double most = Amount(spec, MostParameter(spec));
  double smallest = most;
  for (const double* value : FreeOf(schedule, free)) {
    const double amount = Amount(spec, *value);
    if (!(amount > 0)) {
      throw Error("schedule: scaled parameter", FormatNumber(*value),
                  "parameters that send something, because all are multiplied by one factor");
    }
    smallest = std::min(smallest, amount);
  }
  return most / smallest;
}

std::string VolumeText(const VolumeModel& model, double volume) {
  const bool bytes = model.measure == VolumeMeasure::kBytes;
  std::string text = FormatNumber(volume) + (bytes ? " bytes" : " elements") + " per step";
  if (bytes) return text;
  return text + " (density " + FormatNumber(volume / static_cast<double>(model.Elements())) + ")";
}

[[noreturn]] void TooSmall(const VolumeModel& model, const LegacySchedule& schedule, double target,
                           double least, FreeParameters free) {
  std::string allowed = "at least " + VolumeText(model, least) + " with this schedule";
  if (free == FreeParameters::kLargest && !schedule.splits.empty()) {
    double fixed = 0;  // elements outside the last bucket
    for (const Unit& unit : model.units) {
      if (unit.numel < schedule.splits.back()) fixed += static_cast<double>(unit.numel);
    }
    const auto all = static_cast<double>(model.Elements());
    allowed +=
        "; the layers below the last split hold the fraction f = " + FormatNumber(fixed / all) +
        " of the elements";
    if (fixed > 0 && model.measure == VolumeMeasure::kElements) {
      allowed +=
          ", so their average density can be at most target / f = " + FormatNumber(target / fixed);
    }
  }
  throw Error("target volume", VolumeText(model, target), allowed);
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
      const double value = schedule.parameters[phase][schedule.Bucket(unit.numel)];
      CheckParameter(spec, value);
      sum += steps * UnitVolume(model, unit, Rounded(spec, value));
    }
  }
  return sum / static_cast<double>(model.total_steps);
}

double UniformVolume(const VolumeModel& model, double parameter) {
  return AverageVolume(
      model,
      {.splits = {}, .phase_bounds = {}, .parameters = {{parameter}}, .closed_right = false});
}

UniformSolution SolveUniform(const VolumeModel& model, const LegacySchedule& schedule) {
  CheckSolvable(model);
  const double target = AverageVolume(model, schedule);
  const ParameterSpec& spec = model.scheme->Parameter();
  const auto volume = [&](double parameter) {
    return UniformVolume(model, Rounded(spec, parameter));
  };
  // The schedule's own extremes enclose the answer.
  double low = spec.maximum;
  double high = spec.minimum;
  for (const auto& row : schedule.parameters) {
    low = std::min(low, *std::ranges::min_element(row));
    high = std::max(high, *std::ranges::max_element(row));
  }
  // If the volume falls with the parameter, it rises with its negative.
  const double sign = spec.volume_falls ? -1 : 1;
  if (spec.volume_falls) std::swap(low, high);
  const auto signed_volume = [&](double x) { return volume(sign * x); };
  const double parameter =
      Rounded(spec, sign * Bisect(sign * low, sign * high, target, signed_volume));
  return {.parameter = parameter, .requested = target, .realised = UniformVolume(model, parameter)};
}

ScheduleSolution SolveSchedule(const VolumeModel& model, const LegacySchedule& schedule,
                               double target, FreeParameters free) {
  CheckSolvable(model);
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
    throw Error("target volume", VolumeText(model, target), "at most " + VolumeText(model, most));
  }
  ScheduleSolution solution;
  solution.schedule = Scaled(schedule, spec, free, Bisect(0, largest, target, volume));
  if (spec.integer) Refine(model, target, free, schedule, solution.schedule);
  solution.requested = target;
  solution.realised = AverageVolume(model, solution.schedule);
  return solution;
}

}  // namespace legacy
