#include "scenarios/options/scenario_yaml.h"

#include <yaml-cpp/depthguard.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "base/whole_file.h"
#include "compress/exchange.h"
#include "compress/options.h"
#include "scenarios/options/methods.h"
#include "scenarios/options/presets.h"

namespace legacy {
namespace {

void SetMethodField(Method& method, const std::string& field, const std::string& text,
                    const std::string& key) {
  if (field == "scheme") {
    try {
      MakeScheme(text);
    } catch (const Error& error) {
      throw Error(key + ": " + error.what());
    }
    method.scheme = text;
  } else if (field == "scope") {
    method.scope = ParseChoice(text, key, {"layer", "bucket", "model"});
  } else if (field == "policy") {
    ParseChoice(ParseStages(text).front().name, key, MethodPolicyNames());
    method.policy = text;
  } else if (field == "parameter") {
    method.parameter = text.find('%') != std::string::npos ? ParseFraction(text, key)
                                                           : ParseNumber(text, key, 0, 1e9);
  } else if (field == "bytes_of") {
    method.bytes_of = text;
  } else if (field == "levels") {
    method.levels = text;
  } else if (field == "local_steps") {
    method.local_steps = static_cast<int64_t>(ParseNumber(text, key, 1, 1e9));
  } else if (field == "reversed") {
    method.reversed = ParseSwitch(text, key);
  } else {
    throw Error("unknown key '" + key +
                "'; allowed: scheme, scope, policy, parameter, bytes_of, "
                "levels, local_steps, reversed");
  }
}

Method ReadMethod(const YAML::Node& node, const std::string& name, const std::string& where) {
  Method method;
  method.name = name;
  const std::string prefix = "methods." + name;
  ReadMap(node, prefix, where, [&](const std::string& field, const YAML::Node& value) {
    const std::string key = prefix + "." + field;
    SetMethodField(method, field, ScalarText(value, key), key);
  });
  return method;
}

void CheckSection(const std::string& name) {
  std::set<std::string> sections = {"methods", "ns3", "preset"};
  for (const ScenarioOption& option : ScenarioOptions()) {
    sections.insert(option.key.substr(0, option.key.find('.')));
  }
  if (sections.count(name) > 0) return;
  throw Error("unknown section '" + name + "'; allowed: " +
              Join(std::vector<std::string>(sections.begin(), sections.end()), ", "));
}

void ReadSection(const YAML::Node& section, const std::string& name, const std::string& where,
                 Scenario& scenario) {
  ReadMap(section, name, where, [&](const std::string& key, const YAML::Node& value) {
    if (name == "methods") {
      scenario.methods[key] = ReadMethod(value, key, where);
    } else if (name == "ns3") {
      scenario.ns3[key] = ScalarText(value, key);
    } else {
      SetOption(scenario, name + "." + key, ScalarText(value, name + "." + key));
    }
  });
}

// yaml-cpp prints a carriage return as a break of lines; others have no meaning.
const std::string& CheckedText(const std::string& text, const std::string& key) {
  const auto is_control = [](unsigned char c) {
    return (c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
  };
  if (std::ranges::none_of(text, is_control)) return text;
  throw Error(key + ": has control characters; allowed: text");
}

// yaml-cpp takes other bytes, and prints something else in their place.
void CheckUtf8(const std::string& text, const std::string& where) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    try {
      nlohmann::json(line).dump();
    } catch (const nlohmann::json::exception&) {
      throw Error(where + ":" + std::to_string(number) +
                  ": bytes that are no text; allowed: UTF-8");
    }
  }
}

}  // namespace

std::string MarkText(const std::string& where, const YAML::Mark& mark) {
  return where + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1) + ": ";
}

YAML::Node ParseYaml(const std::string& text, const std::string& where) {
  CheckUtf8(text, where);
  try {
    return YAML::Load(text);
  } catch (const YAML::DeepRecursion& error) {
    throw Error(MarkText(where, error.mark) + "nested deeper than yaml-cpp allows");
  } catch (const YAML::Exception& error) {
    throw Error(MarkText(where, error.mark) + error.msg);
  }
}

std::string ScalarText(const YAML::Node& node, const std::string& key) {
  if (node.IsScalar()) return CheckedText(node.Scalar(), key);
  if (node.IsNull()) return "";
  if (!node.IsSequence()) throw Error(key + ": expected a value or a list of values");
  std::vector<std::string> items;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) throw Error(key + ": expected a list of plain values");
    items.push_back(CheckedText(item.Scalar(), key));
  }
  return Join(items, ",");
}

void ReadMap(const YAML::Node& map, const std::string& name, const std::string& where,
             const std::function<void(const std::string&, const YAML::Node&)>& each) {
  if (map.IsNull()) return;
  const std::string prefix = name.empty() ? "" : name + ": ";
  if (!map.IsMap()) throw Error(MarkText(where, map.Mark()) + prefix + "expected keys and values");
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string mark = MarkText(where, entry.first.Mark());
    if (!entry.first.IsScalar()) throw Error(mark + prefix + "expected plain keys");
    const std::string& key = entry.first.Scalar();
    if (!seen.insert(key).second) {
      throw Error(mark + (name.empty() ? "" : name + ".") + key + ": stands twice");
    }
    try {
      CheckedText(key, "a key");
      each(key, entry.second);
    } catch (const Error& error) {
      const std::string what = error.what();
      if (what.rfind(where + ":", 0) == 0) throw;
      throw Error(mark + what);
    }
  }
}

void ReadScenario(const YAML::Node& sections, const std::string& where, Scenario& scenario) {
  // Wherever it stands: what else stands there wins.
  if (sections.IsMap() && sections["preset"]) {
    ApplyPreset(ScalarText(sections["preset"], "preset"), scenario);
  }
  ReadMap(sections, "", where, [&](const std::string& name, const YAML::Node& section) {
    CheckSection(name);
    if (name == "preset") return;
    ReadSection(section, name, where, scenario);
  });
}

void LoadScenario(const std::string& path, Scenario& scenario) {
  ReadScenario(ParseYaml(ReadWholeFile(path), path), path, scenario);
}

}  // namespace legacy
