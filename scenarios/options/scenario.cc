#include "scenarios/options/scenario.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/programs/program.h"
#include "compress/exchange.h"
#include "compress/registry/registry.h"
#include "scenarios/options/built_in_methods.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/model_shape.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/model_catalog.h"

namespace legacy {

Scenario ShapeDefaults() {
  Scenario scenario;
  scenario.fidelity = "flow";
  scenario.further = "none";
  scenario.stragglers = "none";
  scenario.seeds = 1;
  scenario.batch = kUsualBatch;
  return scenario;
}

void TakeUsualBatch(Scenario& scenario) {
  if (scenario.batch == kUsualBatch) scenario.batch = LoadModelShape(scenario.layers).batch;
}

int AggregatingServers(const Scenario& scenario) {
  switch (*scenario.aggregation) {
    case Transfer::kPeers:
      return 0;
    case Transfer::kParameterServer:
      return 1;
    case Transfer::kShardedParameterServer:
      return scenario.servers;
  }
  return 0;
}

std::string ModelText(const Scenario& s) {
  if (!s.layers.empty()) return "shape " + LoadModelShape(s.layers).name;
  return s.times_of.empty() ? s.model : s.model + ", timed as " + LoadModelShape(s.times_of).name;
}

std::string BatchText(const Scenario& s) {
  std::string text = "batch " + std::to_string(s.batch) + " a worker";
  if (s.accumulate > 1) text = std::to_string(s.accumulate) + " times " + text;
  if (s.times_of.empty()) return text;
  return text + ", timed as " + std::to_string(TimedBatch(s));
}

ComputeOptions ComputeOptionsOf(const Scenario& s) {
  return {.precision = *s.precision,
          .kernels = *s.kernels,
          .recompute = *s.recompute,
          .layout = *s.layout};
}

ShardingOptions ShardingOptionsOf(const Scenario& s) {
  return {.sharding = *s.sharding,
          .rules = *s.rules,
          .units = *s.units,
          .reshard = *s.reshard,
          .prefetch = s.prefetch,
          .collectives = *s.collective_times,
          .layout = *s.parallel,
          .order = *s.pipeline,
          .load = *s.experts};
}

int DataWorkers(const Scenario& s) { return DataRanks(*s.parallel, s.workers); }

int TimedBatch(const Scenario& s) {
  return s.times_of.empty() ? s.batch : LoadModelShape(s.times_of).batch;
}

std::string TimesOfText(const Scenario& s) {
  const ModelShape shape = LoadModelShape(s.times_of);
  return "what is learnt in a step is that of " + s.model + " with " + std::to_string(s.workers) +
         " workers of batch " + std::to_string(s.batch) +
         "; its bytes and seconds are those of shape " + shape.name + " with batch " +
         std::to_string(shape.batch) + ". That " + shape.name +
         " needs the same steps by each method is an assumption";
}

Scenario FederatedDefaults() {
  Scenario scenario;
  scenario.federated = FederatedSection();
  scenario.test_limit = 1000;
  scenario.learning_rate = 0.1;
  scenario.schedule = "constant";
  scenario.warmup_steps = 0;
  scenario.evaluate_every = 5;
  scenario.target = "75%";
  scenario.policies = {"dense", "fp16", "topk", "legacy-both"};
  scenario.topology = "star";
  scenario.fidelity = "flow";
  scenario.transport = "wan";
  scenario.connections = "tls";
  scenario.device_profile = "phone-assumed";
  return scenario;
}

Scenario TaskDefaults(const Scenario& defaults, TaskKind task) {
  Scenario scenario = defaults;
  if (task == TaskKind::kClassification) return scenario;
  scenario.test_limit = 0;
  scenario.target = Scenario().target;
  scenario.optimizer = "adam";
  scenario.learning_rate = 0.003;
  scenario.momentum = 0;
  scenario.steps = 300;
  scenario.evaluate_every = 50;
  switch (task) {
    case TaskKind::kClassification:
      break;
    case TaskKind::kLanguageModelling:
      scenario.model = "lstm:hidden=200,dropout=0.2";
      break;
    case TaskKind::kCharacterModelling:
      scenario.model = "gpt-tiny:layers=2,width=64";
      break;
    case TaskKind::kRecommendation:
      scenario.model = "ncf:factors=16";
      scenario.batch = 256;
      break;
  }
  return scenario;
}

Scenario OverDefaults(const Scenario& defaults, const std::function<void(Scenario&)>& lay_over) {
  Scenario scenario = defaults;
  lay_over(scenario);
  if (!scenario.layers.empty()) {
    scenario = ShapeDefaults();
  } else if (scenario.dataset == "list") {  // nothing runs
    return scenario;
  } else {
    const TaskKind task = FindInCatalog(scenario.dataset, "training.dataset").task;
    if (task == TaskKind::kClassification) return scenario;
    scenario = TaskDefaults(defaults, task);
  }
  lay_over(scenario);
  if (scenario.layers != "list") TakeUsualBatch(scenario);
  return scenario;
}

std::string PrintScenario(const Scenario& scenario) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  std::string section;
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    if (option.Section() != section) {
      if (!section.empty()) out << YAML::EndMap;
      section = option.Section();
      out << YAML::Key << section << YAML::Value << YAML::BeginMap;
    }
    out << YAML::Key << option.NameInSection() << YAML::Value << option.get(scenario);
  }
  out << YAML::EndMap;
  if (!scenario.methods.empty()) {
    out << YAML::Key << "methods" << YAML::Value << YAML::BeginMap;
    for (const auto& [name, method] : scenario.methods) {
      out << YAML::Key << name << YAML::Value << YAML::BeginMap;
      out << YAML::Key << "scheme" << YAML::Value << method.scheme;
      out << YAML::Key << "scope" << YAML::Value << method.scope.text();
      out << YAML::Key << "policy" << YAML::Value << method.policy;
      out << YAML::Key << "parameter" << YAML::Value << FormatNumber(method.parameter);
      if (!method.bytes_of.empty()) {
        out << YAML::Key << "bytes_of" << YAML::Value << method.bytes_of;
      }
      out << YAML::Key << "levels" << YAML::Value << method.legacy_schedule;
      out << YAML::Key << "local_steps" << YAML::Value << method.local_steps;
      if (method.outer->has_value()) {
        out << YAML::Key << "outer" << YAML::Value << method.outer.text();
      }
      if (!method.weights.empty()) {
        out << YAML::Key << "weights" << YAML::Value << method.weights;
      }
      if (!method.algorithm.empty()) {
        out << YAML::Key << "algorithm" << YAML::Value << method.algorithm;
      }
      if (!method.downlink.empty()) {
        out << YAML::Key << "downlink" << YAML::Value << method.downlink;
      }
      out << YAML::Key << "reversed" << YAML::Value << (method.reversed ? "on" : "off");
      out << YAML::EndMap;
    }
    out << YAML::EndMap;
  }
  if (!scenario.ns3.empty()) {
    out << YAML::Key << "ns3" << YAML::Value << YAML::BeginMap;
    for (const auto& [name, value] : scenario.ns3) {
      out << YAML::Key << name << YAML::Value << value;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::optional<double> BitsOfValue(const std::string& text, const std::string& key) {
  if (text.empty() || !std::isdigit(static_cast<unsigned char>(text[0])) ||
      !text.ends_with("bit")) {
    return std::nullopt;
  }
  return ParseNumber(text.substr(0, text.size() - 3), key, 0, 32);
}

std::string Method::BytesText() const {
  const std::optional<double> bits = BitsOfValue(bytes_of);
  if (!bits) return "as many bytes as " + bytes_of;
  return FormatNumber(*bits) + (*bits == 1 ? " bit" : " bits") + " a value";
}

namespace {

// Returns the method that a text such as "topk+rbf@5%" or "topk@1bit" gives, which is a scheme for
// every layer with its parameter, or the bits that it sends for each value; nothing if the name is
// not a scheme. Throws Error if a scheme of that name does not support the options.
std::optional<Method> MethodOfScheme(const std::string& name) {
  const size_t at = name.find('@');
  Method method;
  method.name = name;
  method.scheme = name.substr(0, at);
  ParameterKind parameter = ParameterKind::kNone;
  try {
    parameter = MakeScheme(method.scheme)->Parameter().Kind();
  } catch (const Error& error) {
    const std::vector<std::string> schemes = SchemeNames();
    const std::string first = method.scheme.substr(0, method.scheme.find_first_of(":+"));
    if (std::ranges::find(schemes, first) == schemes.end()) return std::nullopt;
    throw error.Within("compression.policies: " + name + ": ");
  }
  if (at == std::string::npos) return method;
  const std::string text = name.substr(at + 1);
  if (BitsOfValue(text, "compression.policies: " + name)) {
    if (parameter == ParameterKind::kNone) {
      throw Error("compression.policies", name,
                  method.scheme + ", which has no parameter to solve");
    }
    method.bytes_of = text;
    return method;
  }
  if (parameter == ParameterKind::kDensity) RefuseBareOne(text, "compression.policies: " + name);
  method.parameter = text.find('%') != std::string::npos
                         ? ParseFraction(text, "compression.policies")
                         : ParseNumber(text, "compression.policies", 0, 1e9);
  return method;
}

Method MethodOf(const Scenario& scenario, const std::string& name) {
  const auto own = scenario.methods.find(name);
  if (own != scenario.methods.end()) return own->second;
  if (const auto method = BuiltInMethod(name)) return *method;
  if (const auto method = MethodOfScheme(name)) return *method;
  std::vector<std::string> names;
  for (const Method& method : AllMethods()) names.push_back(method.name);
  for (const auto& entry : scenario.methods) names.push_back(entry.first);
  if (const size_t colon = name.find(':'); colon != std::string::npos) {
    const std::string first = name.substr(0, colon);
    if (std::ranges::find(names, first) != names.end()) {
      throw Error("compression.policies", name,
                  first +
                      " as it is; options of policies stand in a scenario file, under "
                      "\"methods\" (docs/policies.md, \"Your own methods\")");
    }
  }
  throw NotAmong("compression.policies", name, names,
                 CommandOf("legacy-scenario") + " --policies=list",
                 "a scheme with its parameter, as in topk+fp16@5%");
}

}  // namespace

Method FindMethod(const Scenario& scenario, const std::string& name) {
  Method method = InNodes(MethodOf(scenario, name), scenario);
  if (method.outer->has_value() && *scenario.outer) method.outer = scenario.outer;
  if (method.Local() && scenario.local_steps > 0) method.local_steps = scenario.local_steps;
  return method;
}

// Methods that need sharding are no part of it, as they need an option of the scenario.
std::vector<std::string> BuiltInMethods() {
  std::vector<std::string> names;
  for (const Method& method : AllMethods()) {
    if (!NeedsSharding(method)) names.push_back(method.name);
  }
  return names;
}

}  // namespace legacy
