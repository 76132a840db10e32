#include "scenarios/study/what_if/kinds.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/straggler.h"
#include "ns3-module/fabric/topology/report.h"
#include "scenarios/federated/learner.h"
#include "scenarios/run/scenario_network.h"

namespace legacy {
namespace {

constexpr TimeNs kLongestDelay = 1'000'000'000'000;

// Throws Error if the text names a file that the study does not have, because this program would
// otherwise read that file for any client.
void CheckTopology(const std::string& text, const std::set<std::string>& known) {
  if (known.contains(text)) return;
  std::vector<std::string> types;
  for (const fabric::TopologyType& type : fabric::TopologyTypes()) types.push_back(type.name);
  const bool type = std::ranges::find(types, text.substr(0, text.find(':'))) != types.end();
  if (type && !fabric::NamesTopologyFile(text)) return;
  const std::vector<std::string> texts(known.begin(), known.end());
  throw Error("network.topology", text,
              "a type with its parameters (" + Join(types, ", ") +
                  "), or one that the study has: " + Join(texts, ", "));
}

struct SlowWorkers {
  int64_t count = 0;
  double factor = 1;
};

// Returns the slow workers of an answer. Values that the question leaves out are those of the
// study. If no worker is slow in the study, a slowdown without a number means one worker, and a
// number without a slowdown is refused.
SlowWorkers SlowWorkersFor(const WhatIfQuestion& question, const SlowWorkers& now) {
  if (now.count > 0) {
    return {question.slow_workers.value_or(now.count), question.slowdown.value_or(now.factor)};
  }
  if (question.slow_workers.value_or(0) > 0 && !question.slowdown) {
    throw Error("slow_workers", std::to_string(*question.slow_workers),
                "together with slowdown, as the study has no slow workers");
  }
  return {question.slow_workers.value_or(1), question.slowdown.value_or(1)};
}

// Returns the slow workers in a text of fixed stragglers; none for any other text.
SlowWorkers SlowWorkersOf(const Scenario& scenario) {
  const auto model = fabric::MakeStragglers(scenario.stragglers);
  if (model->Transient()) return {};
  const std::vector<double> factors = model->Factors(scenario.workers, scenario.seed, 0);
  const double factor = factors.back();
  const auto others =
      std::find_if(factors.rbegin(), factors.rend(), [&](double other) { return other != factor; });
  if (factor == 1 || !std::all_of(others, factors.rend(), [](double f) { return f == 1; })) {
    return {};
  }
  return {others - factors.rbegin(), factor};
}

std::string StragglerText(const SlowWorkers& slow) {
  if (slow.count == 0 || slow.factor == 1) return "none";
  return "fixed:count=" + std::to_string(slow.count) + ",factor=" + FormatNumber(slow.factor);
}

// Sets rate, delay and topology. A different rate or delay removes the network schedule, whose
// entries would override it.
void SetNetwork(const WhatIfQuestion& question, const std::set<std::string>& topologies,
                Scenario& scenario) {
  const auto before = std::pair(*scenario.bandwidth, *scenario.delay);
  if (question.bandwidth) SetOption(scenario, "network.bandwidth", *question.bandwidth);
  if (question.delay) SetOption(scenario, "network.delay", *question.delay);
  if (*scenario.delay > kLongestDelay) {
    throw Error("network.delay", scenario.delay.text(), "at most 1000 s");
  }
  if (std::pair(*scenario.bandwidth, *scenario.delay) != before)
    SetOption(scenario, "network.phases", "none");
  if (question.topology) {
    CheckTopology(*question.topology, topologies);
    SetOption(scenario, "network.topology", *question.topology);
  }
}

// Options of federated clients whose values are numbers.
struct NumberKey {
  const char* flag;
  double FederatedSection::*option;
  std::optional<double> WhatIfQuestion::*value;
};
constexpr NumberKey kNumbers[] = {
    {"--down-rates", &FederatedSection::down_rates, &WhatIfQuestion::down_rates},
    {"--up-rates", &FederatedSection::up_rates, &WhatIfQuestion::up_rates},
    {"--packet-loss", &FederatedSection::packet_loss, &WhatIfQuestion::packet_loss},
    {"--core-rates", &FederatedSection::core_rates, &WhatIfQuestion::core_rates},
    {"--core-delays", &FederatedSection::core_delays, &WhatIfQuestion::core_delays},
    {"--prices", &FederatedSection::prices, &WhatIfQuestion::prices}};

bool Priced(const PlanRequest& request) {
  const auto any = [](const auto& prices) {
    return std::ranges::any_of(prices, [](double price) { return price > 0; });
  };
  if (any(request.population.Server().usdPerGb)) return true;
  for (const fabric::Group& group : request.population.Groups()) {
    const bool hours = !group.priceHour.Constant() || group.priceHour.Draw(0, 0) > 0;
    if (hours || any(group.usdPerGb)) return true;
  }
  if (!request.core) return false;
  return std::ranges::any_of(request.core->Links(), [](const fabric::Link& link) {
    return link.ports[0].usdPerGb > 0 || link.ports[1].usdPerGb > 0;
  });
}

}  // namespace

void AddDefaultsOfWorkers(const Scenario& scenario, WhatIfQuestion& question) {
  const SlowWorkers slow = SlowWorkersOf(scenario);
  question.bandwidth = scenario.bandwidth.text();
  question.delay = scenario.delay.text();
  question.topology = scenario.topology;
  question.slowdown = slow.factor;
  question.slow_workers = slow.count;
}

void ApplyToWorkers(const WhatIfQuestion& question, const std::set<std::string>& topologies,
                    Scenario& scenario) {
  SetNetwork(question, topologies, scenario);
  if (!question.slowdown && !question.slow_workers) return;
  const SlowWorkers slow = SlowWorkersFor(question, SlowWorkersOf(scenario));
  SetOption(scenario, "network.stragglers", StragglerText(slow));
}

std::map<std::string, std::string> UnreadByWorkers(const Scenario& scenario) {
  std::map<std::string, std::string> unread;
  if (!fabric::NamesTopologyFile(scenario.topology)) return unread;
  for (const std::string key : {"bandwidth", "delay"}) {
    if (ReadsLinkOption(scenario, "network." + key)) continue;
    unread[key] = "the topology file gives every link a " + key + " of its own";
  }
  return unread;
}

void AddDefaultsOfClients(const Scenario& scenario, WhatIfQuestion& question) {
  for (const NumberKey& key : kNumbers) {
    question.*key.value = (*scenario.federated).*key.option;
  }
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  const fabric::ServerSite& server = request.population.Server();
  question.server_at = server.at;
  question.server_rate = std::to_string(server.rateBps) + "bps";
  question.streams = scenario.streams;
  question.connections = scenario.connections.text();
}

void ApplyToClients(const WhatIfQuestion& question, Scenario& scenario) {
  const auto set = [&](const std::string& key, const std::string& text) {
    SetOption(scenario, key, text);
  };
  for (const NumberKey& key : kNumbers) {
    const std::optional<double>& value = question.*key.value;
    if (!value) continue;
    FederatedRow(key.flag).set(*scenario.federated, key.flag, FormatNumber(*value));
  }
  if (question.server_at) set("federated.at", *question.server_at);
  if (question.server_rate) set("federated.server_rate", *question.server_rate);
  if (question.streams) set("network.streams", std::to_string(*question.streams));
  if (question.connections) set("network.connections", *question.connections);
}

std::map<std::string, std::string> UnreadByClients(const Scenario& scenario) {
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  std::map<std::string, std::string> unread;
  if (!request.core) {
    for (const char* key : {"core_rates", "core_delays", "server_at"}) {
      unread[key] = "all lines meet in one switch, as the study has no topology";
    }
  }
  if (!Priced(request)) unread["prices"] = "nothing has a price in this population";
  return unread;
}

std::vector<std::string> PlacesOfServer(const Scenario& scenario) {
  const PlanRequest request = RequestOf(scenario, scenario.seed);
  std::vector<std::string> places;
  for (int node = 0; request.core && node < request.core->NodeCount(); ++node) {
    if (!request.core->IsHost(node)) places.push_back(request.core->NodeName(node));
  }
  std::ranges::sort(places);
  return places;
}

}  // namespace legacy
