// Command line of legacy-federated: the subcommands plan and population.
#pragma once

#include <optional>
#include <variant>

#include "scenarios/programs/federated_command.h"

namespace legacy {

// A FederatedCommandLine is the command, or the exit status.
struct FederatedCommandLine {
  std::variant<PlanCommand, PopulationCommand> command;
  // Status with which the program should end: help was printed, or the line was wrong.
  std::optional<int> exit;
};

// Prints help, and mistakes of the line itself. Wrong values throw Error when the command runs.
FederatedCommandLine ParseFederatedCommandLine(int argc, char** argv);

}  // namespace legacy
