// The run directory's beginning: its folder and manifest.json.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "compress/exchange.h"
#include "compress/policy.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// The effective scenario as JSON, by section and key.
nlohmann::json ScenarioDocument(const Scenario& scenario);

// The scenario that such a document holds. Throws Error naming `where` and the key.
Scenario ReadScenarioDocument(const nlohmann::json& document, const std::string& where);

// The part of it that shapes the training and not its timing: what a replay must find unchanged.
nlohmann::json TrainingDocument(const Scenario& scenario);

// Why the training would be another one on another network, one reason an entry; empty: it would be
// the same, and what it recorded can be replayed.
std::vector<std::string> ReplayRefusals(const Scenario& scenario);

// `replay_refused`: all such reasons.
nlohmann::json ManifestDocument(const Scenario& scenario, const std::string& program,
                                const std::string& command_line, int64_t parameters,
                                const std::vector<std::string>& replay_refused);

// What a program that fills a run directory leaves.
struct RunResult {
  std::filesystem::path directory;
  bool interrupted = false;
  std::string note;  // for people, under the tables; "": none
};

// Creates scenario.out, or runs/<program>-<time>. Throws Error where a run is already there, unless
// overwrite is on.
std::filesystem::path MakeRunDirectory(const Scenario& scenario, const std::string& program);

}  // namespace legacy
