#include "scenarios/network/jobs/recurrence.h"

#include <algorithm>

namespace legacy {
namespace {

constexpr int64_t kLongest = 64;  // of the first job in a period

// Returns the number of steps that the job does in the period, where its last two periods are
// equal; 0 where they are not.
int64_t StepsOf(std::span<const TimeNs> ends, TimeNs period) {
  if (ends.empty()) return 0;
  const auto before = std::ranges::lower_bound(ends, ends.back() - period);
  if (*before != ends.back() - period) return 0;
  const int64_t steps = std::distance(before, ends.end()) - 1;
  const int64_t done = std::ssize(ends);
  if (steps < 1 || done <= 2 * steps) return 0;
  for (int64_t i = done - steps - 1; i < done; ++i) {
    if (ends[i] - ends[i - steps] != period) return 0;
  }
  return steps;
}

}  // namespace

std::optional<Recurrence> FindRecurrence(std::span<const std::span<const TimeNs>> ends) {
  const std::span<const TimeNs> first = ends.front();
  for (int64_t steps = 1; steps <= kLongest && 2 * steps < std::ssize(first); ++steps) {
    Recurrence found;
    found.period = first.back() - first[first.size() - 1 - steps];
    if (found.period == 0) continue;
    for (const std::span<const TimeNs> job : ends) {
      found.steps.push_back(StepsOf(job, found.period));
      if (found.steps.back() == 0) break;
    }
    if (found.steps.back() > 0) return found;
  }
  return std::nullopt;
}

}  // namespace legacy
