// legacy-network topo check|show|convert says what a topology is.
#pragma once

#include <string>

#include "ns3-module/fabric/topology/topology.h"

namespace legacy {

// A TopoCommand is such a command line.
struct TopoCommand {
  std::string action;  // check | show | convert
  fabric::TopologyRequest topology;
  std::string format = "yaml";  // format of convert: yaml | hpcc | dot | svg
  std::string out = "-";        // file of convert
};

// Prints on standard output or writes `out`, whole. Returns the exit status: 1 where `check` finds
// something odd. Throws Error.
int RunTopoCommand(const TopoCommand& command);

}  // namespace legacy
