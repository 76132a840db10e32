// A run directory begins with its folder and manifest.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns the effective scenario as JSON, by section and key.
nlohmann::json ScenarioDocument(const Scenario& scenario);

// Returns the scenario of such a document. Throws Error naming `where` and the key.
Scenario ReadScenarioDocument(const nlohmann::json& document, const std::string& where);

// Returns the part of the document that shapes the training and not its timing: what a replay must
// find unchanged.
nlohmann::json TrainingDocument(const Scenario& scenario);

// Returns the reasons why the training would be another one on another network. Empty: it would be
// the same, so what it recorded can be replayed.
std::vector<std::string> ReplayRefusals(const Scenario& scenario);

// Returns the manifest. `parameters` is the model's number of elements, and `replay_refused` has
// all such reasons.
nlohmann::json ManifestDocument(const Scenario& scenario, const std::string& program,
                                const std::string& command_line, int64_t parameters,
                                const std::vector<std::string>& replay_refused);

// A RunResult is what a program that fills a run directory leaves.
struct RunResult {
  std::filesystem::path directory;
  bool interrupted = false;
  std::string note;  // text for people under the tables; empty: none
};

// Creates scenario.out, or runs/<program>-<time>, with a number behind it where that is taken, and
// returns it. Throws Error where a run is already there, unless overwrite is on.
std::filesystem::path MakeRunDirectory(const Scenario& scenario, const std::string& program);

}  // namespace legacy
