#include "base/settings.h"

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr double kMaxPrice = 1e6;  // USD per GB

template <typename Number>
bool ParseNumber(const std::string& text, Number& number) {
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end;
}

// Splits "there/back" at the first slash that is not that of "bit/s"; a single value is for both
// ways.
std::array<std::string, 2> EachWay(const std::string& text) {
  const std::string unit = "bit/s";
  size_t slash = text.find('/');
  while (slash != std::string::npos && slash >= 3 &&
         text.compare(slash - 3, unit.size(), unit) == 0) {
    slash = text.find('/', slash + 1);
  }
  return {text.substr(0, slash), slash == std::string::npos ? text : text.substr(slash + 1)};
}

}  // namespace

NamedValues ReadNamedValues(std::string_view text, const std::string& option, char separator) {
  const size_t colon = text.find(':');
  NamedValues read{std::string(text.substr(0, colon)), {}};
  if (colon == std::string_view::npos) return read;
  std::set<std::string> keys;
  for (const std::string& item : Split(text.substr(colon + 1), separator)) {
    const size_t equals = item.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw Error(
          option, std::string(text),
          std::string("name:key=value") + separator + "key=value; '" + item + "' is not key=value");
    }
    const std::string key = item.substr(0, equals), value = item.substr(equals + 1);
    if (!keys.insert(key).second) throw Error(option + ": " + key, value, "each key once");
    read.values.emplace_back(key, value);
  }
  return read;
}

Settings::Settings(const std::string& where, const std::string& type)
    : where_(where), type_(type) {}

Settings Settings::FromText(const std::string& text, const std::string& option) {
  const NamedValues read = ReadNamedValues(text, option);
  Settings settings(option, read.name);
  for (const auto& [key, value] : read.values) settings.Set(key, value);
  return settings;
}

void Settings::Set(const std::string& key, const std::string& value, const std::string& where) {
  const std::string& location = where.empty() ? where_ : where;
  if (!settings_.emplace(key, Setting{value, location}).second) {
    throw Error(location + ": " + key, value, "each key once");
  }
}

const std::string& Settings::Type() const { return type_; }

const std::string& Settings::Where() const { return where_; }

bool Settings::Has(const std::string& key) const { return settings_.count(key) > 0; }

const Settings::Setting* Settings::Find(const std::string& key) {
  asked_.insert(key);
  auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : &found->second;
}

std::string Settings::Text(const std::string& key, const std::string& fallback) {
  const Setting* setting = Find(key);
  return setting ? setting->value : fallback;
}

int Settings::Int(const std::string& key, int fallback, int minimum, int maximum) {
  const Setting* setting = Find(key);
  if (!setting) {
    return fallback;
  }
  int value = 0;
  if (!ParseNumber(setting->value, value) || value < minimum || value > maximum) {
    throw Error(Location(key), setting->value,
                "an integer from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return value;
}

double Settings::Real(const std::string& key, double fallback, double minimum, double maximum) {
  const Setting* setting = Find(key);
  if (!setting) {
    return fallback;
  }
  double value = 0;
  // Negated, so that NaN fails.
  if (!ParseNumber(setting->value, value) || !(value >= minimum && value <= maximum)) {
    throw Error(Location(key), setting->value,
                "a number from " + FormatLimit(minimum) + " to " + FormatLimit(maximum));
  }
  return value;
}

int64_t Settings::Rate(const std::string& key, int64_t fallback) {
  const Setting* setting = Find(key);
  return setting ? ParseRate(setting->value, Location(key)) : fallback;
}

TimeNs Settings::Time(const std::string& key, TimeNs fallback) {
  const Setting* setting = Find(key);
  return setting ? ParseTime(setting->value, Location(key)) : fallback;
}

int64_t Settings::Bytes(const std::string& key, int64_t fallback) {
  const Setting* setting = Find(key);
  return setting ? ParseBytes(setting->value, Location(key)) : fallback;
}

std::array<int64_t, 2> Settings::Rates(const std::string& key, int64_t fallback) {
  const Setting* setting = Find(key);
  if (!setting) {
    return {fallback, fallback};
  }
  const auto [there, back] = EachWay(setting->value);
  return {ParseRate(there, Location(key)), ParseRate(back, Location(key))};
}

std::array<int64_t, 2> Settings::Sizes(const std::string& key, int64_t fallback) {
  const Setting* setting = Find(key);
  if (!setting) {
    return {fallback, fallback};
  }
  const auto [there, back] = EachWay(setting->value);
  return {ParseBytes(there, Location(key)), ParseBytes(back, Location(key))};
}

std::array<double, 2> Settings::Reals(const std::string& key, double fallback, double minimum,
                                      double maximum) {
  const Setting* setting = Find(key);
  if (!setting) {
    return {fallback, fallback};
  }
  std::array<double, 2> values{};
  const std::array<std::string, 2> texts = EachWay(setting->value);
  for (size_t way = 0; way < texts.size(); ++way) {
    // Negated, so that NaN fails.
    if (!ParseNumber(texts[way], values[way]) ||
        !(values[way] >= minimum && values[way] <= maximum)) {
      throw Error(Location(key), setting->value,
                  "a number from " + FormatLimit(minimum) + " to " + FormatLimit(maximum) +
                      ", or two there/back");
    }
  }
  return values;
}

std::array<double, 2> Settings::Prices(const std::string& key) {
  const std::string text = Text(key, "0");
  const auto [there, back] = EachWay(text);
  std::array<double, 2> prices{};
  // Negated, so that NaN fails.
  if (!ParseNumber(there, prices[0]) || !ParseNumber(back, prices[1]) ||
      !(prices[0] >= 0 && prices[0] <= kMaxPrice && prices[1] >= 0 && prices[1] <= kMaxPrice)) {
    throw Error(Location(key), text,
                "USD per GB, 0 to " + FormatLimit(kMaxPrice) +
                    ": 0.02 each way, or 0.02/0.09 from a to b and from b to a");
  }
  return prices;
}

std::string Settings::Location(const std::string& key) const {
  auto found = settings_.find(key);
  return (found == settings_.end() ? where_ : found->second.where) + ": " + key;
}

void Settings::RejectUnread() const {
  for (const auto& [key, setting] : settings_) {
    if (asked_.count(key)) {
      continue;
    }
    throw Error(setting.where + ": unknown key of " + type_, key,
                asked_.empty() ? "no keys" : Join({asked_.begin(), asked_.end()}, ", "));
  }
}

}  // namespace legacy
