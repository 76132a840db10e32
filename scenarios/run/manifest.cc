#include "scenarios/run/manifest.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/files/json.h"
#include "base/files/plain_file.h"
#include "base/files/whole_file.h"
#include "base/programs/program.h"
#include "compress/registry/load_plugins.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/checkpoint/checkpoints.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/options/methods.h"

namespace legacy {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

std::string Utc(const char* format) {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[64];
  std::strftime(text, sizeof(text), format, &parts);
  return text;
}

json MethodDocument(const Method& method) {
  json document = {{"scheme", method.scheme},          {"scope", method.scope.text()},
                   {"policy", method.policy},          {"parameter", method.parameter},
                   {"levels", method.legacy_schedule}, {"reversed", method.reversed},
                   {"local_steps", method.local_steps}};
  if (method.outer->has_value()) document["outer"] = method.outer.text();
  if (!method.bytes_of.empty()) document["bytes_of"] = method.bytes_of;
  if (!method.weights.empty()) document["weights"] = method.weights;
  if (!method.algorithm.empty()) document["algorithm"] = method.algorithm;
  if (!method.downlink.empty()) document["downlink"] = method.downlink;
  return document;
}

// Reads what MethodDocument writes. The texts are checked when the method is built.
Method ReadMethodDocument(const std::string& name, const json& document) {
  Method method;
  method.name = name;
  method.scheme = document.at("scheme").get<std::string>();
  method.scope = {document.at("scope").get<std::string>(), "scope"};
  method.policy = document.at("policy").get<std::string>();
  method.parameter = document.at("parameter").get<double>();
  method.legacy_schedule = document.at("levels").get<std::string>();
  method.reversed = document.at("reversed").get<bool>();
  method.local_steps = document.at("local_steps").get<int64_t>();
  if (document.contains("outer")) {
    method.outer = {document.at("outer").get<std::string>(), "outer"};
  }
  method.bytes_of = document.value("bytes_of", "");
  method.weights = document.value("weights", "");
  method.algorithm = document.value("algorithm", "");
  method.downlink = document.value("downlink", "");
  return method;
}

}  // namespace

json ScenarioDocument(const Scenario& scenario) {
  json document;
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    document[option.Section()][option.NameInSection()] = option.get(scenario);
  }
  for (const std::string& name : scenario.policies) {
    document["methods"][name] = MethodDocument(FindMethod(scenario, name));
  }
  for (const auto& [name, value] : scenario.ns3) document["ns3"][name] = value;
  return document;
}

namespace {

// Returns the processor setting of a document that may lack it: earlier versions trained with what
// each library found.
const char* ProcessorOf(const json& document) {
  const json training = document.value("training", json::object());
  const bool earlier = training.is_object() && !training.empty() &&
                       !training.contains("processor") && training.value("layers", "").empty();
  return ProcessorText(earlier ? Processor::kNative : Processor::kPortable);
}

}  // namespace

Scenario ReadScenarioDocument(const json& document, const std::string& where) {
  Scenario scenario;
  if (document.contains("federated")) scenario = FederatedDefaults();
  scenario.processor = ProcessorOf(document);
  try {
    for (const auto& [section, entries] : document.items()) {
      for (const auto& [key, value] : entries.items()) {
        if (section == "methods") {
          scenario.methods[key] = ReadMethodDocument(key, value);
        } else if (section == "ns3") {
          scenario.ns3[key] = value.get<std::string>();
        } else {
          SetOption(scenario, section + "." + key, value.get<std::string>());
        }
      }
    }
  } catch (const json::exception& error) {
    throw Error::Refusal(where + ": no scenario: " + error.what());
  } catch (const Error& error) {
    throw error.Within(where + ": ");
  }
  return scenario;
}

