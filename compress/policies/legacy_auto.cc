#include "compress/policies/legacy_auto.h"

#include "compress/policies/parameter_scale.h"
#include "compress/policies/policy_options.h"

namespace legacy {
namespace {

constexpr double kSmallShare = 0.1;  // fraction of all elements in layers below the split
constexpr double kSmallFactor = 5;   // half the volume divided by that fraction
constexpr double kSmallInteger = 2;  // factor for bits and ranks
constexpr double kLessFactor = 0.8;
constexpr double kPhaseFactors[] = {1.8, 0.2};

constexpr std::string_view kRules[] = {"both", "layer", "phase"};
constexpr std::string_view kVolumes[] = {"elements", "bytes"};

bool Responds(const VolumeModel& model) {
  const ParameterSpec& spec = model.scheme->Parameter();
  if (model.measure == VolumeMeasure::kBytes) {
    for (const Unit& unit : model.units) {
      if (!model.scheme->MessageBytes(unit, spec.fallback)) return false;
    }
  }
  return UniformVolume(model, MostParameter(spec)) > UniformVolume(model, LeastParameter(spec));
}

// Returns true if the last bucket's parameters can lower the average volume to the target.
bool Feasible(const VolumeModel& model, LegacySchedule schedule, double target) {
  for (auto& row : schedule.parameters) row.back() = LeastParameter(model.scheme->Parameter());
  return AverageVolume(model, schedule) <= target;
}

std::unique_ptr<Policy> MakeLegacyAuto(const OptionReader& options, const PolicyContext& context) {
  const size_t rule = options.Choice("rule", kRules);
  const bool bytes = options.Choice("volume", kVolumes) == 1;
  const VolumeModel model = {.units = context.units,
                             .scheme = context.scheme,
                             .total_steps = context.total_steps,
                             .measure = bytes ? VolumeMeasure::kBytes : VolumeMeasure::kElements};
  const AutoShape shape = {.by_layer = rule != 2, .by_phase = rule != 1};
  const LegacySchedule schedule = AutoSchedule(model, context.parameter, shape);
  constexpr const char* kNames[] = {"legacy-both", "legacy-layer", "legacy-phase"};
  return MakeLegacyPolicy(kNames[rule], schedule, context.scheme->Parameter());
}

}  // namespace

std::optional<VolumeMeasure> UsableMeasure(const VolumeModel& model) {
  const bool bytes = model.measure == VolumeMeasure::kBytes;
  for (const bool other : {false, true}) {
    VolumeModel tried = model;
    tried.measure = bytes != other ? VolumeMeasure::kBytes : VolumeMeasure::kElements;
    if (Responds(tried)) return tried.measure;
  }
  return std::nullopt;
}

LegacySchedule AutoSchedule(const VolumeModel& model, double parameter, const AutoShape& shape) {
  const ParameterSpec& spec = model.scheme->Parameter();
  CheckParameter(spec, parameter);
  VolumeModel measured = model;
  const std::optional<VolumeMeasure> measure = UsableMeasure(model);
  if (measure) measured.measure = *measure;
  LegacySchedule schedule;
  schedule.parameters = {{parameter}};
  if (shape.by_layer) {
    schedule.splits = {shape.split > 0 ? shape.split : SplitAtShare(model.units, kSmallShare)};
    double factor = spec.integer ? kSmallInteger : kSmallFactor;
    schedule.parameters = {{ScaleParameter(spec, parameter, factor), parameter}};
    // In models of small matrices the small layers alone may exceed the volume; their factor is
    // then lowered, at most to 1.
    while (measure && !Feasible(measured, schedule, UniformVolume(measured, parameter))) {
      factor = 1 + (factor - 1) * kLessFactor;
      schedule.parameters.front().front() = ScaleParameter(spec, parameter, factor);
    }
    if (measure) {
      schedule = SolveSchedule(measured, schedule, UniformVolume(measured, parameter),
                               FreeParameters::kLargest)
                     .schedule;
    }
  }
  if (shape.by_phase) {
    const std::vector<double> row = schedule.parameters.front();
    schedule.parameters.clear();
    for (const double factor : kPhaseFactors) {
      schedule.parameters.push_back(row);
      for (double& value : schedule.parameters.back()) value = ScaleParameter(spec, value, factor);
    }
  }
  if (!measure) return schedule;
  return SolveSchedule(measured, schedule, UniformVolume(measured, parameter), FreeParameters::kAll)
      .schedule;
}

PolicyRow LegacyAutoRow() {
  return {{.name = "legacy-auto",
           .help = "derives LEGACY's schedule from the average density alone",
           .paper = "LEGACY: A Lightweight Dynamic Gradient Compression Strategy for Distributed "
                    "Deep Learning, ICLR 2026, for the schedule; its densities are derived here",
           .options = {{"rule", "both", "both, layer, phase",
                        "what the schedule's parameters depend on: layer size, phase of the "
                        "training, or both"},
                       {"volume", "elements", "elements, bytes",
                        "measure in which the volume equals that of the uniform parameter; "
                        "schedules of bits always use bytes"}}},
          MakeLegacyAuto};
}

}  // namespace legacy
