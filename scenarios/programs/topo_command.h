// legacy-network topo check|show|convert describes, checks or converts a topology.
#pragma once

#include <string>

#include "ns3-module/fabric/import/make.h"

namespace legacy {

// A TopoCommand is the command line of legacy-network topo.
struct TopoCommand {
  std::string action;  // check | show | convert
  fabric::TopologyRequest topology;
  bool strict = false;          // check: what a map leaves open is an error
  std::string format = "yaml";  // format of convert: yaml | hpcc | graphml | dot | svg
  std::string out = "-";        // file of convert
};

// Prints on standard output or writes `out`, whole. Returns the exit status: 1 where `check` finds
// likely mistakes or, with `strict`, that something was assumed. Throws Error.
int RunTopoCommand(const TopoCommand& command);

}  // namespace legacy
