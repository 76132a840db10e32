// These are times in int64 nanoseconds, rates in bits per second, sizes in bytes, their text forms,
// and the checks that keep simulated times within 63 bits (292 years).
#pragma once

#include <cstdint>
#include <string>

namespace legacy {

using TimeNs = int64_t;

// Time of an event that never happens.
inline constexpr TimeNs kNever = INT64_MAX;

// Limits of what is parsed: 1 Pbit/s and 64 TiB. Products of sizes and numbers of workers then fit
// int64.
inline constexpr int64_t kMostRate = 1'000'000'000'000'000;
inline constexpr int64_t kMostBytes = int64_t{1} << 46;

// Reads a rate > 0 in bits per second: "1Gbps", "1 Gbit/s", "400Mbps", "9600bps". Throws Error
// naming `option`, as the two below do.
int64_t ParseRate(const std::string& text, const std::string& option);
// Reads a time >= 0: "10us", "50 ms", "1.5s", "10m" (minutes, also "min"), "3h".
TimeNs ParseTime(const std::string& text, const std::string& option);
// Reads a size >= 0: "44.7MB" (10^6), "64KiB" (2^10), "1500B", "1500".
int64_t ParseBytes(const std::string& text, const std::string& option);

// Write rates, times and sizes for people: "1 Gbit/s", "10 us", "44.7 MB".
std::string FormatRate(int64_t bits_per_second);
std::string FormatTime(TimeNs time);
std::string FormatBytes(int64_t bytes);

// Returns a time in seconds, correctly rounded: its shortest text has no more digits than the time.
inline double InSeconds(TimeNs time) { return static_cast<double>(time) / 1e9; }

// Returns a / b rounded up, for a >= 0 and b > 0.
constexpr int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// WideTime holds sums and products of times that need not fit 63 bits.
__extension__ using WideTime = __int128;

// NarrowTime, Later and RoundedTime end every computation of a time. Each throws the same Error
// where a time from 0 on would be `kNever` or later.
TimeNs NarrowTime(WideTime time);

// Times from here on, in nanoseconds, do not fit int64.
inline constexpr double kMostTime = 9.2e18;

[[noreturn]] void ThrowTooLate();

// Returns time + delay.
inline TimeNs Later(TimeNs time, TimeNs delay) {
  TimeNs sum = 0;
  if (__builtin_add_overflow(time, delay, &sum) || sum == kNever) {
    ThrowTooLate();
  }
  return sum;
}

// Returns the nearest nanosecond, halves away from zero: std::llround without a call, as each flow
// takes two.
inline TimeNs RoundedTime(double nanoseconds) {
  if (!(nanoseconds < kMostTime)) {
    ThrowTooLate();
  }
  const auto whole = static_cast<TimeNs>(nanoseconds);
  const double rest = nanoseconds - static_cast<double>(whole);  // exact
  return whole + static_cast<int>(rest >= 0.5) - static_cast<int>(rest <= -0.5);
}

// Returns the time on the wire of `bytes` at `bits_per_second`, rounded up to the nanosecond.
TimeNs SerialisationTime(int64_t bytes, int64_t bits_per_second);

}  // namespace legacy
