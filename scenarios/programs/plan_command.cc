#include "scenarios/programs/plan_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "base/files/whole_file.h"
#include "base/option_forms.h"
#include "base/programs/arguments.h"
#include "base/programs/progress_line.h"
#include "scenarios/programs/command_line.h"
#include "scenarios/programs/table_options.h"
#include "scenarios/run/layout_plan.h"

namespace legacy {
namespace {

constexpr const char* kProgram = "legacy-scenario plan";
constexpr int64_t kMostRows = 1'000'000;

// PlanOptions are the options that a scenario does not have.
struct PlanOptions {
  int64_t rows = 10;
  int64_t most = 200;
  std::string csv;
};

OptionTable<PlanOptions> PlanRows() {
  using namespace option_forms;
  return FewOptions<PlanOptions>({
      Integer<&PlanOptions::rows, 1, kMostRows>("rows", "--rows", "layouts to show"),
      Integer<&PlanOptions::most, 1, kMostRows>("most", "--most", "layouts to time, at most"),
      Text<&PlanOptions::csv>("csv", "--csv", "FILE", "also write all that were timed as CSV"),
  });
}

// What is usual where large models are trained; options of the line come later, and override it.
// The node is one of eight H100 with 400 Gbit/s each.
constexpr const char* kUsualHere[] = {"training.precision=bf16",   "training.optimizer=adam",
                                      "training.steps=1",          "compression.policies=dense",
                                      "network.fidelity=analytic", "clock.device_profile=h100-sxm"};
constexpr int kGpus = 8;

// Returns nodes for the workers of a scenario that chooses no network.
void ChooseNetwork(Scenario& scenario) {
  if (scenario.topology != Scenario().topology || scenario.workers % kGpus != 0) return;
  scenario.topology = fmt::format("nodes:nodes={},gpus={},node.rate=2966.4Gbps,network.rate={}Gbps",
                                  scenario.workers / kGpus, kGpus, 400 * kGpus);
  fmt::print(stderr, "network: {}\n", scenario.topology);
}

}  // namespace

int PlanCommand(int argc, char** argv, const StopFlag& stop) {
  CLI::App app(
      "Plans how workers divide a large model: it tries tensor and pipeline parallelism, sharding, "
      "microbatches and recomputation for one global batch, drops what does not fit the device's "
      "memory, times a step of what does, and ranks them. Nothing is trained.",
      kProgram);
  app.allow_extras();
  PrepareArguments(app);
  app.footer(
      std::string("All options of legacy-scenario are allowed. The global batch is --batch times "
                  "--accumulate times\n--workers. --parallel, --sharding and --recompute hold "
                  "where they are given. Without --scenario the\ndefaults are bf16, adam, dense, "
                  "h100-sxm, analytic fidelity, and nodes of 8 GPUs.\n"
                  "Examples:\n"
                  "  legacy-scenario plan --layers=llama3-70b --workers=512\n"
                  "  legacy-scenario plan --layers=gpt3-175b --workers=1536 --parallel=tp=8,pp=8 "
                  "--device-profile=a100-sxm-80\n") +
      kExitStatuses + "Handbook: docs/parallel.md.");
  PlanOptions options;
  const TableOptions<PlanOptions> rows(app, PlanRows(), options);
  if (const auto exit = ParseArguments(app, argc, argv)) return *exit;
  rows.Apply(options);

  std::vector<std::string> words = app.remaining();
  const bool has_file = std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--scenario"); });
  if (!has_file) {
    for (const char* setting : kUsualHere) {
      words.insert(words.begin(), {std::string("--set"), std::string(setting)});
    }
  }
  words.insert(words.begin(), kProgram);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  CommandLine line =
      ParseCommandLine(static_cast<int>(arguments.size()), arguments.data(), kProgram, "");
  if (line.exit) return *line.exit;
  ChooseNetwork(line.scenario);
  const StopScope scope(kSecondsToStop);
  std::optional<ProgressLine> progress;
  const LayoutPlan plan =
      PlanLayouts(line.scenario, options.most, stop, [&](int64_t done, int64_t all) {
        if (!progress) progress.emplace(all, "layouts", isatty(fileno(stderr)) != 0);
        progress->Advance(fmt::format("layout {} of {}", done, all));
      });
  if (progress) progress->Clear();
  fmt::print("{}", LayoutPlanText(plan, options.rows));
  if (!options.csv.empty()) ReplaceFile(options.csv, LayoutPlanCsv(plan));
  return plan.interrupted ? kInterrupted : 0;
}

}  // namespace legacy
