// This works on a study in child processes of this machine: trainings that are left, then the
// points that they serve, each written to a journal as it ends. A point that throws, or whose
// process dies, is recorded as failed with the reason, and the rest goes on. Killed at any moment,
// at most the work in progress is done again.
#pragma once

#include <cstdint>
#include <functional>

#include "base/program.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/schedule.h"

namespace legacy {

enum class StudyPhase { kAll, kTrainings, kPoints };

// StudyRunOptions say what to work on.
struct StudyRunOptions {
  int jobs = 1;  // processes at once
  StudyPhase phase = StudyPhase::kAll;
  Share share;
  bool retry_failed = false;
};

// StudyProgress says how far a run is, of what was left when it began, and what that took. Seconds
// are of all processes together.
struct StudyProgress {
  int jobs = 1;
  int64_t trainings = 0;
  int64_t trainings_ended = 0;
  int64_t trainings_failed = 0;
  double samples = 0;  // samples that the trainings see: workers x batch x steps
  double samples_ended = 0;
  double training_seconds = 0;
  int64_t points = 0;
  int64_t points_ended = 0;
  int64_t points_failed = 0;
  double point_seconds = 0;
  bool interrupted = false;

  // Returns the time left, from what each kind of work has taken so far; at least that long where a
  // kind that is left has not ended once.
  struct Left {
    double seconds = 0;
    bool at_least = false;
  };
  Left TimeLeft() const;
};

// Runs the work that is left. `now` has the states when the run begins. `tick` is called several
// times a second, and `stop` is read as often; children are killed then. Points are left whose
// training neither exists nor is this run's. Throws Error where journals cannot be written.
StudyProgress RunStudy(const StudyFolder& folder, const analysis::Study& now,
                       const StudyRunOptions& options,
                       const std::function<void(const StudyProgress&)>& tick, const StopFlag& stop);

// Returns the number of samples that a training sees.
double SamplesOf(const PlannedTraining& training);

}  // namespace legacy
