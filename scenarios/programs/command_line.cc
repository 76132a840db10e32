#include "scenarios/programs/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <vector>

#include "base/error.h"
#include "base/parse.h"
#include "base/programs/arguments.h"
#include "scenarios/options/built_in_methods.h"
#include "scenarios/options/model_shape.h"
#include "scenarios/options/presets.h"
#include "scenarios/programs/table_options.h"
#include "scenarios/run/manifest.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/model_catalog.h"

namespace legacy {
namespace {

std::string Footer(const std::string& program) {
  if (program == "legacy-federated replay") {
    return std::string(
               "Examples:\n"
               "  legacy-federated replay runs/first --population=broadband:up=5Mbps\n"
               "  legacy-federated replay runs/first --fidelity=packet "
               "--device-profile=cpu-local\n") +
           kExitStatuses + "Handbook: docs/federated.md.";
  }
  if (program == "legacy-federated partition") {
    return std::string(
               "Example:\n"
               "  legacy-federated partition --partition=dirichlet:alpha=0.1 --clients=50 "
               "--out=runs/parts\n") +
           kExitStatuses + "Handbook: docs/federated.md.";
  }
  if (program == "legacy-federated") {
    return std::string(
               "Examples:\n"
               "  legacy-federated --clients=100 --per-round=10 --policies=dense,topk,legacy-both\n"
               "  legacy-federated --algorithms=fedavg,fedprox:mu=0.01,scaffold "
               "--partition=dirichlet:alpha=0.1\n"
               "  legacy-federated --server=async:concurrency=50 --algorithms=fedbuff:k=10\n"
               "  legacy-federated plan --elements=44426 --client-seconds=6 --clients=1000\n"
               "  legacy-federated advise --population=phones\n") +
           kExitStatuses + "Handbook: docs/federated.md.";
  }
  const bool replays = program == "legacy-replay";
  const std::string examples =
      replays ? "  legacy-replay runs/first --topo=leaf-spine:oversubscription=4 --fidelity=flow\n"
                "  legacy-replay scenarios/traces/resnet50-like.trace --bandwidth=25Gbps "
                "--fidelity=flow\n"
                "  legacy-replay run.trace --policies=dense,topk@1%,legacy-both "
                "--networks=auto\n"
                "  legacy-replay runs/federated --population=broadband:up=5Mbps\n"
              : "  legacy-scenario --topo=leaf-spine:leaves=4,hosts=4,spines=2 --bandwidth=10Gbps\n"
                "  legacy-scenario --policies=dense,topk,legacy-both --record --out=runs/first\n"
                "  legacy-scenario --layers=resnet50 --workers=16 --policies=dense,topk,powersgd\n"
                "  legacy-scenario advise --workers=8 --bandwidth=1Gbps --delay=50us\n";
  return "Examples:\n" + examples +
         "With --transport=ns3:datacenter, options such as --ns3::TcpSocket::SegmentSize=1000 set "
         "attributes of ns-3.\n" +
         kExitStatuses + "Handbook: docs/" + (replays ? "replay" : "index") + ".md.";
}

// Returns the list that an option requests, as in --dataset=list; "" if none does.
std::string ListAskedFor(const Scenario& scenario) {
  if (scenario.layers == "list" || scenario.times_of == "list") return ModelShapeTable();
  if (scenario.model == "list") return ModelList();
  if (scenario.dataset == "list") return DatasetList();
  if (scenario.policies == std::vector<std::string>{"list"}) return MethodList();
  return "";
}

// ScenarioSources has what a command line contains besides the options of the table.
struct ScenarioSources {
  std::vector<std::string> files;
  std::string preset;
  std::vector<std::string> sets;
  std::string resumed;  // the folder of --resume; may be empty
  std::map<std::string, std::string> ns3;
};

// Adds the options that are not in the table. Returns --resume; null for replays, which do not have
// it.
const CLI::Option* AddOptions(CLI::App& app, bool replays, ScenarioSources& sources,
                              CommandLine& line) {
  if (replays) {
    app.add_option("RUN", line.run,
                   "run directory or trace to replay; options that are not given keep its values")
        ->required();
  }
  app.add_option("--scenario", sources.files,
                 "YAML file of options; repeatable; later files override earlier ones, and other "
                 "options override files")
      ->type_name("FILE")
      ->allow_extra_args(false);
  const CLI::Option* resume = nullptr;
  if (!replays) {
    app.add_option("--preset", sources.preset,
                   "use a paper's compression settings: " + Join(PresetNames(), ", ") +
                       "; overrides files, and other options override it")
        ->type_name("NAME");
    resume = app.add_option("--resume", sources.resumed,
                            "continue the run in DIR from its last checkpoint, with its options; "
                            "without DIR, with the run in --out and the options given")
                 ->type_name("[DIR]")
                 ->expected(0, 1);
  }
  app.add_option("--set", sources.sets,
                 "set one key of the scenario, as in --set network.delay=50us; repeatable")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--print-config", line.print_config,
               "print the effective scenario as YAML and exit");
  return resume;
}

// Applies what the command line gives to a scenario.
void LayOver(Scenario& scenario, const ScenarioSources& sources,
             const TableOptions<Scenario>& options) {
  for (const std::string& file : sources.files) LoadScenario(file, scenario);
  if (!sources.preset.empty()) ApplyPreset(sources.preset, scenario);
  for (const std::string& text : sources.sets) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) throw Error("--set", text, "KEY=VALUE");
    SetOption(scenario, text.substr(0, equals), text.substr(equals + 1));
  }
  options.Apply(scenario);
  for (const auto& [name, value] : sources.ns3) scenario.ns3[name] = value;
}

}  // namespace

