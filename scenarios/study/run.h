// Works on a study in child processes of this machine: trainings that are left, then the points that they serve, each
// written to a journal as it ends. A point that throws, or whose process dies, is recorded as failed with the reason, and
// the rest goes on. Killed at any moment, at most the work in hand is done again.
#pragma once

#include <csignal>
#include <cstdint>
#include <functional>

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

// What became of what was left when the run began.
struct StudyTally {
  int64_t trainings = 0;  // that were left
  int64_t trainings_ended = 0;
  int64_t trainings_failed = 0;
  int64_t points = 0;
  int64_t points_ended = 0;  // done or failed
  int64_t points_failed = 0;
  bool interrupted = false;

  // Points that wait for a training that is not there and is not this run's.
  int64_t PointsLeft() const { return points - points_ended; }
};

// How long the work takes, from what it has taken so far.
struct StudyPace {
  double training_seconds = 0;  // of the trainings that have ended
  double training_samples = 0;  // their workers x batch x steps
  double point_seconds = 0;
  int64_t points = 0;
  double samples_left = 0;  // of the trainings that are left
};

struct StudyReport {
  StudyTally tally;
  StudyPace pace;
  int processes = 1;
};

// `now`: states when the run begins. `tick` is called several times a second. `stop` is looked at as often; children are
// killed then. Throws Error where the journals cannot be written.
StudyTally RunStudy(const StudyFolder& folder, const analysis::Study& now,
                    const StudyRunOptions& options,
                    const std::function<void(const StudyReport&)>& tick,
                    const volatile std::sig_atomic_t& stop);

}  // namespace legacy
