// Options of the fabric, which experiments without training (options.h) and scenarios
// (scenarios/options/scenario.h) have in common: topology, links, transport and placement.
#pragma once

#include <string>

#include "base/options.h"
#include "base/parsed.h"
#include "ns3-module/fabric/collective/protocol.h"
#include "ns3-module/fabric/engine/transport.h"
#include "scenarios/network/engines/background.h"
#include "scenarios/network/engines/network.h"

namespace legacy {

// FabricOptions have the values.
struct FabricOptions {
  std::string topology = "fat-tree";
  Rate bandwidth = "1Gbps";  // rate of each link
  Time delay = "10us";       // propagation delay of each link
  Size queue = "0";          // bytes of a switch port; 0: the preset's
  Parsed<ParseMultipath> multipath = "ecmp";
  std::string placement = "packed";
  Parsed<fabric::MakeTransport> transport = "datacenter";
  int mtu = 1500;  // bytes of a packet: 576 to 65535
  Parsed<fabric::ParseConnectionKind> connections = "warm";
  Parsed<ParseCongestion> congestion = "";  // empty: that of the transport
  Parsed<ParseSkip> skip = "none";
  int streams = 1;      // connections between two endpoints that share each message
  std::string changes;  // rates and failures over time (fabric/topology/changes.h)
  Parsed<ParseBackground> background = "none";
  Time packet_budget = "60s";  // wall time that fidelity auto may spend on packets
  int group = 0;     // workers of a node; 0: of a server or, else, those that share a switch
  int channels = 0;  // rings at once, in algorithms that take several; 0: those of the file, or 1
  Parsed<fabric::ParseProtocol> protocol = "none";  // of the same algorithms
  int servers = 4;                                  // servers of a sharded parameter server
};

// Returns the network that the options ask for, with a placement of no workers yet.
NetworkRequest RequestOf(const FabricOptions& options);

// Returns the row with that flag, as in "--topo", which there is.
const Option<FabricOptions>& FabricRow(const std::string& flag);
// Returns it as a row of `Whole`, which has FabricOptions as a base.
template <class Whole>
Option<Whole> FabricOption(const std::string& flag) {
  return OptionOfPart<Whole>(
      FabricRow(flag), [](auto& whole) -> auto& { return whole; });
}

}  // namespace legacy
