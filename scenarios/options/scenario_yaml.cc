#include "scenarios/options/scenario_yaml.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/parse.h"
#include "compress/exchange.h"
#include "compress/options.h"
#include "scenarios/options/federated_values.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/presets.h"
#include "trainer/weight_codec.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

void SetMethodField(Method& method, const std::string& field, const std::string& text,
                    const std::string& key) {
  if (field == "scheme") {
    try {
      MakeScheme(text);
    } catch (const Error& error) {
      throw error.Within(key + ": ");
    }
    method.scheme = text;
  } else if (field == "scope") {
    method.scope = {text, key};
  } else if (field == "policy") {
    ParseChoice(ParseStages(text).front().name, key, MethodPolicyNames());
    method.policy = text;
  } else if (field == "parameter") {
    method.parameter = text.find('%') != std::string::npos ? ParseFraction(text, key)
                                                           : ParseNumber(text, key, 0, 1e9);
  } else if (field == "bytes_of") {
    method.bytes_of = text;
    BitsOfValue(text, key);
  } else if (field == "levels") {
    method.legacy_schedule = text;
  } else if (field == "local_steps") {
    method.local_steps = static_cast<int64_t>(ParseNumber(text, key, 1, 1e9));
  } else if (field == "outer") {
    method.outer = {text, key};
  } else if (field == "weights") {
    WeightCodec(text, {.owners = 1}, 0, key);
    method.weights = text;
  } else if (field == "reversed") {
    method.reversed = ParseSwitch(text, key);
  } else if (field == "algorithm") {
    CheckAlgorithm(text, key);
    method.algorithm = text;
  } else if (field == "downlink") {
    CheckDownlink(text, key);
    method.downlink = text;
  } else {
    throw Error::Refusal("unknown key '" + key +
                         "'; allowed: scheme, scope, policy, parameter, bytes_of, "
                         "levels, local_steps, outer, weights, reversed; in federated runs also "
                         "algorithm, downlink");
  }
}

// A Setting is an entry of a map of settings, as text.
struct Setting {
  std::string text;  // key=value
  YAML::Mark mark;
};

// Returns NAME:key=value,..., with the given separator, for a map {NAME: {key: value}}.
std::string NamedSettings(const std::string& name, const std::vector<Setting>& settings,
                          const std::string& separator) {
  std::vector<std::string> texts;
  for (const Setting& setting : settings) texts.push_back(setting.text);
  return texts.empty() ? name : name + ":" + Join(texts, separator);
}

// Returns the only entry of a map that must have one name.
std::pair<YAML::Node, YAML::Node> OneName(const YAML::Node& map, const std::string& key,
                                          const std::string& where) {
  if (map.size() != 1) {
    throw Error(MarkText(where, map.Mark()) + key, std::to_string(map.size()) + " names",
                "one with its options, as in {roce: {pfc: on}}");
  }
  return {map.begin()->first, map.begin()->second};
}

std::vector<Setting> ReadSettings(const YAML::Node& map, const std::string& key,
                                  const std::string& where) {
  std::vector<Setting> settings;
  ReadMap(map, key, where, [&](const std::string& name, const YAML::Node& value) {
    const std::string option = key + "." + name;
    std::string text;
    if (value.IsMap()) {  // a congestion control with its own parameters
      const auto [control, parameters] = OneName(value, option, where);
      text =
          NamedSettings(ScalarText(control, option), ReadSettings(parameters, option, where), "+");
    } else {
      text = ScalarText(value, option);
    }
    settings.push_back({name + "=" + text, value.Mark()});
  });
  return settings;
}

// Returns the text of a transport, which may be a map with one name: {roce: {cc: hpcc, pfc: on}}.
// If removing a single setting would avoid the error, the error names the place of that setting.
std::string TransportText(const YAML::Node& map, const std::string& key, const std::string& where) {
  const auto [node, options] = OneName(map, key, where);
  const std::string name = ScalarText(node, key);
  const std::vector<Setting> settings = ReadSettings(options, key + "." + name, where);
  const auto refused = [&](const std::vector<Setting>& some) -> std::optional<std::string> {
    try {
      fabric::MakeTransport(NamedSettings(name, some, ","), key);
    } catch (const Error& error) {
      return error.what();
    }
    return std::nullopt;
  };
  const std::optional<std::string> reason = refused(settings);
  if (!reason) return NamedSettings(name, settings, ",");
  for (size_t i = 0; i < settings.size(); ++i) {
    std::vector<Setting> others = settings;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    if (!refused(others)) throw Error::Refusal(MarkText(where, settings[i].mark) + *reason);
  }
  throw Error::Refusal(MarkText(where, map.Mark()) + *reason);
}

