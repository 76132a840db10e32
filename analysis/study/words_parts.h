// These functions make parts of the sentences of words.h.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/quantities.h"
#include "analysis/study/statistics.h"

namespace legacy::analysis {

// Returns "For 8 workers, leaf-spine: ", or "" for a group of places without a name.
inline std::string Opening(const std::string& name) {
  return name.empty() ? std::string() : "For " + name + ": ";
}

inline std::optional<size_t> BaselineIndex(const Study& study) {
  const auto found = std::ranges::find(study.policies, study.baseline);
  if (found == study.policies.end()) return std::nullopt;
  return static_cast<size_t>(found - study.policies.begin());
}

// Returns " with 3 seeds", for policies that cannot be told apart with these.
inline std::string WithSeeds(const Study& study) {
  return " with " + ShowCount(static_cast<int64_t>(study.seeds.size()), "seed");
}

inline std::string NoteOfOneSeed(const Study& study) {
  return study.seeds.size() == 1 ? " There is one seed, so there are no intervals." : "";
}

// Returns how many points are not done: " 3 of 24 points are not done."
inline std::string NoteOfHoles(const std::vector<const Place*>& places) {
  int planned = 0;
  int done = 0;
  for (const Place* place : places) {
    for (const Outcome& outcome : place->outcomes) {
      planned += outcome.planned;
      done += outcome.done;
    }
  }
  if (done == planned) return "";
  return fmt::format(" {} of {} {} not done.", planned - done, ShowCount(planned, "point"),
                     planned - done == 1 ? "is" : "are");
}

inline bool Holds(const std::optional<Interval>& interval, double value) {
  return interval && interval->low <= value && value <= interval->high;
}

// Returns whether a policy is sooner or later than the baseline at a place of the facet at least.
inline bool ToldApart(const Facet& facet, const std::string& policy) {
  return std::ranges::any_of(facet.places, [&](const Place& place) {
    const auto outcome = std::ranges::find(place.outcomes, policy, &Outcome::policy);
    if (outcome == place.outcomes.end()) return false;
    const Standing standing = StandingOf(outcome->speedup);
    return standing == Standing::kSooner || standing == Standing::kLater;
  });
}

// Returns TimeWords with the reason why the fastest are the fastest, and what would turn the order.
std::string ReasonedTimeWords(const Study& study, const Facet& facet);

// Returns which policy is the fastest at one place, why, and what would turn the order, or that it
// cannot be told; and which policies miss the target there.
std::string FirstWords(const Study& study, const Place& place);

}  // namespace legacy::analysis
