// A preset names all compression settings of one paper: densities, schedules, splits, residuals and
// the methods that the paper compares. Model, data, network and learning rate stay as they are.
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
  // Keys of the table of options, with texts.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<Method> methods;  // methods under their names, over built-in ones
};

// Return all presets, and their names.
const std::vector<Preset>& Presets();
std::vector<std::string> PresetNames();

// Sets all options of the preset; later settings override them. Throws Error with the list for an
// unknown name.
void ApplyPreset(const std::string& name, Scenario& scenario);

// Returns the options that the scenario's preset set, line by line, and those that were changed
// since; "" without a preset.
std::string PresetText(const Scenario& scenario);

}  // namespace legacy
