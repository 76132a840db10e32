// legacy-federated trains federated clients over simulated wide-area networks, and plans such
// trainings without performing them.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "analysis/table_text.h"
#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/option_forms.h"
#include "base/programs/arguments.h"
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "scenarios/federated/federated_scenario.h"
#include "scenarios/federated/learner.h"
#include "scenarios/federated/plan_doctor.h"
#include "scenarios/federated/run/run.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/programs/federated_command_line.h"
#include "scenarios/programs/replay_command.h"
#include "scenarios/programs/table_options.h"
#include "scenarios/replay/run_doctor.h"
#include "scenarios/run/run_report.h"
#ifdef LEGACY_WITH_ADVICE
#include "scenarios/study/advise.h"
#endif

namespace {

int Run(const legacy::PlanCommand& command) {
  return legacy::RunPlanCommand(command, legacy::CatchStop());
}

int Run(const legacy::PopulationCommand& command) { return legacy::RunPopulationCommand(command); }

// Runs a subcommand that does not train.
int Plan(int argc, char** argv) {
  const legacy::FederatedCommandLine line = legacy::ParseFederatedCommandLine(argc, argv);
  if (line.exit) return *line.exit;
  return std::visit([](const auto& command) { return Run(command); }, line.command);
}

int PrintConfig(const legacy::Scenario& scenario) {
  std::fputs(legacy::PrintScenario(scenario).c_str(), stdout);
  return 0;
}

int Train(int argc, char** argv) {
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-federated",
      "Trains federated clients, each on data of its own, with compressed updates over a simulated "
      "wide-area network, and compares methods by simulated time, rounds, bytes and dollars to a "
      "target. legacy-federated plan, population and partition train nothing (plan --help); "
      "legacy-federated advise says what to compress, and with which method (advise --help).",
      std::nullopt, legacy::FederatedDefaults());
  if (line.exit) return *line.exit;
  legacy::ValidateFederated(line.scenario);
  legacy::TargetOf(line.scenario);  // throws on a target that the task does not have
  if (line.print_config) return PrintConfig(line.scenario);
  const legacy::RunControl control{.resume = line.resume, .requests = &legacy::CatchRequests()};
  return legacy::ReportRun(
      legacy::RunFederated(line.scenario, line.text, legacy::CatchStop(), stderr, control),
      {line.scenario.pictures, line.scenario.verbose});
}

// Shows which samples the clients have, without training.
int Partition(int argc, char** argv) {
  const legacy::CommandLine line = legacy::ParseCommandLine(
      argc, argv, "legacy-federated partition",
      "Shows how the samples of a data set are divided among clients (--dataset, --partition, "
      "--clients, --seed), without training. With --out the samples of each client by label are "
      "partition.csv in that folder.",
      std::nullopt, legacy::FederatedDefaults());
  if (line.exit) return *line.exit;
  const legacy::Scenario& scenario = line.scenario;
  legacy::ValidateFederated(scenario);
  if (line.print_config) return PrintConfig(scenario);
  const legacy::PlanRequest request = legacy::RequestOf(scenario, scenario.seed);
  const int64_t clients = request.population.Clients();
  const auto learners = legacy::TrainedLearners(scenario);
  const legacy::PartitionView view = learners->LookAtPartition(scenario.seed, clients).value();
  std::printf("%s\n", PartitionText(view, scenario.federated->partition).c_str());
  if (scenario.out.empty()) return 0;
  const std::filesystem::path file = std::filesystem::path(scenario.out) / "partition.csv";
  if (std::filesystem::exists(file) && !scenario.overwrite) {
    throw legacy::Error("--out", file.string(), "a file that is not there, or --overwrite");
  }
  std::filesystem::create_directories(scenario.out);
  legacy::ReplaceFile(file, legacy::PartitionCsv(view));
  return 0;
}

struct DoctorOptions {
  bool remedies = true;
  bool markdown = false;
  bool quiet = false;
};

legacy::OptionTable<DoctorOptions> DoctorRows() {
  using namespace legacy::option_forms;
  return legacy::FewOptions<DoctorOptions>({
      Switch<&DoctorOptions::remedies>("remedies", "--remedies",
                                       "simulate remedies, where the run is recorded"),
      Flag<&DoctorOptions::markdown>("markdown", "--markdown", "print tables as Markdown"),
      Flag<&DoctorOptions::quiet>("quiet", "--quiet", "show no progress"),
  });
}

// Prints what the rounds of a run waited for.
int Doctor(int argc, char** argv) {
  CLI::App app(
      "Says what the rounds of a run wait for, for each method with the first seed. Of a recorded "
      "run (--record) it simulates up to 100 rounds again with each of several remedies.",
      "legacy-federated doctor");
  legacy::PrepareArguments(app);
  std::string directory;
  app.add_option("RUN", directory, "run directory")->required();
  DoctorOptions options;
  const legacy::TableOptions<DoctorOptions> rows(app, DoctorRows(), options);
  app.footer(std::string("Example:\n  legacy-federated doctor runs/first\n") +
             legacy::kExitStatuses);
  if (const auto exit = legacy::ParseArguments(app, argc, argv)) return *exit;
  rows.Apply(options);
  const bool show = !options.quiet && isatty(STDERR_FILENO) != 0;
  const legacy::StopFlag& stop = legacy::CatchStop();
  const legacy::StopScope scope(legacy::kSecondsToStop);
  const legacy::RunDiagnosis found = legacy::DiagnoseFederated(
      directory, options.remedies,
      [&](const std::string& what) {
        if (show) fmt::print(stderr, "{}\n", what);
      },
      stop);
  fmt::print("Seed {}\n", found.seed);
  if (!found.remark.empty()) fmt::print("{}\n", found.remark);
  for (const auto& [policy, diagnosis] : found.policies) {
    fmt::print("\n{}\n{}\n", policy, diagnosis.waits);
    if (diagnosis.remedies.empty()) continue;
    const legacy::analysis::Table table = legacy::RemedyTable(diagnosis);
    fmt::print("{}\n\n{}", legacy::RoundsVerdict(diagnosis),
               options.markdown ? legacy::analysis::RenderMarkdown(table)
                                : legacy::analysis::RenderText(table));
  }
  return found.interrupted ? legacy::kInterrupted : 0;
}

int Main(int argc, char** argv) {
  legacy::LoadPlugins(argc, argv);
  const bool subcommand =
      argc > 1 && (std::strcmp(argv[1], "plan") == 0 || std::strcmp(argv[1], "population") == 0);
  if (argc > 1 && std::strcmp(argv[1], "replay") == 0) {
    return legacy::ReplayCommand(argc - 1, argv + 1, true);
  }
  if (argc > 1 && std::strcmp(argv[1], "partition") == 0) return Partition(argc - 1, argv + 1);
  if (argc > 1 && std::strcmp(argv[1], "doctor") == 0) return Doctor(argc - 1, argv + 1);
  if (argc > 1 && std::strcmp(argv[1], "advise") == 0) {
#ifdef LEGACY_WITH_ADVICE
    return legacy::AdviseCommand(true, argc - 1, argv + 1, legacy::CatchStop());
#else
    throw legacy::Error("advise: this program was built without studies (LEGACY_STUDIES=OFF)");
#endif
  }
  return subcommand ? Plan(argc, argv) : Train(argc, argv);
}

}  // namespace

int main(int argc, char** argv) {
  legacy::RunProgram("legacy-federated", [&] { return Main(argc, argv); });
}
