// Closed form of rings over one or several channels on a uniform path. Internal to fabric/.
#pragma once

#include "closed-form.h"

namespace legacy::fabric
{

/// Returns the closed form of a ring algorithm, as closed-form.h states it, for a spec that was
/// checked, of two workers or more.
TimeNs RingsTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport);

} // namespace legacy::fabric
