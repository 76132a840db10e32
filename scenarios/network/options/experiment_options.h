// Options describe an experiment on the network. The command line, sweeps and help use one table of
// them. Values are texts until an experiment is made from them, so that a sweep may vary any of
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/option_properties.h"
#include "base/parse.h"

namespace legacy {

// A NetworkOption is one row of the table.
struct NetworkOption {
  std::string name;                     // name without "--"
  OptionKind kind = OptionKind::kText;  // ranges of a sweep count in its unit
  std::string metavar;
  std::string fallback;
  std::string group;  // group in the help text
  std::string help;
  OptionProperties properties = 0;

  bool Has(OptionProperty property) const { return (properties & property) != 0; }
};

// Returns the table.
const std::vector<NetworkOption>& NetworkOptions();

// Group of the options that describe a collective.
inline constexpr const char* kCollectiveGroup = "Collective";

// Returns the option of that name. Throws Error naming `where`, with the nearest name and the list.
const NetworkOption& FindNetworkOption(const std::string& name, const std::string& where);

// OptionValues has a text for every option of the table, by name.
using OptionValues = std::map<std::string, std::string>;
OptionValues DefaultValues();

}  // namespace legacy
