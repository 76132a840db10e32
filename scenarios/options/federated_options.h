// Options of federated learning, as texts: who the clients are, how the server works, and what
// clients learn. The section `federated` of a scenario, the command lines of legacy-federated and
// its help use one table of them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/option_properties.h"

namespace legacy {

// A FederatedOption is one row of the table. What plans alone read, runs have in other sections:
// bytes and work from the model, the network from network.
struct FederatedOption {
  std::string name;  // name without "--"
  std::string metavar;
  std::string fallback;  // "": nothing is given
  std::string group;     // group in the help text
  std::string help;
  OptionProperties properties = kReadByPlans | kReadByRuns;

  bool Has(OptionProperty property) const { return (properties & property) != 0; }

  // Returns the key in a scenario: "federated.per_round".
  std::string Key() const;
};

// Returns the table.
const std::vector<FederatedOption>& FederatedOptionRows();
// FederatedValues has a text for every option of the table, by name.
using FederatedValues = std::map<std::string, std::string>;
FederatedValues DefaultFederatedValues();

}  // namespace legacy
