// Further networks are networks on which the trainings of one run are timed as well
// (network.further), so that one training answers for several:
//
//   10Gbps:bandwidth=10Gbps;wan:topology=star,bandwidth=100Mbps,delay=20ms,transport=wan
//
// Each has a name, and its differences from the run's own network by the keys of the section
// `network`. "auto" stands for 10 and 100 Gbit/s and a wide-area network where the user chose at
// most the topology, and for none otherwise.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A FurtherNetwork is one further network.
struct FurtherNetwork {
  std::string name;  // name of its folder, networks/NAME, and of its column
  // Its scenario, without further networks, the doctor, traces and ns-3's own files.
  Scenario scenario;
};

// Reads the scenario's further networks. Throws Error naming the piece and what is allowed: on
// unknown keys, wrong values, a name that is given twice or cannot be a folder's, and where workers
// may be dropped, because the active workers would then depend on the network.
std::vector<FurtherNetwork> FurtherNetworks(const Scenario& scenario);

// Returns the name of the run's own network among the further ones: its rate, or the name of a
// topology whose links do not take it.
std::string OwnNetworkName(const Scenario& scenario);

}  // namespace legacy
