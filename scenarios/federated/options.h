// Options of a plan: what clients, servers and networks of federated learning are, as texts. The
// command line and help use one table of them.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace legacy {

// A FederatedOption is one row of the table.
struct FederatedOption {
  std::string name;  // name without "--"
  std::string metavar;
  std::string fallback;  // "": nothing is given
  std::string group;     // group in the help text
  std::string help;
};

// Returns the table.
const std::vector<FederatedOption>& FederatedOptions();
// Returns whether an option describes who the clients are, which is all that `population` reads.
bool DescribesClients(const std::string& name);

// FederatedValues has a text for every option of the table, by name.
using FederatedValues = std::map<std::string, std::string>;
FederatedValues DefaultFederatedValues();

}  // namespace legacy
