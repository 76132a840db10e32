// Times, rates and sizes: int64 nanoseconds, bits per second, bytes; and their text forms.
#pragma once

#include <cstdint>
#include <string>

namespace legacy::fabric
{

using TimeNs = int64_t;

inline constexpr TimeNs kNever = INT64_MAX;

/// "1Gbps", "1 Gbit/s", "400Mbps", "9600bps", "2.5e9": bits per second, > 0. Throws Error naming
/// `option`.
int64_t ParseRate(const std::string& text, const std::string& option);
/// "10us", "50 ms", "1.5s", "0ns": nanoseconds, >= 0.
TimeNs ParseTime(const std::string& text, const std::string& option);
/// "44.7MB" (10^6), "64KiB" (2^10), "1500B", "1500": bytes, >= 0.
int64_t ParseBytes(const std::string& text, const std::string& option);

/// "1 Gbit/s", "10 us", "44.7 MB": for people.
std::string FormatRate(int64_t bitsPerSecond);
std::string FormatTime(TimeNs time);
std::string FormatBytes(int64_t bytes);

/// Time on the wire of `bytes` at `bitsPerSecond`, rounded up to the nanosecond.
TimeNs SerialisationTime(int64_t bytes, int64_t bitsPerSecond);

} // namespace legacy::fabric
