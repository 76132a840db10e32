#include "scenarios/programs/federated_command_line.h"

#include <CLI/CLI.hpp>

#include "base/parse.h"
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

using Table = TableOptions<PlanOptions>;

// Returns the options with the property.
OptionTable<PlanOptions> Rows(OptionProperty property) {
  OptionTable<PlanOptions> rows;
  for (const Option<PlanOptions>& option : PlanRows()) {
    if (option.Has(property)) rows.push_back(option);
  }
  return rows;
}

void AddSwitch(CLI::App& app, const std::string& flag, bool& value, const std::string& help) {
  app.add_option_function<std::string>(
         flag, [&value, flag](const std::string& text) { value = ParseSwitch(text, flag); },
         help + (value ? " [on]" : " [off]"))
      ->take_last()
      ->type_name("on|off")
      ->group("Output");
}

void AddPlan(CLI::App& app, PlanCommand& command) {
  app.add_option(
         "--out", command.out,
         "folder for a page, index.html, rounds.csv, clients.csv, links.csv, gantt.svg and, with "
         "--tasks=on, tasks.csv")
      ->type_name("DIR")
      ->group("Output");
  AddSwitch(app, "--tasks", command.tasks, "write tasks.csv, up to a million tasks");
  AddSwitch(app, "--remedies", command.remedies,
            "simulate up to 100 rounds anew with each of several remedies");
  AddSwitch(app, "--chart", command.chart, "print the Gantt chart of a round");
  app.add_option("--gantt", command.gantt, "number of the round in the chart [that of median time]")
      ->check(CLI::Range(int64_t{1}, INT64_MAX))
      ->type_name("N")
      ->group("Output");
  app.add_flag("--markdown", command.markdown, "print tables as Markdown")->group("Output");
  app.add_flag("--quiet", command.quiet, "show no progress")->group("Output");
  app.footer(kPlanExamples);
}

void AddPopulation(CLI::App& app, PopulationCommand& command) {
  app.add_option("--csv", command.csv, "CSV file with a row for each client; -: standard output")
      ->type_name("FILE")
      ->group("Output");
  app.add_option("--svg", command.svg, "picture of availability over a day")
      ->type_name("FILE")
      ->group("Output");
  app.add_flag("--markdown", command.markdown, "print tables as Markdown")->group("Output");
  app.footer(std::string("Example:\n  legacy-federated population --population=phones "
                         "--clients=1000 --availability=nightly\n") +
             kExitStatuses);
}

}  // namespace

FederatedCommandLine ParseFederatedCommandLine(int argc, char** argv) {
  CLI::App app(kDescription, "legacy-federated");
  PrepareArguments(app);
  PlanCommand plan;
  PopulationCommand population;
  CLI::App& plan_app = *app.add_subcommand("plan", kPlanDescription);
  const Table plan_options(plan_app, Rows(kReadByPlans), PlanOptions());
  AddPlan(plan_app, plan);
  PrepareArguments(plan_app);
  CLI::App& population_app = *app.add_subcommand("population", kPopulationDescription);
  const Table population_options(population_app, Rows(kReadByPopulations), PlanOptions());
  AddPopulation(population_app, population);
  PrepareArguments(population_app);
  app.require_subcommand(1);
  FederatedCommandLine line;
  line.exit = ParseArguments(app, argc, argv);
  if (line.exit) return line;
  if (population_app.parsed()) {
    population_options.Apply(population.options);
    line.command = population;
  } else {
    plan_options.Apply(plan.options);
    line.command = plan;
  }
  return line;
}

}  // namespace legacy
