#include "scenarios/run/earlier_run.h"

#include "base/error.h"
#include "scenarios/run/manifest.h"

namespace legacy {

Checkpoints::Options CheckpointOptions(const Scenario& scenario, const StopFlag* requests) {
  std::optional<std::chrono::nanoseconds> period;
  if (*scenario.checkpoint) period = std::chrono::nanoseconds(**scenario.checkpoint);
  return {period, requests};
}

EarlierRun::EarlierRun(const Scenario& scenario, std::FILE* log)
    : manifest(ReadResumed(scenario.out)), lock(scenario.out) {
  CheckResume(scenario, manifest);
  Checkpoints checkpoints(scenario.out, {}, log);
  if (!checkpoints.Any() && IsFinished(scenario.out, manifest)) {
    throw Error("--resume", scenario.out,
                "a run that is not finished (legacy-report " + scenario.out + " shows it)");
  }
  from = checkpoints.Newest();
  if (!from) {
    std::fprintf(log, "%s has no checkpoint: the run starts from its beginning\n",
                 scenario.out.c_str());
  }
}

}  // namespace legacy
