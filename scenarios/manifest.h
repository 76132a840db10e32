// The run directory's beginning: its folder and manifest.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace legacy {

// The effective scenario as JSON, by section and key.
nlohmann::json ScenarioDocument(const Scenario& scenario);

// The part of it that shapes the training and not its timing: what a replay must find unchanged.
nlohmann::json TrainingDocument(const Scenario& scenario);

// Why the training would be another one on another network, one reason an entry; empty: it would be
// the same, and what it recorded can be replayed.
std::vector<std::string> ReplayRefusals(const Scenario& scenario);

nlohmann::json ManifestDocument(const Scenario& scenario, const std::string& program,
                                const std::string& command_line, int64_t parameters);

// Creates scenario.out, or runs/<program>-<time>. Throws Error where a run is already there, unless overwrite is on.
std::filesystem::path MakeRunDirectory(const Scenario& scenario, const std::string& program);

}  // namespace legacy
