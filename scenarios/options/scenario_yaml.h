// Reader of scenarios in YAML nodes, which scenario files and the definitions of studies share.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

#include "base/files/yaml.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Reads the sections training, compression, network, clock, run, methods and ns3 over `scenario`.
void ReadScenario(const YAML::Node& sections, const std::string& where, Scenario& scenario);

}  // namespace legacy
