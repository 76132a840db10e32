// Forms of rows that scenarios alone have, beside those of base/option_forms.h. Only the files that
// list options include this.
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
  return {.key = std::move(key),
          .flag = std::move(flag),
          .metavar = "N,Nep,...",
          .help = std::move(help),
          .set =
              [](Scenario& s, const std::string& k, const std::string& text) {
                s.decay_steps.clear();
                for (const std::string& item : SplitList(text)) {
                  s.decay_steps.push_back(ParseStepCount(item, k, 1));
                }
              },
          .get =
              [](const Scenario& s) {
                std::vector<std::string> items;
                for (const StepCount& count : s.decay_steps) items.push_back(count.Text());
                return Join(items, ",");
              }};
}

}  // namespace option_forms
}  // namespace legacy
