// Command line of legacy-network: an experiment by default, and the subcommands topo, pfc and
// validate. Their options are rows of tables, except --warm and --cold, which are short for a value
// of a row, and those of validate, which developers alone use.
#pragma once

#include <optional>
#include <variant>

#include "scenarios/network/validation/validation.h"
#include "scenarios/programs/network_command.h"
#include "scenarios/programs/pfc_command.h"
#include "scenarios/programs/topo_command.h"

namespace legacy {

// A NetworkCommandLine is the command, or the exit status.
struct NetworkCommandLine {
  std::variant<NetworkCommand, TopoCommand, PfcCommand, ValidationOptions> command;
  // Status with which the program should end: help was printed, or the line was wrong.
  std::optional<int> exit;
};

// Prints help, and mistakes of the line itself. Wrong values throw Error here or when the command
// runs.
NetworkCommandLine ParseNetworkCommandLine(int argc, char** argv);

}  // namespace legacy
