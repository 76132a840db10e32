// Reading of parameters that several controls have.
#pragma once

#include "control.h"

#include "base/settings.h"

#include <string>

namespace legacy::fabric
{

/// The longest time that a key takes, 1000 s, so that sums of picoseconds fit.
inline constexpr TimeNs kLongestRoceTime = 1'000'000'000'000;

/// Returns the time of a key, `fallback` where it is not given. Throws Error outside [least, 1000
/// s].
Picoseconds RoceTime(Settings& settings, const std::string& key, TimeNs fallback, TimeNs least);

/// Returns the time on the wire of `bytes` at `rate` in bit/s, in picoseconds.
inline double RoceWireTime(int64_t bytes, double rate)
{
    return 8 * kPicosecondsPerSecond * static_cast<double>(bytes) / rate;
}

} // namespace legacy::fabric