namespace {

// Returns true if a method's results depend on how many servers share the compression.
bool SlicesCompress(const Scenario& scenario) {
  return AggregatingServers(scenario) > 1 &&
         std::ranges::any_of(scenario.policies, [&](const std::string& name) {
           const std::string scheme = SchemeText(FindMethod(scenario, name), scenario);
           return MakeScheme(scheme)->Traits().servers > 1;
         });
}

}  // namespace

json TrainingDocument(const Scenario& scenario) {
  const json all = ScenarioDocument(scenario);
  json document = {{"training", all["training"]},  {"compression", all["compression"]},
                   {"methods", all["methods"]},    {"seed", all["run"]["seed"]},
                   {"seeds", all["run"]["seeds"]}, {"bucket", all["clock"]["bucket"]}};
  document["training"].erase("data_root");  // the folder of the data does not change the training
  document["training"].erase("target");
  // Documents of earlier versions had no processor; those versions used the native one.
  if (*scenario.processor == Processor::kNative) document["training"].erase("processor");
  if (scenario.federated) {
    for (const FederatedOption& option : FederatedOptionRows()) {
      if (!option.Has(kReadByRuns) || option.Has(kMayReplay)) continue;
      document["federated"][option.Name()] = option.get(*scenario.federated);
    }
    // It does not matter for the training which collective makes the exchange.
    if (!scenario.federated->HasServer()) {
      document["federated"]["exchange"] = "collective";
    }
    return document;
  }
  const Scenario defaults;
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    if (option.Has(kOmittedAtDefault) && option.get(scenario) == option.get(defaults)) {
      document[option.Section()].erase(option.NameInSection());
    }
  }
  if (scenario.layers.empty() && scenario.times_of.empty()) {  // nothing is drawn
    document["training"].erase("gradients");
    document["training"].erase("drawn_steps");
  }
  if (scenario.sync->MayDrop()) {
    document["participation"] = {{"sync", scenario.sync.text()},
                                 {"stragglers", scenario.stragglers},
                                 {"device_profile", scenario.device_profile}};
  }
  if (SlicesCompress(scenario)) document["network"]["servers"] = scenario.servers;
  if (std::ranges::any_of(scenario.policies, [&](const std::string& name) {
        return SendsToOwners(FindMethod(scenario, name), scenario);
      })) {
    const Cut cut = CutOf(scenario);
    document["slices"] = {{"owners", cut.owners}, {"rows", cut.by_rows}};
  }
  return document;
}

std::vector<std::string> ReplayRefusals(const Scenario& scenario) {
  std::vector<std::string> reasons;
  if (scenario.sync->MayDrop()) {
    reasons.push_back("network.sync " + scenario.sync.text() +
                      ": which gradients count depends on devices and stragglers");
  }
  for (const std::string& name : scenario.policies) {
    const std::string reason = NetworkDependence(FindMethod(scenario, name), scenario);
    if (!reason.empty()) reasons.push_back(name + ": " + reason);
  }
  return reasons;
}

json ManifestDocument(const Scenario& scenario, const std::string& program,
                      const std::string& command_line, std::span<const Metric> metrics,
                      int64_t parameters, const std::vector<std::string>& replay_refused) {
  json document;
  document["program"] = program;
  document["finished_file"] = kFinishedFile;
  document["version"] = LEGACY_VERSION;
  document["created"] = Utc("%Y-%m-%dT%H:%M:%SZ");
  document["command_line"] = command_line;
  document["configuration"] = ScenarioDocument(scenario);
  for (int s = 0; s < scenario.seeds; ++s) document["seeds"].push_back(scenario.seed + s);
  document["policies"] = scenario.policies;
  document["workers"] = scenario.workers;
  document["parameters"] = parameters;
  analysis::SetMetrics(document, metrics, TargetAmong(scenario, metrics));
  document["fidelity"] = scenario.fidelity.text();
  document["replay_refused"] = replay_refused;
  if (!LoadedPlugins().empty()) document["plugins"] = LoadedPlugins();
  document["versions"] = {{"libtorch", LEGACY_LIBTORCH_VERSION},
                          {"ns3", Ns3Version()},
                          {"compiler", __VERSION__},
                          {"build", LEGACY_BUILD_TYPE}};
  return document;
}