// Returns the text of an option's value. A target may be a map with one metric: {perplexity: 120}.
std::string OptionText(const YAML::Node& value, const std::string& key, const std::string& where) {
  if (key == "network.transport" && value.IsMap()) return TransportText(value, key, where);
  if (key != "training.target" || !value.IsMap()) return ScalarText(value, key);
  if (value.size() != 1) {
    throw Error(MarkText(where, value.Mark()) + key, std::to_string(value.size()) + " metrics",
                "one, as in {perplexity: 120}");
  }
  const auto entry = value.begin();
  const std::string metric = ScalarText(entry->first, key);
  return metric + "=" + ScalarText(entry->second, key + "." + metric);
}

Method ReadMethod(const YAML::Node& node, const std::string& name, const std::string& where,
                  bool federated) {
  Method method;
  method.name = name;
  const std::string prefix = "methods." + name;
  ReadMap(node, prefix, where, [&](const std::string& field, const YAML::Node& value) {
    const std::string key = prefix + "." + field;
    if (!federated && (field == "algorithm" || field == "downlink")) {
      throw Error(key, ScalarText(value, key), "nothing here: legacy-federated reads it");
    }
    SetMethodField(method, field, ScalarText(value, key), key);
  });
  return method;
}

void CheckSection(const std::string& name, const Scenario& scenario) {
  std::set<std::string> sections = {"methods", "ns3", "preset"};
  if (name == "federated" && !scenario.federated) {
    throw Error::Refusal("section federated: legacy-federated reads files that have it");
  }
  for (const ScenarioOption& option : OptionsOf(scenario)) {
    sections.insert(option.Section());
  }
  if (sections.count(name) > 0) return;
  throw Error::Refusal("unknown section '" + name + "'; allowed: " +
                       Join(std::vector<std::string>(sections.begin(), sections.end()), ", "));
}

void ReadSection(const YAML::Node& section, const std::string& name, const std::string& where,
                 Scenario& scenario) {
  std::set<std::string> given;  // keys of given options, which may be called by an alias
  ReadMap(section, name, where, [&](const std::string& key, const YAML::Node& value) {
    const ScenarioOption* option =
        FindOption(OptionsOf(scenario), name + "." + key, OptionNames::kKeys);
    if (option != nullptr && !given.insert(option->key).second) {
      throw Error::Refusal(option->key + ": is given twice");
    }
    if (name == "methods") {
      scenario.methods[key] = ReadMethod(value, key, where, scenario.federated.has_value());
    } else if (name == "ns3") {
      scenario.ns3[key] = ScalarText(value, key);
    } else {
      SetOption(scenario, name + "." + key, OptionText(value, name + "." + key, where));
    }
  });
}

}  // namespace

void ReadScenario(const YAML::Node& sections, const std::string& where, Scenario& scenario) {
  // A preset is applied first, wherever it stands, so that the other options of the file override
  // it.
  if (sections.IsMap() && sections["preset"]) {
    ApplyPreset(ScalarText(sections["preset"], "preset"), scenario);
  }
  ReadMap(sections, "", where, [&](const std::string& name, const YAML::Node& section) {
    CheckSection(name, scenario);
    if (name == "preset") return;
    ReadSection(section, name, where, scenario);
  });
}

namespace {

constexpr int kMostIncludes = 16;  // most files that include one another

// Returns the files that `sections` of `path` includes, with paths relative to that file's folder.
std::vector<std::string> IncludedFiles(const YAML::Node& sections, const std::string& path) {
  if (!sections.IsMap() || !sections["include"]) return {};
  std::vector<std::string> files;
  for (const std::string& name : SplitList(ScalarText(sections["include"], "include"))) {
    const fs::path file = fs::path(path).parent_path() / name;
    if (!fs::is_regular_file(file)) {
      throw Error(MarkText(path, sections["include"].Mark()) + "include", name,
                  "scenario files, beside this one or by whole paths");
    }
    files.push_back(file.string());
  }
  return files;
}

void LoadLayers(const std::string& text, const std::string& path, int depth, Scenario& scenario) {
  if (depth > kMostIncludes) {
    throw Error(path + ": include", std::to_string(depth) + " files deep",
                "at most " + std::to_string(kMostIncludes) + ", and none that includes itself");
  }
  YAML::Node sections = ParseYaml(text, path);
  for (const std::string& file : IncludedFiles(sections, path)) {
    LoadLayers(ReadWholeFile(file), file, depth + 1, scenario);
  }
  if (sections.IsMap()) sections.remove("include");
  ReadScenario(sections, path, scenario);
}

}  // namespace

void LoadScenario(const std::string& path, Scenario& scenario) {
  LoadLayers(ReadWholeFile(path), path, 0, scenario);
}

void LoadScenarioText(const std::string& text, const std::string& name, Scenario& scenario) {
  LoadLayers(text, name, 0, scenario);
}

}  // namespace legacy
