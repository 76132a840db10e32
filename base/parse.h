// These turn text into numbers and back for scenario options. Every failure is an Error with key,
// value and what is allowed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/number.h"

namespace legacy {

// An OptionKind says what the text of an option is: a number of some unit, or anything else.
// kTarget is a value of a metric (base/metric.h).
enum class OptionKind : uint8_t {
  kText,
  kInteger,
  kNumber,
  kFraction,
  kRate,
  kTime,
  kBytes,
  kTarget
};

int64_t ParseInteger(const std::string& text, const std::string& key, int64_t minimum,
                     int64_t maximum);
double ParseNumber(const std::string& text, const std::string& key, double minimum, double maximum);
// Throws Error on a bare "1" for a fraction: it says 100 %, but most people who write it mean 1 %.
void RefuseBareOne(const std::string& text, const std::string& key);
// Returns a fraction in (0, 1] from "1%" or "0.01". A bare number from 1 on is refused with a hint.
double ParseFraction(const std::string& text, const std::string& key);
// Returns true for on and true, false for off and false.
bool ParseSwitch(const std::string& text, const std::string& key);
std::string ParseChoice(const std::string& text, const std::string& key,
                        const std::vector<std::string>& allowed);
// Returns the value of an enumeration that `names` names, which counts from 0.
template <class Enum, size_t N>
Enum ParseChoice(const std::string& text, const std::string& key,
                 const std::array<const char*, N>& names) {
  for (size_t i = 0; i < N; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  ParseChoice(text, key, {names.begin(), names.end()});
  return {};  // never reached: no name fits
}
// Returns the items of a list, without empty ones.
std::vector<std::string> SplitList(const std::string& text, char separator = ',');
// Returns the parts between separators, empty ones too: at least one.
std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& items, const std::string& separator);

// Takes arguments such as "--ns3::TcpSocket::SegmentSize=1000", attributes of ns-3's types and of
// our own ("--legacy::HostQueueDisc::Fair=false"), whose names no option parser knows, out of the
// arguments after argv[0] into `ns3`. Returns the others, with
// "--PrintHelp" as "--help". Throws Error where there is no value.
std::vector<std::string> TakeNs3Attributes(int argc, char** argv,
                                           std::map<std::string, std::string>& ns3);

// Returns "1%" where that reads back to the same fraction, else the plain number.
std::string FormatPercent(double fraction);

}  // namespace legacy
