#include "compress/policies/legacy_table.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "compress/policies/legacy_auto.h"

namespace legacy {
namespace {

constexpr std::string_view kLayer = "legacy-layer";
constexpr std::string_view kPhase = "legacy-phase";

constexpr std::string_view kEpochs = "ep";

// Reads a step, the end of a part of the training, or of a number of epochs.
int64_t ParseBound(std::string text, int64_t total_steps, int64_t steps_per_epoch) {
  const std::string given = text;
  const bool part = text.ends_with('%');
  const bool epochs = text.ends_with(kEpochs);
  if (part || epochs) text.resize(text.size() - (part ? 1 : kEpochs.size()));
  if (epochs && steps_per_epoch == 0) {
    throw Error("phase bounds", given,
                "steps or parts of the training, as only trainings know how long an epoch is");
  }
  const auto number = ParseNumber(text);
  const double most = part ? 100 : epochs ? 1e6 : 9e15;
  const bool fits = number && *number > 0 && *number <= most;
  if (!fits || (!part && !epochs && *number != std::floor(*number))) {
    throw Error("phase bounds", given,
                "steps from 1, parts of the training up to 100%, or epochs (30ep)");
  }
  const double step = part     ? *number / 100 * static_cast<double>(total_steps)
                      : epochs ? std::round(*number * static_cast<double>(steps_per_epoch))
                               : *number;
  return std::max<int64_t>(1, static_cast<int64_t>(step));
}

int64_t SplitOf(const LegacyTable& table, const VolumeModel& model) {
  return SplitAtShare(model.units, table.split_share);
}

// Returns the user's parameters, reduced to those that the policy uses.
LegacySchedule Given(std::string_view name, const LegacyTable& table, const VolumeModel& model) {
  const bool density = model.scheme->Parameter().Kind() == ParameterKind::kDensity;
  LegacySchedule schedule;
  schedule.parameters =
      ParseSchedule(table.schedule, density ? ScheduleUnit::kFraction : ScheduleUnit::kRaw);
  if (name == kLayer) schedule.parameters.resize(1);
  if (name == kPhase) {
    for (std::vector<double>& row : schedule.parameters) row = {row.back()};
  }
  if (schedule.parameters.front().size() > 1) {
    schedule.splits = table.splits;
    if (schedule.splits.empty()) schedule.splits = {SplitOf(table, model)};
  }
  return schedule;
}

LegacySchedule Automatic(std::string_view name, const LegacyTable& table, const VolumeModel& model,
                         double parameter) {
  AutoShape shape = {.by_layer = name != kPhase, .by_phase = name != kLayer};
  if (shape.by_layer && table.splits.size() > 1) {
    throw Error("levels", "",
                "one parameter for each of the " + std::to_string(table.splits.size() + 1) +
                    " sizes that the splits make");
  }
  shape.split = table.splits.empty() ? SplitOf(table, model) : table.splits.front();
  return AutoSchedule(model, parameter, shape);
}

void Reverse(std::string_view name, LegacySchedule& schedule) {
  std::ranges::reverse(schedule.parameters);
  if (name != kLayer) return;
  for (std::vector<double>& row : schedule.parameters) std::ranges::reverse(row);
}

}  // namespace

std::optional<VolumeMeasure> ParseVolume(const std::string& text, const std::string& key) {
  if (ParseChoice(text, key, {"elements", "bytes", "off"}) == "off") return std::nullopt;
  return text == "bytes" ? VolumeMeasure::kBytes : VolumeMeasure::kElements;
}

bool HasEpochs(const std::string& phase_bounds) {
  return phase_bounds.find(kEpochs) != std::string::npos;
}

std::vector<int64_t> ParsePhaseBounds(const std::string& text, int64_t total_steps,
                                      int64_t steps_per_epoch) {
  std::vector<int64_t> bounds;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    bounds.push_back(ParseBound(text.substr(begin, end - begin), total_steps, steps_per_epoch));
    if (bounds.size() > 1 && bounds.back() <= bounds[bounds.size() - 2]) {
      throw Error("phase bounds", text, "ascending bounds");
    }
    begin = end + 1;
  }
  return bounds;
}

LegacySchedule ScheduleOfTable(std::string_view name, const LegacyTable& table, VolumeModel model,
                               double parameter) {
  model.measure = table.volume->value_or(VolumeMeasure::kElements);
  LegacySchedule schedule =
      table.schedule.empty() ? Automatic(name, table, model, parameter) : Given(name, table, model);
  if (table.reversed) Reverse(name, schedule);
  schedule.closed_right = table.closed_right;
  if (schedule.Phases() > 1) {
    schedule.phase_bounds = ParsePhaseBounds(table.phase_bounds, model.total_steps);
  }
  schedule.Validate();
  // For bits the number of values sent is constant, so they are solved in bytes. The volume of a
  // threshold is not known beforehand.
  const std::optional<VolumeMeasure> measure = UsableMeasure(model);
  if (!*table.volume || !measure) return schedule;
  model.measure = *measure;
  return SolveSchedule(model, schedule, UniformVolume(model, parameter), FreeParameters::kAll)
      .schedule;
}

}  // namespace legacy