bool IsFederated(const json& manifest) {
  const auto configuration = manifest.find("configuration");
  return configuration != manifest.end() && configuration->contains("federated");
}

namespace {

// Throws Error that names `option` if no run is there.
json ReadManifest(const fs::path& directory, const std::string& option) {
  const fs::path path = directory / "manifest.json";
  if (!fs::exists(path)) {
    throw Error(option, directory.string(),
                "a directory with a manifest.json" + NoteOfMissing(directory));
  }
  json manifest =
      analysis::ParseManifest(ParseJson(ReadWholeFile(path), path.string()), path.string())
          .document;
  const auto configuration = manifest.find("configuration");
  if (configuration == manifest.end() || !configuration->is_object()) {
    throw Error::Refusal(path.string() + ": without 'configuration'");
  }
  return manifest;
}

std::string ResumeCommand(const std::string& program, const std::string& directory) {
  if (program == kPythonProgram) return "legacy.resume('" + directory + "')";
  return CommandOf(program) + " --resume=" + directory;
}

// Returns what to do with a run of another program.
std::string WhoGoesOn(const std::string& program, const std::string& directory) {
  if (program == kWorkersProgram || program == kClientsProgram || program == kPythonProgram) {
    return ResumeCommand(program, directory) + " continues this run";
  }
  if (program == "legacy-study") {
    return CommandOf("legacy-study") + " resume continues the trainings of a study";
  }
  return "nothing continues a run of " + program + ": begin it again";
}

Scenario AskedFor(const json& manifest, const std::string& where) {
  Scenario scenario = ReadScenarioDocument(manifest.at("configuration"), where);
  if (manifest.contains("auto_fidelity")) SetOption(scenario, "network.fidelity", "auto");
  return scenario;
}

}  // namespace

json ReadResumed(const fs::path& directory, const std::string& program) {
  json manifest = ReadManifest(directory, "--resume");
  const std::string where = (directory / "manifest.json").string();
  const std::string begun = manifest.at("program").get<std::string>();
  if (begun != program) {
    throw Error(where + ": program", begun,
                program + " (" + WhoGoesOn(begun, directory.string()) + ")");
  }
  const bool clients = program == kClientsProgram;
  if (program != "legacy-study" && IsFederated(manifest) != clients) {
    throw Error::Refusal(where + ": configuration: " + (clients ? "without" : "with") +
                         " 'federated', so that it is no run of " + program);
  }
  if (manifest.value("finished_file", json()) != kFinishedFile) {
    throw Error("--resume", directory.string(),
                "a run of this version; resume this one with the version that began it, or begin "
                "it again");
  }
  return manifest;
}

Scenario ScenarioOfRun(const std::string& directory) {
  return AskedFor(ReadManifest(directory, "run directory"),
                  directory + "/manifest.json: configuration");
}

std::string InterruptionNote(const std::string& program, const fs::path& directory,
                             bool has_checkpoint) {
  const std::string command = ResumeCommand(program, directory.string());
  return has_checkpoint ? "interrupted; " + command + " continues"
                        : "interrupted before the first checkpoint; " + command + " starts again";
}

Scenario ResumeDefaults(const std::string& directory, const std::string& program) {
  Scenario scenario =
      AskedFor(ReadResumed(directory, program), directory + "/manifest.json: configuration");
  scenario.out = directory;
  return scenario;
}

std::string SharedText(const Scenario& scenario) {
  std::string text = "version: " LEGACY_VERSION "\n";
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    if (!option.Has(kMayResume)) text += option.key + ": " + option.get(scenario) + "\n";
  }
  const json document = ScenarioDocument(scenario);
  for (const char* section : {"methods", "ns3"}) {
    text += section + (": " + document.value(section, json::object()).dump()) + "\n";
  }
  return text;
}

