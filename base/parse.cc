#include "base/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"
#include "base/nearest.h"

namespace legacy {
int64_t ParseInteger(const std::string& text, const std::string& key, int64_t minimum,
                     int64_t maximum) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  const bool read = !text.empty() && result.ec == std::errc() && result.ptr == end;
  if (!read || value < minimum || value > maximum) {
    const std::string upper = maximum == INT64_MAX ? "" : " and <= " + std::to_string(maximum);
    throw Error(key, text, "an integer >= " + std::to_string(minimum) + upper);
  }
  return value;
}

double ParseNumber(const std::string& text, const std::string& key, double minimum,
                   double maximum) {
  const std::optional<double> value = ParseNumber(text);
  if (!value || !(*value >= minimum && *value <= maximum)) {
    throw Error(key, text,
                "a number from " + FormatNumber(minimum) + " to " + FormatNumber(maximum));
  }
  return *value;
}

void RefuseBareOne(const std::string& text, const std::string& key) {
  if (text == "1") throw Error(key, text, "1%, or 100% where all is meant");
}

double ParseFraction(const std::string& text, const std::string& key) {
  RefuseBareOne(text, key);
  const bool percent = !text.empty() && text.back() == '%';
  const std::optional<double> value = ParseNumber(percent ? text.substr(0, text.size() - 1) : text);
  if (value && !percent && *value > 1) {
    throw Error(key, text, "a percentage such as " + text + "% or a fraction in (0, 1]");
  }
  const double fraction = !value ? 0 : percent ? *value / 100 : *value;
  if (!(fraction > 0 && fraction <= 1)) {
    throw Error(key, text, "a percentage such as 1% or a fraction in (0, 1] such as 0.01");
  }
  return fraction;
}

bool ParseSwitch(const std::string& text, const std::string& key) {
  if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  throw Error(key, text, "on, off");
}

std::string ParseChoice(const std::string& text, const std::string& key,
                        const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), text) == allowed.end()) {
    throw NotAmong(key, text, allowed);
  }
  return text;
}

std::vector<std::string> SplitList(const std::string& text, char separator) {
  std::vector<std::string> items;
  size_t start = 0;
  while (start <= text.size()) {
    const size_t end = std::min(text.find(separator, start), text.size());
    if (end > start) items.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return items;
}

std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string Join(const std::vector<std::string>& items, const std::string& separator) {
  std::string out;
  for (const std::string& item : items) {
    if (!out.empty()) out += separator;
    out += item;
  }
  return out;
}

std::vector<std::string> TakeNs3Attributes(int argc, char** argv,
                                           std::map<std::string, std::string>& ns3) {
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string text = argv[i];
    if (text.rfind("--ns3::", 0) != 0 && text.rfind("--legacy::", 0) != 0) {
      rest.push_back(text == "--PrintHelp" ? "--help" : text);
      continue;
    }
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error(text, "", text + "=VALUE");
    ns3[text.substr(2, equals - 2)] = text.substr(equals + 1);
  }
  return rest;
}

std::string FormatPercent(double fraction) {
  // The percentage is printed only if it reads back to the same fraction.
  const std::string text = FormatNumber(std::round(fraction * 1e8) / 1e6);
  return ParseFraction(text + "%", "percentage") == fraction ? text + "%" : FormatNumber(fraction);
}

}  // namespace legacy
