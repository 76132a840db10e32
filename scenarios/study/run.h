// Works on a study in child processes of this machine: trainings that are left, then the points
// that they serve, each written to a journal as it ends. A point that throws, or whose process
// dies, is recorded as failed with the reason, and the rest goes on. Killed at any moment, at most
// the work in hand is done again.
#pragma once

#include <cstdint>
#include <functional>

#include "base/program.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/schedule.h"

namespace legacy {

enum class StudyPhase { kAll, kTrainings, kPoints };

struct StudyRunOptions {
  int jobs = 1;  // processes at once
  StudyPhase phase = StudyPhase::kAll;
  Share share;
  bool retry_failed = false;
};

// How far a run is, of what was left when it began, and what that took. Seconds are of all
// processes together.
struct StudyProgress {
  int jobs = 1;
  int64_t trainings = 0;
  int64_t trainings_ended = 0;
  int64_t trainings_failed = 0;
  double samples = 0;  // that the trainings see: workers x batch x steps
  double samples_ended = 0;
  double training_seconds = 0;
  int64_t points = 0;
  int64_t points_ended = 0;
  int64_t points_failed = 0;
  double point_seconds = 0;
  bool interrupted = false;

  // Time left, from what each kind of work has taken so far; at least so long where a kind that is
  // left has not ended once.
  struct Left {
    double seconds = 0;
    bool at_least = false;
  };
  Left TimeLeft() const;
};

// `now`: states when the run begins. `tick` is called several times a second. `stop` is looked at
// as often; children are killed then. Points whose training is not there and is not this run's are
// left. Throws Error where journals cannot be written.
StudyProgress RunStudy(const StudyFolder& folder, const analysis::Study& now,
                       const StudyRunOptions& options,
                       const std::function<void(const StudyProgress&)>& tick, const StopFlag& stop);

// Samples that a training sees.
double SamplesOf(const PlannedTraining& training);

}  // namespace legacy
