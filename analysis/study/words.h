// Figures are described in words: each by a paragraph of plain English with its numbers, from the
// same statistics, or "" where there is nothing to say. A speed-up says how many times sooner the
// target is reached than with the baseline, with its 95 % interval. Two policies whose interval
// contains 1 are not told apart.
#pragma once

#include <string>

#include "analysis/study/statistics.h"

namespace legacy::analysis {

// Returns a sentence with the best value of the metric where no training that is done reached the
// target, otherwise "".
std::string MissedWords(const Study& study);

// Returns what the study has shown in one paragraph, with which its commands end: the time to
// target along the numeric axis with the most values, at the first place of the other axes; or that
// no training reached the target. Where there is no such axis or no target, it is what the first
// place shows: which policy is the fastest and where all end, or the parts of a step. It says why
// the fastest are the fastest and what would turn the order. "" where nothing is done.
std::string StudyVerdict(const Study& study);

// Describes time to target along the facet's axis: which policy is the fastest where, and by how
// much, or which ones the seeds cannot tell apart there and what may tell.
std::string TimeWords(const Study& study, const Facet& facet);

// Describes where each policy breaks even with the baseline along the facet's axis, compared with
// the textbook.
std::string BreakEvenWords(const Study& study, const Facet& facet);

// Describes one policy's speed-up over the plane: its highest, its lowest, and the number of places
// at which it is sooner.
std::string SpeedupMapWords(const Study& study, const Plane& plane, size_t policy);

// Describes the parts of a step's time at one place.
std::string StepWords(const Study& study, const Place& place);

// Describes the metric's final values at one place: the baseline's, which policies differ from it,
// and which cannot be told apart from it.
std::string DifferenceWords(const Study& study, const Place& place);

// Describes the metric against bytes sent at one place: final values and the bytes until the
// target.
std::string MetricWords(const Study& study, const Place& place);

}  // namespace legacy::analysis
