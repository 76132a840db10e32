#include "scenarios/run/earlier_run.h"

#include <system_error>

#include "base/error.h"
#include "base/files/whole_file.h"

namespace legacy {

Checkpoints::Options CheckpointOptions(const Scenario& scenario, const StopFlag* requests) {
  std::optional<std::chrono::nanoseconds> period;
  if (*scenario.checkpoint) period = std::chrono::nanoseconds(**scenario.checkpoint);
  return {period, requests};
}

EarlierRun::EarlierRun(const Scenario& scenario, const std::string& program, std::FILE* log)
    : manifest(ReadResumed(scenario.out, program)),
      lock(std::make_shared<FolderLock>(scenario.out)) {
  CheckResume(scenario, manifest);
  Checkpoints checkpoints(scenario.out, {}, log);
  if (IsFinished(scenario.out)) {
    checkpoints.Remove();  // it may have been killed before it did
    throw Error("--resume", scenario.out,
                "a run that is not finished (legacy-report " + scenario.out + " shows it)");
  }
  from = checkpoints.Newest();
  if (!from) {
    std::fprintf(log, "%s has no checkpoint: the run starts from its beginning\n",
                 scenario.out.c_str());
  }
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
