// A run directory is filled in one way, whatever is trained, replayed or read from a trace: it is
// made or continued, its trainings run, and a message says how to continue if they were
// interrupted.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "analysis/run_directory.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/open_run.h"
#include "scenarios/run/progress.h"

namespace legacy {

// A RunContent is what fills a run directory.
class RunContent {
 public:
  virtual ~RunContent() = default;
  // Returns the scenario with which the run is made.
  virtual const Scenario& scenario() const = 0;
  virtual nlohmann::json Manifest() const = 0;
  // Returns the files that may grow, which a continued run cuts back.
  virtual std::vector<std::filesystem::path> GrowingFiles(
      const std::filesystem::path& directory, const analysis::Manifest& manifest) const = 0;
  // Opens the files for the rows. Where the run continues, it restores what the checkpoint says of
  // the whole run. It may write another manifest.
  virtual void Open(OpenRun& open, analysis::Manifest& manifest) = 0;
  // Returns the number of steps or versions that are not done.
  virtual int64_t StepsLeft() const = 0;
  // True where checkpoints are written, for which a stop waits.
  virtual bool Saves() const = 0;
  // Runs the trainings. Returns false where they were stopped.
  virtual bool Run(Progress& progress) = 0;
  // Completes the result.
  virtual void Conclude(bool /*done*/, RunResult& /*result*/) {}
};

// Fills the directory, with progress on `log`. Throws Error as the functions of OpenRun do.
RunResult FillRun(OpenRun& open, RunContent& content, const RunControl& control, std::FILE* log);

}  // namespace legacy
