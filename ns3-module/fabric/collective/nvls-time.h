// Parts of closed forms: the times of NVLS collectives, and of switches that sum. Internal to
// fabric/.
#pragma once

#include "closed-form.h"

namespace legacy::fabric
{

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
