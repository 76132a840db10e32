// An earlier run is an unfinished run to go on with (--resume).
#pragma once

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/program.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/options/scenario.h"

namespace legacy {

// Returns when the scenario's run writes checkpoints. `requests` counts those that are asked for;
// null: none are.
Checkpoints::Options CheckpointOptions(const Scenario& scenario, const StopFlag* requests);

// An EarlierRun is locked as long as this lives.
struct EarlierRun {
  // Finds the run in scenario.out. Throws Error where there is nothing to go on with, and where the
  // scenario is another one.
  EarlierRun(const Scenario& scenario, std::FILE* log);

  nlohmann::json manifest;
  FolderLock lock;
  std::unique_ptr<SectionFile> from;  // null: nothing was saved yet
};

}  // namespace legacy
