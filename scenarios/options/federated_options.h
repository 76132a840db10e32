// Options of federated learning, as texts: who the clients are, how the server works, and what
// clients learn. The section `federated` of a scenario, the command lines of legacy-federated and
// its help use one table of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace legacy {

// Says which programs read an option: plans, which train nothing, or runs, or both. What plans
// alone read, runs have in other sections: bytes and work from the model, the network from network.
enum class FederatedUse : uint8_t { kPlan, kRun, kBoth };

// A FederatedOption is one row of the table.
struct FederatedOption {
  std::string name;  // name without "--"
  std::string metavar;
  std::string fallback;  // "": nothing is given
  std::string group;     // group in the help text
  std::string help;
  FederatedUse use = FederatedUse::kBoth;

  // Returns the key in a scenario: "federated.per_round".
  std::string Key() const;
};

// Returns the table.
const std::vector<FederatedOption>& FederatedOptionRows();
// Returns whether an option describes who the clients are, which is all that `population` reads.
bool DescribesClients(const std::string& name);

// Returns whether a recorded run may be timed with another value: lines, places, prices, and the
// collective of those that exchange without a server.
bool DescribesLines(const std::string& name);

// FederatedValues has a text for every option of the table, by name.
using FederatedValues = std::map<std::string, std::string>;
FederatedValues DefaultFederatedValues();

}  // namespace legacy
