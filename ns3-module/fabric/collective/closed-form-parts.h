// Parts of closed forms: the times of a port, of rings over one or several channels on a uniform
// path, and of NVLS. Internal to fabric/.
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

/// Returns the closed form of a block-sparse sum, for a spec that was checked, of two workers or
/// more.
WideTime
BlockSparseTime(const CollectiveSpec& spec, const UniformPath& path, const Transport& transport);

/// Returns the time in which a switch at the path's beginning sends a message.
WideTime WireTimeOfSwitch(const UniformPath& path, int64_t payload, const Transport& transport);

/// An NvlsShape has the parts of an NVLS collective's time: what the first piece takes, and how
/// long the busiest worker's links inside and across nodes send and acknowledge the others.
struct NvlsShape
{
    NvlsShape(const CollectiveSpec& spec, const NodePaths& paths, const Transport& transport);

    WideTime latency = 0;
    WideTime inside = 0;
    WideTime across = 0;
};

} // namespace legacy::fabric
