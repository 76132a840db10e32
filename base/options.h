// A table of options says everything about the options of one struct: how each is called and typed,
// what its text means, who reads it, and what help says. Command lines, YAML files, sweeps,
// studies, Python and the handbook read tables, so that nothing about an option is written
// elsewhere.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/nearest.h"
#include "base/option_properties.h"
#include "base/parse.h"

namespace legacy {

// Returns the name of a flag as YAML and Python spell it: "device-profile" as "device_profile".
inline std::string Underscored(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

// An Option is one row of the table of `Struct`, which has the values.
template <class Struct>
struct Option {
  std::string key;      // in YAML and --set: "network.topology"
  std::string flag;     // on command lines: "--topo"
  std::string metavar;  // what stands for its text in help: "RATE"; "": it is given without one
  std::string help;
  // Sets the value from text. Throws Error naming `key`, as it was typed, and what is allowed.
  std::function<void(Struct& values, const std::string& key, const std::string& text)> set;
  std::function<std::string(const Struct& values)> get;
  OptionKind kind = OptionKind::kText;
  OptionProperties properties = 0;
  std::string group = {};  // in help; "": the section of the key
  std::string alias = {};  // another flag for it; "": none

  bool Has(OptionProperty property) const { return (properties & property) != 0; }
  // Returns the flag without "--".
  std::string Name() const { return flag.substr(2); }
  // Returns true where that is the name, or that of the alias.
  bool IsCalled(const std::string& name) const {
    return name == Name() || (!alias.empty() && name == alias.substr(2));
  }
  // Returns true where that is the key, or the alias as a key of its section: an alias "--speed" of
  // "wheel.rate" is "wheel.speed".
  bool HasKey(const std::string& name) const {
    return name == key ||
           (!alias.empty() && name == Section() + "." + Underscored(alias.substr(2)));
  }
  // Returns the parts of the key, "network" and "topology", and the group in help.
  std::string Section() const { return key.substr(0, key.find('.')); }
  std::string NameInSection() const { return key.substr(key.find('.') + 1); }
  std::string Group() const { return group.empty() ? Section() : group; }
};

template <class Struct>
using OptionTable = std::vector<Option<Struct>>;

// Returns the option with more properties.
template <class Struct>
Option<Struct> operator|(Option<Struct> option, OptionProperties properties) {
  option.properties |= properties;
  return option;
}

// Returns the option with another flag for it.
template <class Struct>
Option<Struct> WithAlias(Option<Struct> option, std::string flag) {
  option.alias = std::move(flag);
  return option;
}

// Returns the options of all parts, in that order. Those without a group get that of their part.
template <class Struct>
OptionTable<Struct> JoinedTables(std::vector<std::pair<std::string, OptionTable<Struct>>> parts) {
  OptionTable<Struct> all;
  for (auto& [group, part] : parts) {
    for (Option<Struct>& option : part) {
      if (option.group.empty()) option.group = group;
      all.push_back(std::move(option));
    }
  }
  return all;
}

// Returns "unknown axis 'worker'; did you mean workers?; allowed: workers, delay", with `allowed`
// in the place of `known` where it is given.
inline std::string UnknownText(const std::string& what, const std::string& name,
                               const std::vector<std::string>& known,
                               const std::vector<std::string>& allowed = {}) {
  return "unknown " + what + " '" + name + "'" + DidYouMean(name, known) +
         "; allowed: " + Join(allowed.empty() ? known : allowed, ", ");
}

// OptionNames say by which names an option is found: its key, its flag without "--", or both. An
// alias counts.
enum class OptionNames : uint8_t { kKeys, kFlags, kBoth };

// Returns the option of that name, or null where there is none.
template <class Struct>
const Option<Struct>* FindOption(const OptionTable<Struct>& table, const std::string& name,
                                 OptionNames names = OptionNames::kBoth) {
  for (const Option<Struct>& option : table) {
    if (names != OptionNames::kFlags && option.HasKey(name)) return &option;
    if (names != OptionNames::kKeys && option.IsCalled(name)) return &option;
  }
  return nullptr;
}

// Returns the option with that flag, which there is.
template <class Struct>
const Option<Struct>& OptionOfFlag(const OptionTable<Struct>& table, const std::string& flag) {
  const Option<Struct>* const found = FindOption(table, flag.substr(2), OptionNames::kFlags);
  assert(found != nullptr);
  return *found;
}

// Returns the error of a name that no option has, which says the nearest. Of keys, and of names
// where they are many, it lists those of the same section or, where there is none, the sections.
template <class Struct>
Error UnknownOption(const OptionTable<Struct>& table, const std::string& name, OptionNames names,
                    const std::string& where = "") {
  const size_t dot = name.find('.');
  const bool is_key =
      names == OptionNames::kKeys || (names == OptionNames::kBoth && dot != std::string::npos);
  std::vector<std::string> known, neighbours, sections;
  for (const Option<Struct>& option : table) {
    known.push_back(is_key ? option.key : option.Name());
    const std::string section = option.Section() + ".";
    if (dot != std::string::npos && name.starts_with(section)) neighbours.push_back(option.key);
    if (sections.empty() || sections.back() != section + "*") sections.push_back(section + "*");
  }
  constexpr size_t kMostNames = 40;  // a message of more is not read
  const bool dotted = !table.empty() && table.front().key.find('.') != std::string::npos;
  const std::vector<std::string>& allowed = !neighbours.empty() ? neighbours
                                            : is_key || (known.size() > kMostNames && dotted)
                                                ? sections
                                                : known;
  return Error::Refusal((where.empty() ? "" : where + ": ") +
                        UnknownText(is_key ? "key" : "option", name, known, allowed));
}

// Returns the option of that name. Throws UnknownOption where there is none.
template <class Struct>
const Option<Struct>& OptionNamed(const OptionTable<Struct>& table, const std::string& name,
                                  OptionNames names, const std::string& where = "") {
  if (const Option<Struct>* const found = FindOption(table, name, names)) return *found;
  throw UnknownOption(table, name, names, where);
}

// Returns the words of a command line that gives the options for which `keep` returns true, where
// they differ from `defaults`: "--topo=star".
template <class Struct, class Keep>
std::vector<std::string> WordsOfOptions(const OptionTable<Struct>& table, const Struct& values,
                                        const Struct& defaults, Keep keep) {
  std::vector<std::string> words;
  for (const Option<Struct>& option : table) {
    const std::string text = option.get(values);
    if (!keep(option) || text == option.get(defaults)) continue;
    words.push_back(option.flag + "=" + text);
  }
  return words;
}

// Adds properties to each of the options.
template <class Struct>
void AddToAll(OptionTable<Struct>& options, OptionProperties properties) {
  for (Option<Struct>& option : options) option.properties |= properties;
}

// Returns the options of a command that has few: --help lists all of them, in one group.
template <class Struct>
OptionTable<Struct> FewOptions(OptionTable<Struct> options, const std::string& group = "Options") {
  AddToAll(options, kUsual);
  return JoinedTables<Struct>({{group, std::move(options)}});
}

// Returns the option as one of `Whole`, which has the values where `part` says: a reference to
// Struct, const for a const Whole.
template <class Whole, class Struct, class Part>
Option<Whole> OptionOfPart(const Option<Struct>& option, Part part) {
  return {.key = option.key,
          .flag = option.flag,
          .metavar = option.metavar,
          .help = option.help,
          .set = [set = option.set, part](Whole& whole, const std::string& key,
                                          const std::string& text) { set(part(whole), key, text); },
          .get = [get = option.get, part](const Whole& whole) { return get(part(whole)); },
          .kind = option.kind,
          .properties = option.properties,
          .group = option.group,
          .alias = option.alias};
}

// Adds the options of a table to those of `Whole`, which has the values where `part` says.
template <class Whole, class Struct, class Part>
void AddTableOfPart(OptionTable<Whole>& options, const OptionTable<Struct>& table, Part part) {
  for (const Option<Struct>& option : table) {
    options.push_back(OptionOfPart<Whole>(option, part));
  }
}

}  // namespace legacy
