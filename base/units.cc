#include "base/units.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "base/error.h"

namespace legacy {

namespace {

using Scales = std::vector<std::pair<const char*, double>>;

// Reads "<number>[ ]<unit>" and returns it in the base unit, rounded to the nearest integer.
// `scales` lists the units.
int64_t ParseScaled(const std::string& text, const std::string& option, const Scales& scales,
                    double minimum, double maximum, const char* allowed) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) {
    throw Error(option, text, allowed);
  }
  while (rest != end && *rest == ' ') {
    ++rest;
  }
  const std::string unit(rest, end);
  for (const auto& [name, scale] : scales) {
    const double value = number * scale;
    if (unit == name && value >= minimum && value <= maximum) {
      return std::llround(value);
    }
  }
  throw Error(option, text, allowed);
}

std::string FormatScaled(double value, const Scales& scales) {
  const auto* best = &scales.front();
  for (const auto& scale : scales) {
    if (std::abs(value) >= scale.second) {
      best = &scale;
    }
  }
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", value / best->second, best->first);
  return buffer;
}

}  // namespace

int64_t ParseRate(const std::string& text, const std::string& option) {
  static const Scales scales{{"bps", 1},     {"bit/s", 1},    {"kbps", 1e3}, {"kbit/s", 1e3},
                             {"Mbps", 1e6},  {"Mbit/s", 1e6}, {"Gbps", 1e9}, {"Gbit/s", 1e9},
                             {"Tbps", 1e12}, {"Tbit/s", 1e12}};
  return ParseScaled(text, option, scales, 1, kMostRate,
                     "a rate with its unit, 1bps to 1000Tbps, such as 1Gbps or 400 Mbit/s");
}

TimeNs ParseTime(const std::string& text, const std::string& option) {
  static const Scales scales{{"ns", 1},     {"us", 1e3}, {"ms", 1e6},  {"s", 1e9},
                             {"min", 60e9}, {"m", 60e9}, {"h", 3600e9}};
  return ParseScaled(text, option, scales, 0, kMostTime,
                     "a time with its unit, 0ns to 292 years, such as 10us, 50 ms or 1.5s");
}

int64_t ParseBytes(const std::string& text, const std::string& option) {
  static const Scales scales{{"", 1},         {"B", 1},        {"kB", 1e3},
                             {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                             {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
  return ParseScaled(text, option, scales, 0, kMostBytes,
                     "a size from 0 to 64 TiB such as 1500B, 64KiB or 44.7MB");
}

std::string FormatRate(int64_t bits_per_second) {
  static const Scales scales{
      {"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}, {"Tbit/s", 1e12}};
  return FormatScaled(static_cast<double>(bits_per_second), scales);
}

std::string FormatTime(TimeNs time) {
  static const Scales scales{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  return FormatScaled(static_cast<double>(time), scales);
}

std::string FormatBytes(int64_t bytes) {
  static const Scales scales{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}};
  return FormatScaled(static_cast<double>(bytes), scales);
}

void ThrowTooLate() {
  throw Error("simulated time", "more than 292 years",
              "below 2^63 ns: faster links, shorter delays or less to send");
}

TimeNs NarrowTime(WideTime time) {
  if (time >= kNever) {
    ThrowTooLate();
  }
  return static_cast<TimeNs>(time);
}

TimeNs SerialisationTime(int64_t bytes, int64_t bits_per_second) {
  constexpr uint64_t kNanobits = 8'000'000'000;  // bits of a byte, times nanoseconds of a second
  const auto rate = static_cast<uint64_t>(bits_per_second);
  if (bytes <= INT32_MAX && rate <= UINT64_MAX - kNanobits * INT32_MAX) {
    return NarrowTime((static_cast<uint64_t>(bytes) * kNanobits + rate - 1) / rate);
  }
  return NarrowTime((static_cast<WideTime>(bytes) * kNanobits + rate - 1) / rate);
}

}  // namespace legacy
