// Internal to fabric/.
#pragma once

#include "step.h"

namespace legacy::fabric
{

/// Throws Error, with the bucket and the call, unless each worker has one time >= 0 and one size
/// wherever a step says what workers do.
void CheckTraffic(const StepTraffic& traffic);

/// Append a number of values and their bytes, and a collective, to a canonical text.
void AppendCanonical(std::string& text, const std::vector<int64_t>& values);
void AppendCanonical(std::string& text, const CollectiveSpec& spec);

} // namespace legacy::fabric
