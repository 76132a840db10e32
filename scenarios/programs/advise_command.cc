// Subcommand advise: its options, and its output.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "base/files/whole_file.h"
#include "base/option_forms.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/programs/study_commands.h"
#include "scenarios/programs/table_options.h"
#include "scenarios/study/advise.h"
#include "scenarios/study/shell.h"

namespace legacy {
namespace {

constexpr int64_t kMostQuickSteps = 1'000'000'000;

const char* ProgramOf(bool federated) {
  return federated ? "legacy-federated advise" : "legacy-scenario advise";
}

const char* DescriptionOf(bool federated) {
  return federated
             ? "Advises whether to compress the updates of clients, the models of the server, or "
               "both, and with which method. It runs short trainings, replays them on the clients' "
               "lines and on slower and faster ones, and says how certain the answer is. Where "
               "what "
               "is learnt depends on the lines, it trains on these alone."
             : "Advises whether to compress on your network, and with which method. It runs short "
               "trainings, replays them on the network and on slower and faster ones, and says how "
               "certain the answer is.";
}

std::string FederatedFooter(const Scenario& defaults) {
  return fmt::format(
      "All options of legacy-federated are allowed, and --scenario and --set. These differ:\n"
      "  --seeds={} --policies={} are the defaults\n"
      "  --downlink=fp16: how models travel where they are compressed, beside whole ones "
      "(default);\n"
      "    dense: compare updates alone\n"
      "  --algorithms: with several, each has all rows\n"
      "  --target: target (default: nine tenths as good as dense is after the short training)\n"
      "  --out: folder in which to keep the study and the answer (default: it is deleted)\n"
      "  --resume: continue the interrupted study in --out\n"
      "  --print-config: print the definition of a full study, for legacy-study, and exit\n"
      "Examples:\n"
      "  legacy-federated advise --population=phones --clients=200 --per-round=20\n"
      "  legacy-federated advise --policies=dense,qsgd --downlink=delta:topk@1% "
      "--out=studies/advice\n"
      "  legacy-federated advise --scenario=scenarios/federated/hospitals.yaml --target=auto\n"
      "{}Handbook: docs/advise.md.",
      defaults.seeds, Join(defaults.policies, ","), kExitStatuses);
}

std::string WorkersFooter(const Scenario& defaults) {
  return fmt::format(
      "All options of legacy-scenario for training, compression, network and clock are allowed,\n"
      "and --scenario, --set and --ns3 (legacy-scenario --help lists them). Those of the network "
      "are\n"
      "--topology, --bandwidth, --delay, --transport (datacenter, wan, roce), --fidelity and "
      "others.\n"
      "These differ:\n"
      "  --workers={} --seeds={} --fidelity={} --policies={} are the defaults\n"
      "  --target: target (default: nine tenths as good as dense is after the short training)\n"
      "  --out: folder in which to keep the study and the answer (default: it is deleted)\n"
      "  --resume: continue the interrupted study in --out\n"
      "  --print-config: print the definition of a full study, for legacy-study, and exit\n"
      "Examples:\n"
      "  legacy-scenario advise --workers=8 --bandwidth=1Gbps --delay=50us\n"
      "  legacy-scenario advise --workers=16 --bandwidth=25Gbps --transport=roce "
      "--times-of=resnet50\n"
      "  legacy-scenario advise --workers=16 --bandwidth=10Gbps --print-config\n"
      "{}Handbook: docs/advise.md.",
      defaults.workers, defaults.seeds, defaults.fidelity.text(), Join(defaults.policies, ","),
      kExitStatuses);
}

// AdviseOptions are the options that a scenario does not have.
struct AdviseOptions {
  std::optional<int64_t> quick;  // steps or rounds of the short training; nothing: the default
  std::optional<int> jobs;       // nothing: one per core
  bool json = false;
};

OptionTable<AdviseOptions> AdviseRows(bool federated) {
  using namespace option_forms;
  const std::string unit = federated ? "round" : "step";
  return FewOptions<AdviseOptions>({
      Integer<&AdviseOptions::quick, 1, kMostQuickSteps>(
          "quick", "--quick-" + unit + "s",
          fmt::format("number of {0}s of the short training [{1}, at most --{0}s]", unit,
                      federated ? kQuickRounds : kQuickSteps)),
      WithAlias(Integer<&AdviseOptions::jobs, 1, 1000>(
                    "jobs", "--jobs", "number of processes to run in parallel [one per core]"),
                "-j"),
      Flag<&AdviseOptions::json>("json", "--json", "print the answer as JSON"),
  });
}

// Writes the answer into the folder of the study.
void Keep(const std::filesystem::path& folder, const std::string& text, const std::string& json) {
  ReplaceFile(folder / "advice.txt", text);
  ReplaceFile(folder / "advice.json", json);
}

}  // namespace

int AdviseCommand(bool federated, int argc, char** argv, const StopFlag& stop) {
  const std::string program = ProgramOf(federated);
  const Scenario defaults = federated ? FederatedAdviseDefaults() : AdviseDefaults();
  CLI::App app(DescriptionOf(federated), program);
  app.allow_extras();
  PrepareArguments(app);
  app.footer(federated ? FederatedFooter(defaults) : WorkersFooter(defaults));
  AdviseOptions options;
  const TableOptions<AdviseOptions> rows(app, AdviseRows(federated), options);
  if (const auto exit = ParseArguments(app, argc, argv)) return *exit;
  rows.Apply(options);

  AdviseRequest request;
  request.arguments.assign(argv + 1, argv + argc);
  std::vector<std::string> rest = app.remaining();
  rest.insert(rest.begin(), program);
  std::vector<char*> words;
  for (std::string& word : rest) words.push_back(word.data());
  const CommandLine line = ParseCommandLine(static_cast<int>(words.size()), words.data(), program,
                                            "", std::nullopt, defaults);
  if (line.exit) return *line.exit;
  request.scenario = line.scenario;
  request.resume = line.resume;
  if (options.quick) request.quick_steps = *options.quick;
  if (options.jobs) request.jobs = *options.jobs;
  request = CompleteRequest(std::move(request));
  if (line.print_config) {
    fmt::print("{}", FullDefinition(request));
    return 0;
  }
  const AdviseResult result = Advise(request, stop);
  if (result.interrupted) {
    if (!request.folder.empty()) {
      fmt::print(stderr, "interrupted; the same command with --resume continues\n");
    }
    return kInterrupted;
  }
  const std::string json = analysis::AdviceJson(result.study, result.advice).dump(2) + "\n";
  std::string text = analysis::AdviceText(result.study, result.advice);
  if (!request.folder.empty()) {
    Keep(request.folder, text, json);
    text += fmt::format("Figures and tables of this one: {}\n",
                        ProgramLine("legacy-study", {"report", request.folder.string()}));
  }
  fmt::print("{}", options.json ? json : text);
  return 0;
}

}  // namespace legacy
