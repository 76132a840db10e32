// Works on a study in child processes of this machine: first the remaining trainings, then the
// points that they serve. Each result goes to a journal as it ends. A point that throws, or whose
// process dies, is recorded as failed with the reason, and the others continue. A kill at any
// moment loses at most the work in progress.
#pragma once

#include <cstdint>
#include <functional>

#include "base/programs/program.h"
#include "scenarios/study/folder.h"
#include "scenarios/study/schedule.h"

namespace legacy {

enum class StudyPhase { kAll, kTrainings, kPoints };

// StudyRunOptions say which work to do.
struct StudyRunOptions {
  int jobs = 1;  // processes at the same time
  StudyPhase phase = StudyPhase::kAll;
  Share share;
  bool retry_failed = false;
};

// StudyProgress is the progress of a run through the work that remained when it began, and the time
// spent. Seconds are summed over all processes.
struct StudyProgress {
  int jobs = 1;
  int64_t trainings = 0;
  int64_t trainings_ended = 0;
  int64_t trainings_failed = 0;
  double samples = 0;  // samples of the trainings: workers x batch x steps
  double samples_ended = 0;
  double training_seconds = 0;
  // Trainings that have done a step and not ended have taken these samples and seconds so far.
  double samples_in_work = 0;
  double seconds_in_work = 0;
  int64_t points = 0;
  int64_t points_ended = 0;
  int64_t points_failed = 0;
  double point_seconds = 0;
  bool interrupted = false;

  // Returns the time left, estimated from the time that each kind of work has taken. It is a lower
  // bound where a remaining kind has not ended once.
  struct Left {
    double seconds = 0;
    bool at_least = false;
  };
  Left TimeLeft() const;
};

// Does the remaining work. `now` has the states at the beginning. `tick` is called several times a
// second, and `stop` is read as often; once it is set, children are killed. Points are left out
// whose training neither exists nor is this run's. Throws Error where journals cannot be written.
StudyProgress RunStudy(const StudyFolder& folder, const analysis::Study& now,
                       const StudyRunOptions& options,
                       const std::function<void(const StudyProgress&)>& tick, const StopFlag& stop);

// Returns the size of a training: the samples that it sees, or of a federated one, whose clients'
// samples are not known yet, the tasks that it counts.
double SamplesOf(const PlannedTraining& training);

// Return and set the steps of a scenario, or the versions of a federated one.
int64_t StepsOf(const Scenario& scenario);
void SetSteps(Scenario& scenario, int64_t steps);

}  // namespace legacy
