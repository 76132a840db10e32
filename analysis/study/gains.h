// Gains over 16 bits: in which set-ups a method reaches the target sooner than what everybody has
// without a method.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analysis/study/statistics.h"
#include "analysis/study/study_tables.h"

namespace legacy::analysis {

inline constexpr double kLeastGain = 1.05;  // smaller gains are not worth a method

// Returns the policy that gains are measured against: fp16, or the baseline where the study lacks
// it. Nothing: it lacks both.
std::optional<size_t> GainReference(const Study& study);

// Returns for each policy whether it reaches the target of a place sooner than the reference by 5 %
// or more, and seeds tell the two apart.
std::vector<bool> GainingAt(const Study& study, const Place& place, size_t reference);

// Returns the table of gains: for each value of each axis the set-ups, those in which steps of some
// method are shorter, those in which any method gains, and those in which each one does. Nothing
// was compared: it has no rows.
StudyTable GainsTable(const Study& study, const std::vector<Place>& places);

}  // namespace legacy::analysis
