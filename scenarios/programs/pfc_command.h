// legacy-network pfc check says, without a simulation, whether pauses may wait for each other in a
// circle on a topology, and what the buffers of its switches have.
#pragma once

#include <string>

#include "base/options.h"
#include "base/parsed.h"
#include "ns3-module/fabric/engine/transport.h"
#include "scenarios/programs/topo_command.h"

namespace legacy {

// A PfcCommand is the command line of legacy-network pfc.
struct PfcCommand {
  std::string action;  // check
  GivenTopology topology;
  Parsed<fabric::MakeTransport> transport = "roce";
};

// Returns the table.
OptionTable<PfcCommand> PfcRows();

// Prints on standard output. Returns the exit status: 1 where there is a cycle. Throws Error.
int RunPfcCommand(const PfcCommand& command);

}  // namespace legacy
