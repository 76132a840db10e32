// legacy-network topo check|show|convert: what a topology is.
#pragma once

#include <string>

#include "ns3-module/fabric/topology/topology.h"

namespace legacy {

struct TopoCommand {
  std::string action;  // check | show | convert
  fabric::TopologyRequest topology;
  std::string format = "yaml";  // of convert: yaml | hpcc | dot | svg
  std::string out = "-";        // of convert
};

// Prints on standard output or writes `out`, whole. The exit status: 1 where `check` finds
// something odd. Throws Error.
int RunTopoCommand(const TopoCommand& command);

}  // namespace legacy
