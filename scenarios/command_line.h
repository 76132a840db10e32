// Command line of the scenario programs: the options of the table, --scenario, --set and --ns3::Class::Attribute=value.
#pragma once

#include <optional>
#include <string>

#include "scenarios/scenario.h"

namespace legacy {

struct CommandLine {
  Scenario scenario;
  bool print_config = false;
  std::string text;  // as typed, for the manifest
  std::optional<int>
      exit;  // the program should end with this status (help was printed, or the line was wrong)
};

// The file of --scenario is read first, then --set, then single options: later wins. Prints help and mistakes of the line
// itself; wrong values throw Error.
CommandLine ParseCommandLine(int argc, char** argv, const std::string& program,
                             const std::string& description);

}  // namespace legacy
