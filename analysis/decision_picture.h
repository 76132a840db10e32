// The picture of decisions shows the parameter of each layer over the steps of a training.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/pictures.h"

namespace legacy::analysis {

inline constexpr size_t kShownLayers = 8;  // layers that a policy's panel shows: the largest

// Returns the picture: one panel for each policy whose parameter changes with the first seed, and
// in it a curve for each layer that is shown. Returns nothing where no parameter changes.
std::optional<Picture> DecisionPicture(const RunDirectory& run, const Summary& summary);

}  // namespace legacy::analysis
