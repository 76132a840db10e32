// Messages to the owners of slices in two exchanges, inside nodes and across them
// (owned_slices.h).
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/schemes/owners/owned_slices.h"

namespace legacy {

// The text of the option "node" in the place of which a scenario has the workers of a node of its
// network. Without a scenario there is one exchange.
inline constexpr const char* kAutoNode = "auto";

// Returns the scheme with nodes of `cut.node` workers. Each call of `scheme` has a known length.
std::unique_ptr<Scheme> WithNodes(std::shared_ptr<const Scheme> scheme, const Cut& cut);

}  // namespace legacy
