#include "scenarios/study/what_if/question.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/files/json.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

using nlohmann::json;

// The largest number of characters of a client's text in a message.
constexpr size_t kMostEcho = 200;
constexpr int64_t kMostCount = 1 << 24;

std::string Echo(const json& value) {
  if (value.is_structured()) return value.type_name();  // it may be nested thousands deep
  return value.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, kMostEcho);
}

// Returns a number in the base unit, or a text with a unit, as on the command line.
std::string Quantity(const std::string& key, const json& value, const std::string& unit) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return FormatNumber(value.get<double>()) + unit;
  throw Error(key, Echo(value), "a number, or a text with its unit");
}

std::string Rate(const std::string& key, const json& value) { return Quantity(key, value, "bps"); }
std::string Delay(const std::string& key, const json& value) { return Quantity(key, value, "s"); }

std::string Text(const std::string& key, const json& value) {
  if (value.is_string()) return value.get<std::string>();
  throw Error(key, Echo(value), "a text");
}

double Number(const std::string& key, const json& value) {
  if (value.is_number()) return value.get<double>();
  throw Error(key, Echo(value), "a number");
}

uint64_t Whole(const std::string& key, const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  throw Error(key, Echo(value), "a whole number from 0 on");
}

int64_t Count(const std::string& key, const json& value) {
  return WholeNumber(value, key, 0, kMostCount);
}

template <class Item, Item (*kParse)(const std::string&, const json&)>
std::vector<Item> List(const std::string& key, const json& value) {
  if (!value.is_array()) throw Error(key, Echo(value), "a list");
  std::vector<Item> items;
  for (const json& item : value) items.push_back(kParse(key, item));
  return items;
}

// The groups to which a key applies.
enum class About { kAll, kWorkers, kClients };

struct Key {
  const char* name;
  About about;
  void (*set)(WhatIfQuestion& question, const std::string& key, const json& value);
  json (*get)(const WhatIfQuestion& question);  // null: not given, or it chooses trainings
};

template <auto kMember, auto kParse>
constexpr Key Any(const char* name) {
  return {name, About::kAll,
          [](WhatIfQuestion& question, const std::string& key, const json& value) {
            question.*kMember = kParse(key, value);
          },
          [](const WhatIfQuestion&) { return json(); }};
}

template <auto kMember, auto kParse>
constexpr Key Of(About about, const char* name) {
  Key key = Any<kMember, kParse>(name);
  key.about = about;
  key.get = [](const WhatIfQuestion& question) {
    const auto& value = question.*kMember;
    return value ? json(*value) : json();
  };
  return key;
}

using Q = WhatIfQuestion;
constexpr Key kKeys[] = {
    Any<&Q::group, Whole>("group"),
    Of<&Q::bandwidth, Rate>(About::kWorkers, "bandwidth"),
    Of<&Q::delay, Delay>(About::kWorkers, "delay"),
    Of<&Q::topology, Text>(About::kWorkers, "topology"),
    Of<&Q::slowdown, Number>(About::kWorkers, "slowdown"),
    Of<&Q::slow_workers, Count>(About::kWorkers, "slow_workers"),
    Of<&Q::down_rates, Number>(About::kClients, "down_rates"),
    Of<&Q::up_rates, Number>(About::kClients, "up_rates"),
    Of<&Q::packet_loss, Number>(About::kClients, "packet_loss"),
    Of<&Q::core_rates, Number>(About::kClients, "core_rates"),
    Of<&Q::core_delays, Number>(About::kClients, "core_delays"),
    Of<&Q::server_at, Text>(About::kClients, "server_at"),
    Of<&Q::server_rate, Rate>(About::kClients, "server_rate"),
    Of<&Q::streams, Count>(About::kClients, "streams"),
    Of<&Q::connections, Text>(About::kClients, "connections"),
    Of<&Q::prices, Number>(About::kClients, "prices"),
    Of<&Q::device_speed, Number>(About::kAll, "device_speed"),
    Of<&Q::codec_speed, Number>(About::kAll, "codec_speed"),
    Of<&Q::fidelity, Text>(About::kAll, "fidelity"),
    Any<&Q::policies, List<std::string, Text>>("policies"),
    Any<&Q::seeds, List<uint64_t, Whole>>("seeds"),
};

// Returns the keys that apply to groups of workers, of clients, or of either.
std::string Names(bool workers, bool clients) {
  std::vector<std::string> names;
  for (const Key& key : kKeys) {
    const bool both = key.about == About::kAll;
    if (both || (workers && key.about == About::kWorkers) ||
        (clients && key.about == About::kClients)) {
      names.emplace_back(key.name);
    }
  }
  return Join(names, ", ");
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
      throw Error("question", name.substr(0, kMostEcho), Names(true, true));
    }
    key->set(question, name, value);
  }
  return question;
}

json ToJson(const WhatIfQuestion& question) {
  json document = json::object();
  for (const Key& key : kKeys) {
    json value = key.get(question);
    if (!value.is_null()) document[key.name] = std::move(value);
  }
  return document;
}

void CheckKind(const WhatIfQuestion& question, bool clients) {
  const About other = clients ? About::kWorkers : About::kClients;
  for (const Key& key : kKeys) {
    if (key.about != other || key.get(question).is_null()) continue;
    throw Error("question", key.name,
                "of a group of " + std::string(clients ? "federated clients: " : "workers: ") +
                    Names(!clients, clients));
  }
}

}  // namespace legacy
