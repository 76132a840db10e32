// Internal to fabric/.
#pragma once

#include "step.h"

namespace legacy::fabric
{

/// Throws Error, with the bucket and the call, unless each worker has one time >= 0 and one size
/// wherever a step says what workers do.
void CheckTraffic(const StepTraffic& traffic);

} // namespace legacy::fabric
