// Subcommands of legacy-study, each made in one of its sources.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "analysis/study/study.h"
#include "scenarios/programs/table_options.h"

namespace legacy {

// A StudyAction runs a subcommand whose options are parsed, and returns the exit status.
using StudyAction = std::function<int()>;

// A StudyCommand is a subcommand that makes a `Struct` of its arguments and of the rows of a table.
template <class Struct>
class StudyCommand {
 public:
  StudyCommand(CLI::App& app, const std::string& name, const std::string& help)
      : app_(*app.add_subcommand(name, help)) {}

  Struct& values() { return *values_; }
  void AddFolder(std::string& folder) { AddArgument("DIR", folder, "folder of the study"); }
  void AddArgument(const std::string& name, std::string& value, const std::string& help) {
    app_.add_option(name, value, help)->required();
  }
  // Adds the options. Where the subcommand is given, `chosen` becomes `action` on the values.
  CLI::App& AddOptions(OptionTable<Struct> rows, StudyAction& chosen,
                       std::function<int(const Struct&)> action) {
    const auto options = std::make_shared<TableOptions<Struct>>(app_, FewOptions(std::move(rows)),
                                                                std::optional<Struct>(*values_));
    app_.callback([&chosen, options, values = values_, action = std::move(action)] {
      chosen = [=] {
        options->Apply(*values);
        return action(*values);
      };
    });
    return app_;
  }

 private:
  CLI::App& app_;
  std::shared_ptr<Struct> values_ = std::make_shared<Struct>();
};

inline void SayNotes(const analysis::Study& study) {
  for (const std::string& note : study.notes) fmt::print(stderr, "note: {}\n", note);
}

// Add what shows results. `typed` is the command line.
void AddExport(CLI::App& app, StudyAction& chosen);
void AddReport(CLI::App& app, StudyAction& chosen);
void AddTables(CLI::App& app, const std::string& typed, StudyAction& chosen);

}  // namespace legacy
