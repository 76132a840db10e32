// Residuals may be multiplied by a factor before the next gradient is added, `decay=0.95`: e =
// decay r + g. SparseLoCo (Sarfi et al., 2025) forgets old residuals in this way.
#pragma once

#include <memory>

#include "compress/exchange.h"
#include "compress/options.h"

namespace legacy {

// Returns the option "decay".
const OptionSpec& ResidualDecayOption();

// Throws Error where `scheme` keeps no residuals that it could multiply by `decay`.
void CheckResidualDecay(const Scheme& scheme, double decay);

}  // namespace legacy
