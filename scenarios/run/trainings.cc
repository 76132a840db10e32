#include "scenarios/run/trainings.h"

#include <optional>

#include "base/programs/patience.h"

namespace legacy {
namespace {

// Runs a training. Returns false if it was stopped.
bool RunTraining(Trainings& trainings, size_t training, const Pace& pace) {
  std::optional<PatientScope> patience;
  const auto begin = [&] {
    if (pace.patience) patience.emplace(pace.patience());
  };
  begin();
  const std::unique_ptr<Rounds> rounds = trainings.Begin(training);
  while (rounds && rounds->Next()) {
    patience.reset();
    const bool stopped = pace.stopped();
    Checkpoints* const checkpoints = pace.checkpoints;
    if (checkpoints && (checkpoints->Due() || (stopped && checkpoints->On()))) {
      trainings.Save(training);
    }
    if (stopped) return false;
    begin();
  }
  patience.reset();
  return !rounds || rounds->Finish();
}

bool RunAll(Trainings& trainings, const Pace& pace) {
  try {
    trainings.Prepare();
    for (size_t training = trainings.First(); training < trainings.Count(); ++training) {
      if (!RunTraining(trainings, training, pace)) return false;
    }
  } catch (const GivenUp&) {
    return false;
  }
  return true;
}

}  // namespace

bool RunTrainings(Trainings& trainings, const Pace& pace) {
  const bool done = RunAll(trainings, pace);
  trainings.End(done);
  return done;
}

}  // namespace legacy
