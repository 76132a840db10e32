// Kinds of availability that depend on time, by their settings. Internal to population/.
#pragma once

#include "availability.h"
#include "base/settings.h"

#include <cstdint>
#include <memory>

namespace legacy::fabric
{

/// Make what availability.h describes. Throw Error naming a setting, or file and line.
std::shared_ptr<const Availability> MakeNightly(Settings& settings, uint64_t seed);
std::shared_ptr<const Availability> MakeSessions(Settings& settings, uint64_t seed);
std::shared_ptr<const Availability> MakeTracedAvailability(Settings& settings);

} // namespace legacy::fabric
