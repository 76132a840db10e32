// Subcommands of legacy-study, each made in one of its sources.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "analysis/study/study.h"

namespace legacy {

// A StudyAction runs a subcommand whose options are parsed, and returns the exit status.
using StudyAction = std::function<int()>;

// Adds a subcommand. Where it is given, `chosen` becomes its action.
inline CLI::App* AddStudyCommand(CLI::App& app, const std::string& name, const std::string& help,
                                 StudyAction& chosen, StudyAction action) {
  CLI::App* command = app.add_subcommand(name, help);
  command->callback([&chosen, action = std::move(action)] { chosen = action; });
  return command;
}

inline void AddStudyFolder(CLI::App& command, std::string& folder) {
  command.add_option("DIR", folder, "folder of the study")->required();
}

inline void SayNotes(const analysis::Study& study) {
  for (const std::string& note : study.notes) fmt::print(stderr, "note: {}\n", note);
}

// Add what shows results. `typed` is the command line.
void AddExport(CLI::App& app, StudyAction& chosen);
void AddReport(CLI::App& app, StudyAction& chosen);
void AddTables(CLI::App& app, const std::string& typed, StudyAction& chosen);

}  // namespace legacy
