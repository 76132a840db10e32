#include "scenarios/run/open_run.h"

#include <system_error>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/programs/program.h"

namespace legacy {

namespace {

// Returns when the scenario's run writes checkpoints.
Checkpoints::Options CheckpointOptions(const Scenario& scenario, const StopFlag* requests) {
  std::optional<std::chrono::nanoseconds> period;
  if (*scenario.checkpoint) period = std::chrono::nanoseconds(**scenario.checkpoint);
  return {period, requests};
}

}  // namespace

EarlierRun::EarlierRun(const Scenario& scenario, const std::string& program, std::FILE* log)
    : manifest(ReadResumed(scenario.out, program)),
      lock(std::make_shared<FolderLock>(scenario.out)) {
  CheckResume(scenario, manifest);
  Checkpoints checkpoints(scenario.out, {}, log);
  if (IsFinished(scenario.out)) {
    checkpoints.Remove();  // the run may have been killed before it did this
    throw Error("--resume", scenario.out,
                "a run that is not finished (" + CommandOf("legacy-report") + " " + scenario.out +
                    " shows it)");
  }
  from = checkpoints.Newest();
  if (!from) {
    std::fprintf(log, "%s has no checkpoint: the run starts from its beginning\n",
                 scenario.out.c_str());
  }
}

OpenRun::OpenRun(const std::string& program, const Scenario& scenario, const RunControl& control,
                 std::FILE* log)
    : program_(program), scenario_(scenario), control_(control), log_(log) {
  if (control.resume) {
    earlier_.emplace(scenario, program, log);
  } else {
    CheckOut(scenario);
  }
}

void OpenRun::MakeDirectory(const Scenario& scenario) {
  Scenario place = scenario;
  place.overwrite |= control_.resume;
  result.directory = MakeRunDirectory(place, program_);
  result.lock = earlier_ ? earlier_->lock : std::make_shared<FolderLock>(result.directory);
  checkpoints_.emplace(result.directory, CheckpointOptions(scenario, control_.requests), log_);
}

analysis::Manifest OpenRun::Begin(const nlohmann::json& manifest, const Files& growing) {
  if (from() == nullptr) {
    checkpoints_->Remove();
    return analysis::WriteManifest(result.directory, manifest);
  }
  CheckVersions(scenario_, manifest, Earlier());
  const analysis::Manifest written = analysis::ParseManifest(Earlier(), result.directory.string());
  checkpoints_->CutBack(*from(), growing(written));
  return written;
}

void OpenRun::NoteInterruption(bool interrupted) {
  result.interrupted = interrupted;
  const bool starts_again = checkpoints_->On() && control_.requests != nullptr;
  if (!interrupted || !(checkpoints_->Any() || starts_again)) return;
  if (!result.note.empty()) result.note += "\n";
  result.note += InterruptionNote(program_, result.directory, checkpoints_->Any());
}

bool IsFinished(const std::filesystem::path& directory) {
  std::error_code none;
  return std::filesystem::exists(std::filesystem::symlink_status(directory / kFinishedFile, none));
}

void FinishRun(const RunResult& result) {
  if (result.interrupted) return;
  ReplaceFile(result.directory / kFinishedFile, "all rows, tables and pictures are written\n");
  Checkpoints(result.directory, {}, stderr).Remove();
}

}  // namespace legacy
