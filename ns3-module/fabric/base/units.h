// Times, rates and sizes: int64 nanoseconds, bits per second, bytes; their text forms; and the
// checks that keep simulated times within what 63 bits hold (292 years).
#pragma once

#include <cstdint>
#include <string>

namespace legacy::fabric
{

using TimeNs = int64_t;

inline constexpr TimeNs kNever = INT64_MAX;

/// Limits of what is parsed: 1 Pbit/s, 64 TiB. Numbers of workers times sizes then fit int64.
inline constexpr int64_t kMostRate = 1'000'000'000'000'000;
inline constexpr int64_t kMostBytes = int64_t{1} << 46;

/// "1Gbps", "1 Gbit/s", "400Mbps", "9600bps": bits per second with a unit, > 0. Throws Error naming
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

/// a / b rounded up, of a >= 0 and b > 0.
constexpr int64_t CeilDivide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/// Sums and products of times that need not fit.
__extension__ using WideTime = __int128;

/// All that compute times end in one of these. Each throws the same Error where a time from 0 on
/// would be `kNever` or later.
TimeNs NarrowTime(WideTime time);
TimeNs Later(TimeNs time, TimeNs delay); ///< their sum
TimeNs RoundedTime(double nanoseconds);  ///< to the nearest
/// Time on the wire of `bytes` at `bitsPerSecond`, rounded up to the nanosecond.
TimeNs SerialisationTime(int64_t bytes, int64_t bitsPerSecond);

} // namespace legacy::fabric
