// Command line of the scenario programs: the options of the table, --scenario, --set and
// --ns3::Class::Attribute=value.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// A CommandLine is what was asked for.
struct CommandLine {
  Scenario scenario;
  std::string run;  // the argument RUN, where the program takes one
  bool print_config = false;
  std::string text;  // as typed, for the manifest
  std::optional<int>
      exit;  // the program should end with this status (help was printed, or the line was wrong)
};

// A program that works on the directory of an earlier run.
struct OnRun {
  // The scenario that the options start from. Called once the line itself is known to be right.
  std::function<Scenario(const std::string& run)> defaults;
  // True where --help lists the option of this key; the others are understood all the same.
  bool (*lists)(const std::string& key);
};

// The file of --scenario is read first, then --preset, --set and single options: later wins. Prints
// help and mistakes of the line itself; wrong values throw Error. `defaults`: what options start
// from where there is neither a file nor a run.
CommandLine ParseCommandLine(int argc, char** argv, const std::string& program,
                             const std::string& description,
                             const std::optional<OnRun>& on_run = std::nullopt,
                             const Scenario& defaults = Scenario());

}  // namespace legacy
