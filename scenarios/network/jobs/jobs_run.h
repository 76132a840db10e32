// Jobs are run together, each alone, and without each of them, and their steps are timed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/network/jobs/jobs.h"
#include "scenarios/network/jobs/recurrence.h"

namespace legacy {

// A JobTiming has the measured steps of a job, in times from the start of the run.
struct JobTiming {
  TimeNs start = 0;
  std::vector<TimeNs> ends = {};                  // of its steps
  std::vector<std::vector<TimeNs>> exposed = {};  // by step and stream, means over the workers

  TimeNs Time() const { return ends.back() - start; }
  // Return the mean time of a step in nanoseconds, and that of the last.
  double Mean() const { return static_cast<double>(Time()) / static_cast<double>(ends.size()); }
  TimeNs Last() const { return ends.back() - (ends.size() > 1 ? ends[ends.size() - 2] : start); }
  // Returns the mean exposed time of a step by stream, in nanoseconds.
  std::vector<double> MeanExposed() const;
};

// A FoundRecurrence is one by which steps were not simulated again.
struct FoundRecurrence {
  Recurrence recurrence;  // its steps are by the jobs of the run
  TimeNs at = 0;          // when it was found
  int64_t skipped = 0;    // steps that are copies, of all jobs together
};

// A JobsMeasurement is a run of all jobs together at one fidelity, by one combination of methods,
// beside the runs in which they are alone.
struct JobsMeasurement {
  Fidelity fidelity = Fidelity::kFlow;
  std::vector<size_t> methods = {};  // of each job
  std::optional<double> offset = {};
  std::vector<JobTiming> alone = {};     // by job
  std::vector<JobTiming> together = {};  // by job
  // Each job is left out in turn: [job left out][job]. Empty where such runs were not asked for.
  std::vector<std::vector<JobTiming>> without = {};
  std::optional<FoundRecurrence> recurrence = {};  // of the run together
  // Total, counters and links of what was simulated of the run together.
  fabric::StepTiming timing = {};
  double wall_seconds = 0;

  // Returns the time together divided by the time alone; 1 where both are 0.
  double Slowdown(size_t job) const;
  // Returns by how much longer a job's steps are with `other` than without it, both beside all the
  // rest.
  double SlowdownBy(size_t job, size_t other) const;
  // Returns JainIndex of the jobs' speeds, each relative to that alone.
  double Fairness() const;
};

// Runs all fidelities in order, all combinations of methods at each, and all offsets of each. With
// warm connections each job has run a step before, unless the engine starts warm.
std::vector<JobsMeasurement> MeasureJobs(const PreparedJobs& prepared);

}  // namespace legacy
