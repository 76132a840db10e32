// A preset is what a paper compresses with, by one name: densities, schedules, splits, residuals
// and the methods that it compares. Model, data, network and rate stay what they are.
// docs/policies.md has the table with its sources.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A Preset is one paper's settings.
struct Preset {
  std::string name;    // name: "paper-legacy"
  std::string source;  // paper
  // Keys of the table of options, and texts.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Method> methods;  // methods under their names, over built-in ones
};

// Return all presets, and their names.
const std::vector<Preset>& Presets();
std::vector<std::string> PresetNames();

// Sets all that the preset says; what is set later wins. Throws Error with the list for an unknown
// name.
void ApplyPreset(const std::string& name, Scenario& scenario);

// Returns what the scenario's preset set, line by line, and what was set otherwise since; "" where
// there is none.
std::string PresetText(const Scenario& scenario);

}  // namespace legacy