CommandLine ParseCommandLine(int argc, char** argv, const std::string& program,
                             const std::string& description, const std::optional<OnRun>& on_run,
                             const Scenario& defaults) {
  CommandLine line;
  for (int i = 0; i < argc; ++i) line.text += (i ? " " : "") + std::string(argv[i]);
  ScenarioSources sources;
  std::vector<std::string> arguments = TakeNs3Attributes(argc, argv, sources.ns3);
  CLI::App app(description, program);
  PrepareArguments(app);
  AddPluginOption(app);
  app.footer(Footer(program));
  const CLI::Option* const resume = AddOptions(app, on_run.has_value(), sources, line);
  const bool federated =
      defaults.federated || program.starts_with("legacy-federated") || (on_run && on_run->clients);
  const TableOptions<Scenario> options(
      app, federated ? FederatedScenarioOptions() : ScenarioOptions(),
      on_run ? std::nullopt : std::optional<Scenario>(defaults), on_run ? on_run->lists : nullptr);
  line.exit = ParseArguments(app, std::move(arguments));
  if (line.exit) return line;

  const auto over = [&](Scenario& scenario) { LayOver(scenario, sources, options); };
  if (on_run) {
    line.scenario = on_run->defaults(line.run);
    over(line.scenario);
  } else if (resume->count() > 0 && !sources.resumed.empty()) {
    line.resume = true;
    line.scenario = ResumeDefaults(sources.resumed, program);
    over(line.scenario);
    if (line.scenario.out != sources.resumed)
      throw Error("--out", line.scenario.out, sources.resumed);
  } else {
    line.resume = resume->count() > 0;
    line.scenario =
        OverDefaults(sources.files.empty() || defaults.federated ? defaults : Scenario(), over);
    if (line.resume && line.scenario.out.empty()) {
      throw Error("--resume", "", "a folder, here or in --out");
    }
  }
  if (const std::string list = ListAskedFor(line.scenario); !list.empty()) {
    std::fputs(list.c_str(), stdout);
    line.exit = 0;
  }
  return line;
}

}  // namespace legacy
