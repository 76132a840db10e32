// The picture of how policies decide: the parameter of each layer over the steps of a training.
#pragma once

#include <cstddef>
#include <optional>

#include "analysis/pictures.h"

namespace legacy::analysis {

inline constexpr size_t kShownLayers = 8;  // of each policy: the largest

// One panel for each policy whose parameter changes, with a curve for each layer that is shown, of
// the first seed. Nothing where no policy's does.
std::optional<Picture> DecisionPicture(const RunDirectory& run, const Summary& summary);

}  // namespace legacy::analysis
