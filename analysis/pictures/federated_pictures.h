// Pictures of federated runs alone.
#pragma once

#include <optional>
#include <vector>

#include "analysis/federated_tables.h"
#include "analysis/pictures/picture.h"

namespace legacy::analysis {

// Returns the picture of each decile's share of counted updates, by policy, and of its share of all
// tasks where that differs. Nothing: no policy has ten clients with a task.
std::optional<Picture> ParticipationPicture(const std::vector<FederatedPolicy>& policies);

// Returns the picture of the shares of counted updates by staleness. Nothing: none is stale.
std::optional<Picture> StalenessPicture(const std::vector<FederatedPolicy>& policies);

}  // namespace legacy::analysis
