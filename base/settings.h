// Settings are the key=value parameters of a topology or a straggler model, from the command line
// or a file, each with the location that it came from. A key that is never read is an error.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace legacy {

// NamedValues are what a text "name:key=value,key=value" says, in its order: a method with its
// options, a topology with its parameters, a control with its constants.
struct NamedValues {
  std::string name;
  std::vector<std::pair<std::string, std::string>> values;
};

// Reads "name" or "name:key=value,key=value", with `separator` in the place of the commas. `option`
// is for messages. Throws Error on what is not a key with a value, and on a key that is given
// twice.
NamedValues ReadNamedValues(std::string_view text, const std::string& option, char separator = ',');

// Settings hold one "type:key=value,..." and say in errors where it came from.
class Settings {
 public:
  // `where` precedes every message: an option's name, or a file.
  Settings(const std::string& where, const std::string& type);

  // Reads "type" or "type:key=value,key=value". Throws Error on malformed or repeated keys.
  static Settings FromText(const std::string& text, const std::string& option);

  // Adds a setting. `where` is the location of this key, for messages; "" takes that of the
  // whole. Throws Error on a repeated key.
  void Set(const std::string& key, const std::string& value, const std::string& where = "");

  // Return the type, the location of the whole, and whether a key was given.
  const std::string& Type() const;
  const std::string& Where() const;
  bool Has(const std::string& key) const;

  // Return the value, or `fallback` where the key was not given. They throw Error with location,
  // key, value and what is allowed.
  std::string Text(const std::string& key, const std::string& fallback);
  int Int(const std::string& key, int fallback, int minimum, int maximum);
  double Real(const std::string& key, double fallback, double minimum, double maximum);
  int64_t Rate(const std::string& key, int64_t fallback);
  TimeNs Time(const std::string& key, TimeNs fallback);
  int64_t Bytes(const std::string& key, int64_t fallback);
  // Return the values of both directions of a link: "10Mbps" is that of both, "50Mbps/10Mbps"
  // there and back. Prices are USD per GB, 0 where not given.
  std::array<int64_t, 2> Rates(const std::string& key, int64_t fallback);
  std::array<int64_t, 2> Sizes(const std::string& key, int64_t fallback);
  std::array<double, 2> Reals(const std::string& key, double fallback, double minimum,
                              double maximum);
  std::array<double, 2> Prices(const std::string& key);

  // Returns "<location>: <key>" of a given key, or of the whole, for messages about what values
  // mean together.
  std::string Location(const std::string& key) const;

  // Throws Error on the first key that was given and never asked for, with the list of keys that
  // were.
  void RejectUnread() const;

 private:
  struct Setting {
    std::string value;
    std::string where;
  };

  const Setting* Find(const std::string& key);

  std::string where_;
  std::string type_;
  std::map<std::string, Setting> settings_;
  std::set<std::string> asked_;
};

}  // namespace legacy
