// Option forms are the forms that options of a scenario take. Only the files that list options
// include this.
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Return the tables of scenario_options.cc. Each is in a file of its own.
std::vector<ScenarioOption> OptionsOfTraining();
std::vector<ScenarioOption> OptionsOfCompression();
// Includes the options of the clock.
std::vector<ScenarioOption> OptionsOfNetwork();

// Returns the option with more properties.
inline ScenarioOption operator|(ScenarioOption option, OptionProperties properties) {
  option.properties |= properties;
  return option;
}

namespace option_forms {

// Adds properties to each of the options.
inline void AddToAll(std::vector<ScenarioOption>& options, OptionProperties properties) {
  for (ScenarioOption& option : options) option.properties |= properties;
}

inline constexpr int64_t kMany = std::numeric_limits<int64_t>::max();

using Texts = std::vector<std::string>;

template <auto Field, int64_t Minimum, int64_t Maximum = kMany>
ScenarioOption Integer(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            using Type = std::remove_reference_t<decltype(s.*Field)>;
            constexpr int64_t kTop = std::min<int64_t>(
                Maximum, sizeof(Type) < 8 ? std::numeric_limits<int32_t>::max() : kMany);
            s.*Field = static_cast<Type>(ParseInteger(text, k, Minimum, kTop));
          },
          [](const Scenario& s) { return std::to_string(s.*Field); },
          OptionKind::kInteger};
}

// Makes the option of a number of steps or epochs.
template <auto Field, int64_t Minimum>
ScenarioOption Steps(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N|Nep",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseStepCount(text, k, Minimum);
          },
          [](const Scenario& s) { return (s.*Field).Text(); },
          OptionKind::kInteger};
}

// Makes a number's option. Bounds are in thousandths, because some GCCs do not take double as a
// template argument yet.
template <auto Field, int64_t MinimumMilli, int64_t MaximumMilli>
ScenarioOption Number(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "X",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseNumber(text, k, MinimumMilli / 1000.0, MaximumMilli / 1000.0);
          },
          [](const Scenario& s) { return FormatNumber(s.*Field); },
          OptionKind::kNumber};
}

template <auto Field>
ScenarioOption Fraction(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "1%|0.01",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseFraction(text, k);
          },
          [](const Scenario& s) { return FormatPercent(s.*Field); },
          OptionKind::kFraction};
}

template <auto Field>
ScenarioOption Switch(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          kSwitch,
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.*Field = ParseSwitch(text, k);
          },
          [](const Scenario& s) { return std::string(s.*Field ? "on" : "off"); }};
}

// Checks text that another part reads later.
using Check = void (*)(const std::string& text, const std::string& key);

template <class Type, class... Types>
constexpr bool kIsOneOf = (std::is_same_v<Type, Types> || ...);

template <class Type>
constexpr OptionKind kKindOf = kIsOneOf<Type, Rate>                             ? OptionKind::kRate
                               : kIsOneOf<Type, Time, Parsed<ParsePeriod>>      ? OptionKind::kTime
                               : kIsOneOf<Type, Size, Parsed<ParseMemoryLimit>> ? OptionKind::kBytes
                                                                                : OptionKind::kText;

// An option that is text, or a value that keeps its text (values.h).
template <auto Field, Check Checked = nullptr>
ScenarioOption Text(std::string key, std::string flag, std::string metavar, std::string help) {
  using Type = std::remove_reference_t<decltype(std::declval<Scenario&>().*Field)>;
  return {std::move(key),
          std::move(flag),
          std::move(metavar),
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            if constexpr (Checked != nullptr) Checked(text, k);
            if constexpr (std::is_same_v<Type, std::string>) {
              s.*Field = text;
            } else {
              s.*Field = Type(text, k);
            }
          },
          [](const Scenario& s) -> std::string {
            if constexpr (std::is_same_v<Type, std::string>) {
              return s.*Field;
            } else {
              return (s.*Field).text();
            }
          },
          kKindOf<Type>};
}

template <auto Field>
ScenarioOption Integers(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N,N,...",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            (s.*Field).clear();
            for (const std::string& item : SplitList(text)) {
              (s.*Field).push_back(ParseInteger(item, k, 1, kMany));
            }
          },
          [](const Scenario& s) {
            Texts items;
            for (const int64_t value : s.*Field) items.push_back(std::to_string(value));
            return Join(items, ",");
          }};
}

inline ScenarioOption DecaySteps(std::string key, std::string flag, std::string help) {
  return {std::move(key),
          std::move(flag),
          "N,Nep,...",
          std::move(help),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.decay_steps.clear();
            for (const std::string& item : SplitList(text)) {
              s.decay_steps.push_back(ParseStepCount(item, k, 1));
            }
          },
          [](const Scenario& s) {
            Texts items;
            for (const StepCount& count : s.decay_steps) items.push_back(count.Text());
            return Join(items, ",");
          }};
}

}  // namespace option_forms
}  // namespace legacy
