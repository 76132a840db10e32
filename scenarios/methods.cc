#include "scenarios/methods.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "compress/policies/equal_volume.h"
#include "compress/error.h"
#include "compress/policies/legacy_schedule.h"
#include "scenarios/network/parse.h"

namespace legacy {
namespace {

// Without levels of the user's: small layers five times the average density, and phases that send 1.8 and 0.2 times the
// average, the ratios of LEGACY's experiments on small models. docs/policies.md.
constexpr double kSmallLayerFactor = 5;
constexpr double kPhaseFactors[] = {1.8, 0.2};
constexpr double kSmallShare = 0.1;

std::optional<IndexCoding> CodingOf(const std::string& text) {
  if (text == "u16") return IndexCoding::kU16;
  if (text == "u32") return IndexCoding::kU32;
  if (text == "bitmap") return IndexCoding::kBitmap;
  if (text == "packed") return IndexCoding::kPacked;
  if (text == "delta") return IndexCoding::kDelta;
  return std::nullopt;
}

// Only schemes that send positions take an index coding; the others refuse one.
bool TakesIndexCoding(const std::string& scheme) {
  SchemeOptions options;
  options.codec.index = IndexCoding::kU32;
  options.error_feedback = false;
  try {
    MakeScheme(scheme, options);
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Dense schemes have no parameter and lose nothing worth keeping.
bool KeepsResiduals(const Scheme& scheme, const Scenario& scenario) {
  return scenario.error_feedback && !scheme.Parameter().name.empty();
}

std::unique_ptr<Scheme> SchemeOf(const Method& method, const Scenario& scenario) {
  SchemeOptions options;
  if (TakesIndexCoding(method.scheme)) options.codec.index = CodingOf(scenario.index);
  options.error_feedback = false;
  std::unique_ptr<Scheme> scheme = MakeScheme(method.scheme, options);
  if (!KeepsResiduals(*scheme, scenario)) return scheme;
  options.error_feedback = true;
  return MakeScheme(method.scheme, options);
}

bool IsUniform(const Method& method) { return method.policy == "uniform"; }

const std::string& LevelsOf(const Method& method, const Scenario& scenario) {
  return method.levels.empty() ? scenario.levels : method.levels;
}

// Levels that are taken as they are need no volume to be brought to.
bool IsSolved(const Method& method, const Scenario& scenario) {
  return scenario.volume != "off" || LevelsOf(method, scenario).empty();
}

bool IsDensityOfScenario(const Method& method, const ParameterSpec& spec) {
  return method.parameter <= 0 && spec.name == "density";
}

double UniformParameter(const Method& method, const Scenario& scenario, const ParameterSpec& spec) {
  if (IsDensityOfScenario(method, spec)) return scenario.density;
  return method.parameter > 0 ? method.parameter : spec.fallback;
}

// The user's levels, cut to what the policy looks at: the layer rule has the first phase, the phase rule the last bucket.
LegacySchedule GivenSchedule(const Method& method, const std::string& levels,
                             const Scenario& scenario, const ParameterSpec& spec,
                             std::span<const Unit> units) {
  LegacySchedule schedule;
  schedule.levels =
      ParseLevels(levels, spec.name == "density" ? LevelUnit::kFraction : LevelUnit::kRaw);
  if (method.policy == "legacy-layer") schedule.levels.resize(1);
  if (method.policy == "legacy-phase") {
    for (std::vector<double>& row : schedule.levels) row = {row.back()};
  }
  if (schedule.levels.front().size() > 1) {
    schedule.splits = scenario.splits;
    if (schedule.splits.empty()) schedule.splits = {SplitAtShare(units, kSmallShare)};
  }
  return schedule;
}

LegacySchedule DefaultSchedule(const Method& method, const Scenario& scenario, double target,
                               const VolumeModel& model, double density) {
  LegacySchedule schedule;
  schedule.levels = {{density}};
  if (method.policy != "legacy-phase") {
    if (scenario.splits.size() > 1) {
      throw Error("compression.levels", "",
                  "one level for each of the " + std::to_string(scenario.splits.size() + 1) +
                      " sizes that compression.splits makes");
    }
    schedule.splits = scenario.splits;
    if (schedule.splits.empty()) schedule.splits = {SplitAtShare(model.units, kSmallShare)};
    schedule.levels = {{std::min(1.0, kSmallLayerFactor * density), density}};
    schedule = SolveSchedule(model, schedule, target, FreeLevels::kLargest).schedule;
  }
  if (method.policy != "legacy-layer") {
    const std::vector<double> row = schedule.levels.front();
    schedule.levels.clear();
    for (const double factor : kPhaseFactors) {
      schedule.levels.push_back(row);
      for (double& level : schedule.levels.back()) level = std::min(1.0, level * factor);
    }
  }
  return schedule;
}

LegacySchedule ScheduleOf(const Method& method, const Scenario& scenario, const Scheme& scheme,
                          std::span<const Unit> units) {
  const ParameterSpec& spec = scheme.Parameter();
  const std::string& levels = LevelsOf(method, scenario);
  const VolumeMeasure measure =
      scenario.volume == "bytes" ? VolumeMeasure::kBytes : VolumeMeasure::kElements;
  const VolumeModel model{units, &scheme, scenario.steps, measure};
  const double parameter = UniformParameter(method, scenario, spec);
  const double target = UniformVolume(model, parameter);
  LegacySchedule schedule;
  if (!levels.empty()) {
    schedule = GivenSchedule(method, levels, scenario, spec, units);
  } else if (spec.name == "density") {
    schedule = DefaultSchedule(method, scenario, target, model, parameter);
  } else {
    throw Error("methods." + method.name + ".levels", "",
                "levels of the parameter '" + spec.name + "', as in 4,2/3,1");
  }
  if (method.reversed) std::reverse(schedule.levels.begin(), schedule.levels.end());
  if (scenario.volume == "off") return schedule;
  return SolveSchedule(model, schedule, target, FreeLevels::kAll).schedule;
}

std::string LevelText(double level, const ParameterSpec& spec) {
  char text[32];
  if (spec.name == "density") {
    std::snprintf(text, sizeof(text), "%.4g %%", 100 * level);
  } else {
    std::snprintf(text, sizeof(text), "%g", level);
  }
  return text;
}

std::string Describe(const LegacySchedule& schedule, const ParameterSpec& spec) {
  std::string text;
  for (size_t phase = 0; phase < schedule.levels.size(); ++phase) {
    if (schedule.levels.size() > 1)
      text += (phase ? "; phase " : "phase ") + std::to_string(phase + 1) + ": ";
    const std::vector<double>& row = schedule.levels[phase];
    for (size_t bucket = 0; bucket < row.size(); ++bucket) {
      text += (bucket ? ", " : "") + LevelText(row[bucket], spec);
      if (bucket < schedule.splits.size()) {
        text += " below " + std::to_string(schedule.splits[bucket]) + " elements";
      }
    }
  }
  return text;
}

}  // namespace

BuiltMethod BuildMethod(const Method& method, const Scenario& scenario,
                        std::span<const Unit> units) {
  BuiltMethod built;
  built.scheme = SchemeOf(method, scenario);
  const ParameterSpec& spec = built.scheme->Parameter();
  built.description = method.scheme + " by " + method.scope;
  if (IsUniform(method)) {
    const double parameter = UniformParameter(method, scenario, spec);
    built.policy = MakeUniformPolicy(parameter);
    if (!spec.name.empty()) {
      built.description += ", " + spec.name + " " + LevelText(parameter, spec);
    }
    return built;
  }
  const LegacySchedule schedule = ScheduleOf(method, scenario, *built.scheme, units);
  built.policy = MakeLegacyPolicy(method.policy, schedule, spec);
  built.description += ", " + spec.name + " " + Describe(schedule, spec);
  return built;
}

std::vector<std::string> UnreadOptions(const Method& method, const Scenario& scenario) {
  const std::unique_ptr<Scheme> scheme = SchemeOf(method, scenario);
  const ParameterSpec& spec = scheme->Parameter();
  const bool scheduled = !IsUniform(method);
  std::vector<std::string> unread;
  const auto add = [&](const char* key, bool read) {
    if (!read) unread.emplace_back(key);
  };
  const bool density = IsDensityOfScenario(method, spec);
  add("compression.density", density && (!scheduled || IsSolved(method, scenario)));
  add("compression.levels", scheduled && method.levels.empty());
  add("compression.splits", scheduled && method.policy != "legacy-phase");
  add("compression.volume", scheduled);
  add("compression.error_feedback", !spec.name.empty());
  add("compression.rescale_residuals", KeepsResiduals(*scheme, scenario));
  add("compression.index", TakesIndexCoding(method.scheme));
  return unread;
}

}  // namespace legacy
