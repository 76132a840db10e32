// The picture of decisions shows what a policy decided for the layers over the steps of a training.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/pictures/picture.h"
#include "analysis/summary.h"

namespace legacy::analysis {

// A panel has a curve for each group of layers for which the same was decided, or, where there are
// more groups than this, a map of layers over steps.
inline constexpr size_t kShownGroups = 8;

// Returns the picture: one panel for each policy whose parameter differs by layer or by step with
// the first seed. Returns nothing where there is none.
std::optional<Picture> DecisionPicture(const RunDirectory& run, const Summary& summary);

}  // namespace legacy::analysis
