// An open run is a run directory that is being filled: one that begins, or an unfinished one that
// continues (--resume).
#pragma once

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "analysis/run_directory.h"
#include "base/programs/program.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/options/scenario.h"
#include "scenarios/run/manifest.h"
#include "scenarios/run/progress.h"

namespace legacy {

class ProcessGroup;

// A RunControl says how a run is started and reached.
struct RunControl {
  bool resume = false;  // true: continues the run in scenario.out
  // Counts requests for a checkpoint; null: none come.
  const StopFlag* requests = nullptr;
  // Processes that train together, of which this one leads; null: it is alone.
  ProcessGroup* processes = nullptr;
  ShareTold told = {};
};

// A RunResult is the result of a program that fills a run directory.
struct RunResult {
  std::filesystem::path directory;
  bool interrupted = false;
  std::string note;  // text for people under the tables; empty: none
  // Why a training ended before all of its versions were made; "": none did.
  std::string stopped = {};
  // Keeps other processes out of the directory until the run is finished.
  std::shared_ptr<FolderLock> lock = {};
};

// An EarlierRun is locked as long as this lives.
struct EarlierRun {
  // Finds the run of `program` in scenario.out. Throws Error where there is nothing to continue
  // with, and where the scenario is another one.
  EarlierRun(const Scenario& scenario, const std::string& program, std::FILE* log);

  nlohmann::json manifest;
  std::shared_ptr<FolderLock> lock;
  std::unique_ptr<SectionFile> from;  // null: nothing was saved yet
};

class OpenRun {
 public:
  using Files = std::function<std::vector<std::filesystem::path>(const analysis::Manifest&)>;

  // Finds the earlier run where `control` resumes one, else checks --out, and writes nothing. What
  // is given outlives this. Throws Error as EarlierRun and CheckOut do.
  OpenRun(const std::string& program, const Scenario& scenario, const RunControl& control,
          std::FILE* log);

  // The checkpoint from which the run continues; null: it starts from the beginning.
  const SectionFile* from() const { return earlier_ ? earlier_->from.get() : nullptr; }
  // The manifest of the earlier run, if the run continues from a checkpoint.
  const nlohmann::json& Earlier() const { return earlier_->manifest; }

  // Makes the directory, or takes the earlier one, and locks it. `scenario` has the options with
  // which the run is made. Throws Error as MakeRunDirectory does.
  void MakeDirectory(const Scenario& scenario);
  // Writes the manifest. Where the run continues it leaves the one that is there, and cuts the
  // files of the run back to the checkpoint: `growing` names those that may grow. Throws Error
  // where something else computes now (CheckVersions).
  analysis::Manifest Begin(const nlohmann::json& manifest, const Files& growing);
  // Says how to continue, if the run was interrupted and can.
  void NoteInterruption(bool interrupted);

  Checkpoints& checkpoints() { return *checkpoints_; }
  const std::filesystem::path& directory() const { return result.directory; }

  RunResult result;

 private:
  const std::string program_;
  const Scenario& scenario_;
  const RunControl& control_;
  std::FILE* const log_;
  std::optional<EarlierRun> earlier_;
  std::optional<Checkpoints> checkpoints_;
};

// True where the file is there that says that the run in a folder is finished.
bool IsFinished(const std::filesystem::path& directory);

// Says that a run whose report is written is finished, and removes its checkpoints; does nothing
// for one that was interrupted.
void FinishRun(const RunResult& result);

}  // namespace legacy
