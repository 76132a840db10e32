// Further networks are networks that the trainings of one run are timed on as well
// (network.further), so that one training answers for several:
//
//   10Gbps:bandwidth=10Gbps;wan:topology=star,bandwidth=100Mbps,delay=20ms,transport=wan
//
// Each is a name and what differs from the run's own network, by the keys of the section `network`.
// "auto" asks for 10 and 100 Gbit/s and a wide-area network where nothing but the topology's kind
// was chosen, and for none otherwise.
#pragma once

#include <string>
#include <vector>

#include "scenarios/options/scenario.h"

namespace legacy {

// A FurtherNetwork is one of them.
struct FurtherNetwork {
  std::string name;  // name of its folder, networks/NAME, and of its column
  // Its scenario, without further networks, the doctor, traces and ns-3's own files.
  Scenario scenario;
};

// Reads the scenario's further networks. Throws Error naming the piece and what is allowed: on
// unknown keys, wrong values, a name that is given twice or could not be a folder's, and where
// workers may be dropped, as whose gradients count would then depend on the network.
std::vector<FurtherNetwork> FurtherNetworks(const Scenario& scenario);

// Returns the name of the run's own network beside them: its rate.
std::string OwnNetworkName(const Scenario& scenario);

}  // namespace legacy
