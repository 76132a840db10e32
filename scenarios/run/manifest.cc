#include "scenarios/run/manifest.h"

#include <chrono>
#include <ctime>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "compress/registry/load_plugins.h"
#include "ns3-module/fabric/step/synchronisation.h"
#include "scenarios/network/engines.h"
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
  return document;
}

// Reads what MethodDocument writes. Building the method checks its texts.
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
  return method;
}

}  // namespace

json ScenarioDocument(const Scenario& scenario) {
  json document;
  for (const ScenarioOption& option : ScenarioOptions()) {
    const size_t dot = option.key.find('.');
    document[option.key.substr(0, dot)][option.key.substr(dot + 1)] = option.get(scenario);
  }
  for (const std::string& name : scenario.policies) {
    document["methods"][name] = MethodDocument(FindMethod(scenario, name));
  }
  for (const auto& [name, value] : scenario.ns3) document["ns3"][name] = value;
  return document;
}

Scenario ReadScenarioDocument(const json& document, const std::string& where) {
  Scenario scenario;
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
    throw Error(where + ": no scenario: " + error.what());
  } catch (const Error& error) {
    throw Error(where + ": " + error.what());
  }
  return scenario;
}

json TrainingDocument(const Scenario& scenario) {
  const json all = ScenarioDocument(scenario);
  json document = {{"training", all["training"]},  {"compression", all["compression"]},
                   {"methods", all["methods"]},    {"seed", all["run"]["seed"]},
                   {"seeds", all["run"]["seeds"]}, {"bucket", all["clock"]["bucket"]}};
  document["training"].erase("data_root");  // the folder of the data does not change them
  document["training"].erase("target");
  // Nor did it have these.
  const json defaults = ScenarioDocument(Scenario())["training"];
  for (const char* key :
       {"accumulate", "scale_learning_rate", "loss", "local_steps", "outer", "warmup_from"}) {
    if (document["training"][key] == defaults[key]) document["training"].erase(key);
  }
  if (scenario.device == Scenario().device)
    document["training"].erase("device");  // the document of earlier versions had no device
  if (scenario.layers.empty()) {
    for (const char* of_shapes : {"layers", "gradients", "drawn_steps"}) {
      document["training"].erase(of_shapes);
    }
  }
  if (scenario.sync->MayDrop()) {
    document["participation"] = {{"sync", scenario.sync.text()},
                                 {"stragglers", scenario.stragglers},
                                 {"device_profile", scenario.device_profile}};
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

fs::path MakeRunDirectory(const Scenario& scenario, const std::string& program) {
  fs::path path = scenario.out;
  if (path.empty()) {
    const std::string name = program + Utc("-%Y%m%d-%H%M%S");
    path = fs::path("runs") / name;
    for (int copy = 2; fs::exists(path); ++copy) {  // two runs in one second
      path = fs::path("runs") / (name + "-" + std::to_string(copy));
    }
  }
  if (fs::exists(path / "manifest.json") && !scenario.overwrite) {
    throw Error("--out", path.string(), "a folder without a run in it, or --overwrite=on");
  }
  if (fs::exists(path) && !fs::is_directory(path)) {
    throw Error("--out", path.string(), "a folder, not a file");
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw Error("--out", path.string(), "a folder that can be made: " + error.message());
  return path;
}

}  // namespace legacy
