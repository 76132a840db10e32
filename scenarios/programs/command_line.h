// Command line of the scenario programs: the options of the table, --scenario, --set and
// --ns3::Class::Attribute=value.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scenarios/options/scenario.h"

namespace legacy {

// A CommandLine is what the user asked for.
struct CommandLine {
  Scenario scenario;
  std::string run;  // argument RUN, where the program takes one
  bool print_config = false;
  bool resume = false;  // true: the run in scenario.out continues
  std::string text;     // line as typed, for the manifest
  // Status with which the program should end: help was printed, or the line was wrong.
  std::optional<int> exit;
};

// An OnRun describes a program that works on the directory of an earlier run.
struct OnRun {
  // Returns the scenario from which the options start. It is called once the line itself is known
  // to be right.
  std::function<Scenario(const std::string& run)> defaults;
  // True where --help lists the option; the other options work as well.
  bool (*lists)(const ScenarioOption& option);
  bool clients = false;  // true: the run is one of federated clients, with their options
};

// Reads the line. The files of --scenario come first, then --preset, --set and single options:
// later ones win. Prints help, and mistakes of the line itself; wrong values throw Error. Options
// start from `defaults` where there is neither a file nor a run.
CommandLine ParseCommandLine(int argc, char** argv, const std::string& program,
                             const std::string& description,
                             const std::optional<OnRun>& on_run = std::nullopt,
                             const Scenario& defaults = Scenario());

}  // namespace legacy
