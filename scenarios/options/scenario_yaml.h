// Scenarios in YAML, read from a node: what scenario files and the definitions of studies share.
#pragma once

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// "file:line:column: "
std::string MarkText(const std::string& where, const YAML::Mark& mark);

// Throws Error "where:line:column: ..." on text that is no YAML.
YAML::Node ParseYaml(const std::string& text, const std::string& where);

// A scalar, or a list of scalars joined by commas. Throws Error naming `key`.
std::string ScalarText(const YAML::Node& node, const std::string& key);

// Calls `each` for every key of `map` (none of null), in order. What it throws gains `where`, line and column, unless it has
// them; a key that stands twice is an error.
void ReadMap(const YAML::Node& map, const std::string& name, const std::string& where,
             const std::function<void(const std::string& key, const YAML::Node& value)>& each);

// The sections training, compression, network, clock, run, methods and ns3, over `scenario`.
void ReadScenario(const YAML::Node& sections, const std::string& where, Scenario& scenario);

}  // namespace legacy
