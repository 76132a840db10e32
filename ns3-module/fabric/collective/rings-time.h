// Parts of closed forms: the times of a port, and of rings over one or several channels on a
// uniform path. Internal to fabric/.
#pragma once

#include "closed-form.h"

namespace legacy::fabric
{

/// Return the time in which a port sends a message of `payload` bytes, and the ACKs that answer it.
WideTime WireTime(const UniformPath& path, int64_t payload, const Transport& transport);
WideTime AckTime(const UniformPath& path, int64_t payload, const Transport& transport);

/// Returns the time in which the threads of a channel handle a message at their pace.
TimeNs PaceTime(double pace, int64_t bytes);

/// Returns the closed form of a ring algorithm, as closed-form.h states it, for a spec that was
/// checked, of two workers or more.
TimeNs RingsTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport);

} // namespace legacy::fabric
