// An earlier run is an unfinished run to go on with (--resume).
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/programs/program.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/manifest.h"

namespace legacy {

// Returns when the scenario's run writes checkpoints. `requests` counts those that are asked for;
// null: none are.
Checkpoints::Options CheckpointOptions(const Scenario& scenario, const StopFlag* requests);

// An EarlierRun is locked as long as this lives.
struct EarlierRun {
  // Finds the run of `program` in scenario.out. Throws Error where there is nothing to go on with,
  // and where the scenario is another one.
  EarlierRun(const Scenario& scenario, const std::string& program, std::FILE* log);

  nlohmann::json manifest;
  std::shared_ptr<FolderLock> lock;
  std::unique_ptr<SectionFile> from;  // null: nothing was saved yet
};

// True where the file is there that says that the run in a folder is finished.
bool IsFinished(const std::filesystem::path& directory);

// Says that a run whose report is written is finished, and removes its checkpoints; does nothing
// for one that was interrupted.
void FinishRun(const RunResult& result);

}  // namespace legacy
