// Jobs that repeat equal steps beside each other come back to a state in which they were before.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"

namespace legacy {

// A Recurrence is a time in which each job does a number of steps, after which all is as before.
struct Recurrence {
  TimeNs period = 0;
  std::vector<int64_t> steps;  // by job
};

// Looks for a recurrence at the end of a step of the first job. `ends` has the ends of the steps of
// each job, ascending, since all have run beside each other by equal steps. The state counts as one
// that recurs if the last period equals the one before it: all steps of all jobs ended at the same
// times after its beginning, to the nanosecond. Returns the shortest such period.
std::optional<Recurrence> FindRecurrence(std::span<const std::span<const TimeNs>> ends);

}  // namespace legacy
