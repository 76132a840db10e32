#include "scenarios/programs/federated_command_line.h"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/option_forms.h"
#include "base/programs/arguments.h"
#include "scenarios/programs/table_options.h"

namespace legacy {
namespace {

constexpr const char* kDescription =
    "Plans federated learning over simulated wide-area networks, without training.";

constexpr const char* kPlanDescription =
    "Simulates rounds, or an asynchronous server: how long they take, what they wait for, what "
    "they "
    "cost, and who takes part. Nothing is trained; the model is a number of bytes, and work a "
    "number of seconds.";

constexpr const char* kPlanExamples =
    "Examples:\n"
    "  legacy-federated plan --elements=44426 --client-seconds=6 --clients=1000 --per-round=50 \\\n"
    "    --population=phones --over-select=1.3 --deadline=factor:2 --dropout=0.05\n"
    "  legacy-federated plan --elements=10.2e9 --element-bytes=1 --client-seconds=2280 "
    "--clients=4\n"
    "  legacy-federated plan --shape=resnet50 --server=async:concurrency=100,buffer=10\n"
    "Exit status: 0 success, 1 error, 2 wrong option or value, 4 stopped before all versions were\n"
    "made, 130 interrupted.\n";

constexpr const char* kPopulationDescription =
    "Shows a population: clients, devices and lines by group, and who is available over a day.";

using namespace option_forms;

// Returns the options that have the property.
OptionTable<PlanOptions> Rows(OptionProperty property) {
  OptionTable<PlanOptions> rows;
  for (const Option<PlanOptions>& option : PlanRows()) {
    if (option.Has(property)) rows.push_back(option);
  }
  return rows;
}

// Returns the options about the outputs of a plan.
OptionTable<PlanCommand> OutputsOfPlans() {
  return {
      Text<&PlanCommand::out>("out", "--out", "DIR",
                              "folder for a page, index.html, rounds.csv, clients.csv, links.csv, "
                              "gantt.svg and, with --tasks=on, tasks.csv"),
      Switch<&PlanCommand::tasks>("tasks", "--tasks", "write tasks.csv, up to a million tasks"),
      Switch<&PlanCommand::remedies>(
          "remedies", "--remedies",
          "simulate up to 100 rounds again with each of several remedies"),
      Switch<&PlanCommand::chart>("chart", "--chart", "print the Gantt chart of a round"),
      Integer<&PlanCommand::gantt, 1>("gantt", "--gantt",
                                      "number of the round in the chart [that of median time]"),
      Flag<&PlanCommand::markdown>("markdown", "--markdown", "print tables as Markdown"),
      Flag<&PlanCommand::quiet>("quiet", "--quiet", "show no progress"),
  };
}

OptionTable<PopulationCommand> OutputsOfPopulations() {
  return {
      Text<&PopulationCommand::csv>("csv", "--csv", "FILE",
                                    "CSV file with a row for each client; -: standard output"),
      Text<&PopulationCommand::svg>("svg", "--svg", "FILE", "picture of availability over a day"),
      Flag<&PopulationCommand::markdown>("markdown", "--markdown", "print tables as Markdown"),
  };
}

// A Subcommand has two tables of options: those of a plan that have a property, and those about
// outputs.
template <class Command>
class Subcommand {
 public:
  Subcommand(CLI::App& app, const std::string& name, const std::string& description,
             OptionProperty property, OptionTable<Command> outputs)
      : app_(*app.add_subcommand(name, description)),
        options_(app_, Rows(property), PlanOptions()),
        outputs_(app_, FewOptions(std::move(outputs), "Output"), Command()) {
    PrepareArguments(app_);
  }
  CLI::App& app() { return app_; }
  bool parsed() const { return app_.parsed(); }
  // Returns the values that the command line gives. Throws Error on values that are not allowed.
  Command Given() const {
    Command command;
    options_.Apply(command.options);
    outputs_.Apply(command);
    return command;
  }

 private:
  CLI::App& app_;
  TableOptions<PlanOptions> options_;
  TableOptions<Command> outputs_;
};

}  // namespace

FederatedCommandLine ParseFederatedCommandLine(int argc, char** argv) {
  CLI::App app(kDescription, "legacy-federated");
  PrepareArguments(app);
  Subcommand<PlanCommand> plan(app, "plan", kPlanDescription, kReadByPlans, OutputsOfPlans());
  plan.app().footer(kPlanExamples);
  Subcommand<PopulationCommand> population(app, "population", kPopulationDescription,
                                           kReadByPopulations, OutputsOfPopulations());
  population.app().footer(std::string("Example:\n  legacy-federated population --population=phones "
                                      "--clients=1000 --availability=nightly\n") +
                          kExitStatuses);
  app.require_subcommand(1);
  FederatedCommandLine line;
  line.exit = ParseArguments(app, argc, argv);
  if (line.exit) return line;
  if (population.parsed()) {
    line.command = population.Given();
  } else {
    line.command = plan.Given();
  }
  return line;
}

}  // namespace legacy
