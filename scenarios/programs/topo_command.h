// legacy-network topo check|show|convert describes, checks or converts a topology.
#pragma once

#include <optional>
#include <string>

#include "base/options.h"
#include "base/parsed.h"
#include "ns3-module/fabric/import/make.h"

namespace legacy {

// A GivenTopology is a topology as for --topo, with what it leaves open.
struct GivenTopology {
  std::string text;
  Rate bandwidth = "1Gbps";
  Time delay = "10us";
  std::optional<int> hosts;  // nothing: the default of a topology without a size

  fabric::TopologyRequest Request() const;
};

// Returns the rows of what a topology leaves open.
OptionTable<GivenTopology> TopologyRows();

// Returns the format of convert.
std::string ParseConvertFormat(const std::string& text, const std::string& key);

// A TopoCommand is the command line of legacy-network topo.
struct TopoCommand {
  std::string action;  // check | show | convert
  GivenTopology topology;
  bool strict = false;  // check: what a map leaves open is an error
  Parsed<ParseConvertFormat> format = "yaml";
  std::string out;  // file of convert; "": standard output
};

// Returns the table.
OptionTable<TopoCommand> TopoRows();

// Prints on standard output or writes `out`, whole. Returns the exit status: 1 where `check` finds
// likely mistakes or, with `strict`, that something was assumed. Throws Error.
int RunTopoCommand(const TopoCommand& command);

}  // namespace legacy