void CheckResume(const Scenario& scenario, const json& manifest) {
  const Scenario begun = AskedFor(manifest, "manifest.json: configuration");
  const std::string why = ", as the run began; --resume continues with the same scenario";
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    const std::string before = option.get(begun), now = option.get(scenario);
    if (option.Has(kMayResume) || before == now) continue;
    if (option.key == "run.jobs" && begun.jobs > 1 && scenario.jobs > 1) continue;
    if (option.key == "training.steps") {
      if (scenario.steps > begun.steps) continue;
      throw Error("training.steps (--steps)", now, before + " or more" + why);
    }
    throw Error(option.key + " (" + option.flag + ")", now, before + why);
  }
  const json before = ScenarioDocument(begun), now = ScenarioDocument(scenario);
  for (const char* section : {"methods", "ns3"}) {
    const json of_before = before.value(section, json::object());
    const json of_now = now.value(section, json::object());
    if (of_before == of_now) continue;
    for (const auto& [name, value] : of_now.items()) {
      if (of_before.contains(name) && of_before[name] == value) continue;
      throw Error(std::string(section) + "." + name, value.dump(),
                  (of_before.contains(name) ? of_before[name].dump() : "nothing") + why);
    }
    throw Error(std::string(section), of_now.dump(), of_before.dump() + why);
  }
}

void CheckVersions(const Scenario& scenario, const json& now, const json& begun) {
  const auto flat = [&](const json& manifest) {
    json all = manifest.value("versions", json::object());
    all["version"] = manifest.value("version", json());
    if (*scenario.processor == Processor::kPortable) all.erase("processor");
    return all;
  };
  const json of_now = flat(now), of_begun = flat(begun);
  for (const json& either : {of_begun, of_now}) {
    for (const auto& [key, value] : either.items()) {
      const json here = of_now.value(key, json()), there = of_begun.value(key, json());
      if (here == there) continue;
      throw Error("--resume: " + key + " of this program", Shown(here),
                  Shown(there) +
                      ", with which the run began: steps of both would not have the "
                      "bits of either");
    }
  }
}

void CheckHoldsNo(Held held, const fs::path& folder, const std::string& option) {
  const bool run = held == Held::kRun;
  if (!fs::exists(folder / (run ? "manifest.json" : "study.yaml"))) return;
  throw Error(option, folder.string(),
              std::string("a folder without a ") + (run ? "run" : "study") + " in it");
}

void CheckOut(const Scenario& scenario) {
  const fs::path path = scenario.out;
  if (path.empty()) return;
  CheckHoldsNo(Held::kStudy, path, "--out");
  if (fs::exists(path / "manifest.json") && !scenario.overwrite) {
    const bool resumable = fs::exists(path / kCheckpointFolder);
    throw Error("--out", path.string(),
                resumable ? "a folder without a run in it, --overwrite=on, or --resume=" +
                                path.string() + " to continue that run"
                          : "a folder without a run in it, or --overwrite=on");
  }
  if (fs::exists(path) && !fs::is_directory(path)) {
    throw Error("--out", path.string(), "a folder, not a file");
  }
}

fs::path MakeRunDirectory(const Scenario& scenario, const std::string& program) {
  fs::path path = scenario.out;
  if (path.empty()) {
    const std::string name = program + Utc("-%Y%m%d-%H%M%S");
    path = fs::path("runs") / name;
    for (int copy = 2; fs::exists(path); ++copy) {  // two runs may start in the same second
      path = fs::path("runs") / (name + "-" + std::to_string(copy));
    }
  }
  CheckOut(scenario);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error("--out", path.string(), "a folder that can be made: " + error.message());
  fs::remove(path / kFinishedFile, error);
  if (error) throw Error("--out", path.string(), "a folder to write to: " + error.message());
  return path;
}

}  // namespace legacy
