// What legacy-federated does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/programs/program.h"
#include "scenarios/federated/plan_options.h"

namespace legacy {

// A plan and where its results go.
struct PlanCommand {
  PlanOptions options;
  std::string out;               // folder of CSV files and pictures; "": none
  bool tasks = false;            // true: tasks.csv, too
  bool remedies = true;          // true: simulates what would make rounds shorter
  bool chart = true;             // true: prints the Gantt chart of a round
  std::optional<int64_t> gantt;  // its number; nothing: the round of median duration
  bool markdown = false;         // true: tables as Markdown
  bool quiet = false;            // true: no progress
};

// A population and where its results go.
struct PopulationCommand {
  PlanOptions options;
  std::string csv;  // file with a row for each client; "": none, "-": standard output
  std::string svg;  // picture of availability over a day; "": none
  bool markdown = false;
};

// Run a command and return the exit status. Throw Error.
int RunPlanCommand(const PlanCommand& command, const StopFlag& stop);
int RunPopulationCommand(const PopulationCommand& command);

}  // namespace legacy
