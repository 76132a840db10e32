// Forms of rows that scenarios alone have, besides those of base/option_forms.h. Only the files
// that list options include this.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/option_forms.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Return the tables of scenario_options.cc. Each is in a file of its own.
std::vector<ScenarioOption> OptionsOfTraining();
std::vector<ScenarioOption> OptionsOfCompression();
// Includes the options of the clock.
std::vector<ScenarioOption> OptionsOfNetwork();

template <>
inline constexpr OptionKind kKindOf<Parsed<ParsePeriod>> = OptionKind::kTime;
template <>
inline constexpr OptionKind kKindOf<Parsed<ParseMemoryLimit>> = OptionKind::kBytes;

namespace option_forms {

// Makes the option of a number of steps or epochs.
template <auto Field, int64_t Minimum>
ScenarioOption Steps(std::string key, std::string flag, std::string help) {
  return Printed<Field>(
      std::move(key), std::move(flag), "N|Nep", std::move(help), OptionKind::kInteger,
      [](const std::string& text, const std::string& k) {
        return ParseStepCount(text, k, Minimum);
      },
      [](const StepCount& count) { return count.Text(); });
}

inline ScenarioOption DecaySteps(std::string key, std::string flag, std::string help) {
  return Listed<&Scenario::decay_steps>(
      std::move(key), std::move(flag), "N,Nep,...", std::move(help),
      [](const std::string& item, const std::string& k) { return ParseStepCount(item, k, 1); },
      [](const StepCount& count) { return count.Text(); });
}

}  // namespace option_forms
}  // namespace legacy
