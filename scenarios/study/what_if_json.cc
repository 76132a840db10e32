#include "scenarios/study/what_if_json.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

using nlohmann::json;

// Largest number of characters of a client's text in a message.
constexpr size_t kMostEcho = 200;
constexpr int64_t kMostWorkers = 1 << 24;

std::string Echo(const json& value) {
  if (value.is_structured()) return value.type_name();  // may be nested thousands deep
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, kMostEcho);
}

// Returns a number in the base unit, or a text with a unit as on the command line.
std::string Quantity(const std::string& key, const json& value, const std::string& unit) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return FormatNumber(value.get<double>()) + unit;
  throw Error(key, Echo(value), "a number, or a text with its unit");
}

std::string Text(const std::string& key, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  throw Error(key, Echo(value), "a text");
}

double Factor(const std::string& key, const json& value) {
  if (value.is_number()) return value.get<double>();
  throw Error(key, Echo(value), "a number");
}

uint64_t Count(const std::string& key, const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  throw Error(key, Echo(value), "a whole number from 0 on");
}

int64_t Workers(const std::string& key, const json& value) {
  return WholeNumber(value, key, 0, kMostWorkers);
}

template <class Item, class Parse>
std::vector<Item> List(const std::string& key, const json& value, Parse parse) {
  if (!value.is_array()) throw Error(key, Echo(value), "a list");
  std::vector<Item> items;
  for (const json& item : value) items.push_back(parse(key, item));
  return items;
}

struct Key {
  const char* name;
  void (*set)(WhatIfQuestion& question, const std::string& key, const json& value);
};

constexpr Key kKeys[] = {
    {"group", [](auto& q, auto& key, auto& v) { q.group = Count(key, v); }},
    {"bandwidth", [](auto& q, auto& key, auto& v) { q.bandwidth = Quantity(key, v, "bps"); }},
    {"delay", [](auto& q, auto& key, auto& v) { q.delay = Quantity(key, v, "s"); }},
    {"topology", [](auto& q, auto& key, auto& v) { q.topology = Text(key, v); }},
    {"fidelity", [](auto& q, auto& key, auto& v) { q.fidelity = Text(key, v); }},
    {"slowdown", [](auto& q, auto& key, auto& v) { q.slowdown = Factor(key, v); }},
    {"slow_workers", [](auto& q, auto& key, auto& v) { q.slow_workers = Workers(key, v); }},
    {"device_speed", [](auto& q, auto& key, auto& v) { q.device_speed = Factor(key, v); }},
    {"codec_speed", [](auto& q, auto& key, auto& v) { q.codec_speed = Factor(key, v); }},
    {"policies", [](auto& q, auto& key, auto& v) { q.policies = List<std::string>(key, v, Text); }},
    {"seeds", [](auto& q, auto& key, auto& v) { q.seeds = List<uint64_t>(key, v, Count); }},
};

json PartsOf(const analysis::StepSplit& step) {
  return {{"compute", step.compute},
          {"encode", step.encode},
          {"communication", step.communication},
          {"decode", step.decode},
          {"wait", step.wait}};
}

json ToJson(const WhatIfSeed& seed) {
  return {{"seed", seed.seed},
          {"time_to_target", seed.time_to_target ? json(*seed.time_to_target) : json()},
          {"simulated_seconds", seed.simulated_seconds},
          {"step_seconds", seed.step.total},
          {"parts", PartsOf(seed.step)},
          {"curve", seed.curve}};
}

json DefaultsOf(const WhatIfQuestion& question) {
  return {{"bandwidth", *question.bandwidth},       {"delay", *question.delay},
          {"topology", *question.topology},         {"slowdown", *question.slowdown},
          {"slow_workers", *question.slow_workers}, {"device_speed", *question.device_speed},
          {"codec_speed", *question.codec_speed},   {"fidelity", *question.fidelity}};
}

}  // namespace

WhatIfQuestion ParseQuestion(const std::string& text) {
  const json document = ParseJson(text, "question");
  if (!document.is_object()) {
    throw Error("question", Shown(document), "a JSON object");
  }
  WhatIfQuestion question;
  for (const auto& [name, value] : document.items()) {
    const auto key = std::ranges::find(kKeys, name, &Key::name);
    if (key == std::end(kKeys)) {
      std::vector<std::string> names;
      for (const Key& known : kKeys) names.push_back(known.name);
      throw Error("question", name.substr(0, kMostEcho), Join(names, ", "));
    }
    key->set(question, name, value);
  }
  return question;
}

json ToJson(const WhatIfAnswer& answer) {
  json policies = json::array();
  for (const WhatIfPolicy& policy : answer) {
    json seeds = json::array();
    for (const WhatIfSeed& seed : policy.seeds) seeds.push_back(ToJson(seed));
    policies.push_back({{"policy", policy.policy}, {"seeds", std::move(seeds)}});
  }
  return {{"policies", std::move(policies)}};
}

json GroupsDocument(const WhatIf& what_if) {
  const WhatIfStudy& study = what_if.study();
  json groups = json::array();
  for (size_t id = 0; id < study.groups.size(); ++id) {
    groups.push_back({{"id", id},
                      {"label", study.groups[id].label},
                      {"workers", study.groups[id].trainings.front().scenario.workers},
                      {"defaults", DefaultsOf(what_if.Defaults(id))}});
  }
  return {{"groups", std::move(groups)}, {"policies", study.policies}, {"seeds", study.seeds}};
}

}  // namespace legacy
