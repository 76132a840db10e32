// Text to numbers and back for scenario options. Every failure is an Error with key, value and what
// is allowed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/number.h"

namespace legacy {

int64_t ParseInteger(const std::string& text, const std::string& key, int64_t minimum,
                     int64_t maximum);
double ParseNumber(const std::string& text, const std::string& key, double minimum, double maximum);
// "1%" or "0.01": a fraction in (0, 1]. A bare number above 1 is refused with a hint.
double ParseFraction(const std::string& text, const std::string& key);
bool ParseSwitch(const std::string& text, const std::string& key);  // on | off | true | false
std::string ParseChoice(const std::string& text, const std::string& key,
                        const std::vector<std::string>& allowed);
std::vector<std::string> SplitList(const std::string& text, char separator = ',');
std::string Join(const std::vector<std::string>& items, const std::string& separator);

// "--ns3::TcpSocket::SegmentSize=1000" is a name with colons, which no option parser knows: taken
// out of the arguments behind argv[0], into `ns3`; returns the others, "--PrintHelp" as "--help".
// Throws Error where there is no value.
std::vector<std::string> TakeNs3Attributes(int argc, char** argv,
                                           std::map<std::string, std::string>& ns3);

// "1%" where that reads back to the same fraction, else the plain number.
std::string FormatPercent(double fraction);

// The entry of `known` nearest to `name` by edit distance, or "" where none is near.
std::string Nearest(const std::string& name, const std::vector<std::string>& known);

}  // namespace legacy
