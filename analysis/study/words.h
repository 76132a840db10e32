// A figure in words: a paragraph of plain English with its numbers, from the same statistics. ""
// where there is nothing to say. Speed-ups are how many times sooner the target is reached than
// with the baseline, with their 95 % intervals. Two policies whose interval holds 1 are not told
// apart.
#pragma once

#include <string>

#include "analysis/study/statistics.h"

namespace legacy::analysis {

// Where no training that is done reached the target: that, and the best that was reached. "" else.
std::string MissedWords(const Study& study);

// Time to accuracy along the facet's axis: which policy is the fastest where, and by how much.
std::string TimeWords(const Study& study, const Facet& facet);

// Where each policy breaks even with the baseline along the facet's axis, beside the textbook.
std::string BreakEvenWords(const Study& study, const Facet& facet);

// One policy's speed-up over the plane: its highest, its lowest, and how much of the map it wins.
std::string SpeedupMapWords(const Study& study, const Plane& plane, size_t policy);

// What a step's time goes to at one place.
std::string StepWords(const Study& study, const Place& place);

// Accuracy against bytes sent at one place: final accuracies and the bytes until the target.
std::string AccuracyWords(const Study& study, const Place& place);

}  // namespace legacy::analysis
