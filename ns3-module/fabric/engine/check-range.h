// Internal to fabric/.
#pragma once

#include "base/error.h"

#include <cstdint>
#include <string>

namespace legacy::fabric
{

/// A limit of this or more is none.
inline constexpr int64_t kMany = INT32_MAX;

/// Throws Error unless `value` is in [least, most]. The message names no upper limit if `most` is
/// kMany or more, and says that there are none if it is less than `least`.
inline void CheckRange(const std::string& what, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
    {
        throw Error(what,
                    std::to_string(value),
                    most >= kMany  ? std::to_string(least) + " or more"
                    : most < least ? "none, as there are none"
                                   : std::to_string(least) + " to " + std::to_string(most));
    }
}

/// The same of a part of `owner`: "ring-allreduce" and ": group".
inline void
CheckRange(const std::string& owner, const char* part, int64_t value, int64_t least, int64_t most)
{
    if (value < least || value > most)
    {
        CheckRange(owner + part, value, least, most);
    }
}

} // namespace legacy::fabric
