#include "scenarios/programs/trace_command.h"

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/option_forms.h"
#include "base/programs/arguments.h"
#include "base/programs/terminal.h"
#include "scenarios/graphs/chakra_writer.h"
#include "scenarios/graphs/goal_writer.h"
#include "scenarios/graphs/plan_timing.h"
#include "scenarios/graphs/trace_import.h"
#include "scenarios/programs/table_options.h"
#include "scenarios/replay/recorded_plan.h"

namespace legacy {
namespace {

using graphs::GraphOptions;
using graphs::ImportedPlan;
using graphs::PlanMeasurement;

constexpr const char* kDescription =
    "Times execution traces (Chakra, GOAL) on a simulated network, and writes recorded steps as "
    "such "
    "traces.";

// An ImportCommand is the command line of `legacy-trace import`.
struct ImportCommand {
  std::string trace;
  GraphOptions options;
};

int Import(const ImportCommand& command) {
  const GraphOptions& options = command.options;
  CheckOutput(options.csv, "--csv");
  ImportedPlan imported =
      graphs::ImportTrace(command.trace, options.groups, graphs::ImportOptionsOf(options));
  const std::unique_ptr<Network> network = graphs::PrepareNetwork(imported, options);
  const std::vector<PlanMeasurement> measurements =
      graphs::MeasurePlan(imported.plan, *network, *options.fidelity);
  const bool to_stdout = options.csv == "-";
  std::fputs(graphs::PlanTable(imported, *network, measurements,
                               to_stdout ? ErrorColumns() : OutputColumns())
                 .c_str(),
             to_stdout ? stderr : stdout);
  if (!options.csv.empty()) {
    WriteOutput(options.csv, CsvText(graphs::PlanRows(imported.plan, measurements)));
  }
  return 0;
}

enum class TraceFormat : uint8_t { kChakra, kGoal };
constexpr std::array kFormatTexts = {"chakra", "goal"};

TraceFormat ParseTraceFormat(const std::string& text, const std::string& key) {
  return ParseChoice<TraceFormat>(text, key, kFormatTexts);
}

// An ExportCommand is the command line of `legacy-trace export`.
struct ExportCommand {
  std::string run;
  std::string policy;
  std::optional<uint64_t> seed;
  int64_t step = 0;
  Parsed<ParseTraceFormat> format = "chakra";
  std::string out;
  std::string name = "step";
  bool per_role = false;
};

OptionTable<ExportCommand> ExportRows() {
  using option_forms::Flag;
  using option_forms::Integer;
  using option_forms::Text;
  return FewOptions<ExportCommand>({
      Integer<&ExportCommand::step, 0>("step", "--step", "number of the step, from 0"),
      Text<&ExportCommand::policy>("policy", "--policy", "NAME",
                                   "method of the training (default: the first one)"),
      Integer<&ExportCommand::seed, 0>("seed", "--seed",
                                       "seed of the training (default: the method's first one)"),
      Text<&ExportCommand::format>(
          "format", "--format", "chakra|goal",
          "chakra: a file for each rank in the folder --out; goal: one text, in which collectives "
          "are messages"),
      Text<&ExportCommand::out>("out", "--out", "DIR|FILE",
                                "folder of Chakra's files, or the file of GOAL"),
      Text<&ExportCommand::name>("name", "--name", "NAME", "of Chakra's files, NAME.RANK.et"),
      Flag<&ExportCommand::per_role>(
          "per-role", "--per-role",
          "write whole files only for the first of ranks that do the same, which other tools may "
          "take for all of them, and of the others what differs (NAME.RANK.et-diff)"),
  });
}

int Export(const ExportCommand& command) {
  if (command.out.empty()) throw Error::Refusal("--out: says where the trace is written");
  if (command.name.empty() || command.name.find('/') != std::string::npos) {
    throw Error("--name", command.name, "a name of files");
  }
  if (*command.format == TraceFormat::kGoal) CheckOutput(command.out, "--out");
  const fabric::StepPlan plan =
      PlanOfRecordedStep(ReadRecording(command.run), {command.policy, command.seed, command.step});
  if (*command.format == TraceFormat::kGoal) {
    WriteOutput(command.out, graphs::GoalText(plan));
  } else {
    graphs::WriteChakra(plan, command.out, command.name, command.per_role);
  }
  return 0;
}

CLI::App* AddImport(CLI::App& app, ImportCommand& command) {
  CLI::App* const sub = app.add_subcommand(
      "import", "Times an execution trace of Chakra or GOAL on a simulated network.");
  sub->footer(
      "Examples:\n"
      "  legacy-trace import et/ --groups=comm_group.json --topo=fat-tree --fidelity=flow\n"
      "  legacy-trace import allreduce.goal --topo=star --bandwidth=100Gbps\n" +
      std::string(kExitStatuses));
  sub->add_option("TRACE", command.trace,
                  "folder with a Chakra file for each rank (NAME.RANK.et or NAME.RANK.json), "
                  "FOLDER/NAME of such files, or a GOAL text")
      ->required()
      ->type_name("");
  return sub;
}

CLI::App* AddExport(CLI::App& app, ExportCommand& command) {
  CLI::App* const sub =
      app.add_subcommand("export", "Writes a recorded step as a trace of Chakra or GOAL.");
  sub->footer(
      "Example:\n"
      "  legacy-trace export runs/a --step=3 --out=et/\n" +
      std::string(kExitStatuses));
  sub->add_option("RUN", command.run, "directory of a run of legacy-scenario --record")
      ->required()
      ->type_name("");
  return sub;
}

}  // namespace

int TraceCommand(int argc, char** argv) {
  CLI::App app(kDescription, "legacy-trace");
  PrepareArguments(app);
  app.footer(std::string(kExitStatuses) + "Handbook: docs/execution-traces.md.");
  ImportCommand import;
  CLI::App* const import_app = AddImport(app, import);
  const TableOptions<GraphOptions> import_options(*import_app, graphs::GraphRows(), GraphOptions());
  ExportCommand to_write;
  CLI::App* const export_app = AddExport(app, to_write);
  const TableOptions<ExportCommand> export_options(*export_app, ExportRows(), ExportCommand());
  app.require_subcommand(1);
  if (const std::optional<int> exit = ParseArguments(app, argc, argv)) return *exit;
  if (*import_app) {
    import_options.Apply(import.options);
    return Import(import);
  }
  export_options.Apply(to_write);
  return Export(to_write);
}

}  // namespace legacy
