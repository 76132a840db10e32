// Reads how clients without a server exchange their updates: by which collective, in which order,
// and in which groups.
#include <numeric>
#include <sstream>

#include "base/error.h"
#include "base/parse.h"
#include "scenarios/federated/plan_request.h"

namespace legacy {
namespace {

// Refuses options that only a server reads.
void RefuseServerOptions(const FederatedSection& options) {
  RefuseAll(options, kServerAlone, "--exchange=server");
  if (*options.uplink_memory == UplinkMemory::kEf21) {
    Refuse(options, "--uplink-memory", "--exchange=server");
  }
  if (*options.drop_diverged) Refuse(options, "--diverged", "--exchange=server");
}

// Returns the clients that a word of --order names: one by its number, or all of a group or place.
std::vector<int> ClientsNamed(const std::string& word, const fabric::Population& population) {
  std::vector<int> clients;
  const auto count = static_cast<int>(population.Clients());
  if (!word.empty() && word.find_first_not_of("0123456789") == std::string::npos) {
    return {static_cast<int>(ParseInteger(word, "--order", 0, count - 1))};
  }
  for (int client = 0; client < count; ++client) {
    const fabric::Client drawn = population.At(client);
    if (population.Groups()[drawn.group].name == word || *drawn.region == word) {
      clients.push_back(client);
    }
  }
  if (clients.empty()) {
    throw Error("--order", word, "numbers of clients, from 0, or names of groups or places");
  }
  return clients;
}

std::vector<int> OrderOf(const FederatedSection& options, const fabric::Population& population) {
  std::vector<int> order;
  const auto count = static_cast<size_t>(population.Clients());
  if (options.order.empty()) {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
  }
  std::vector<bool> seen(count, false);
  std::stringstream words(options.order);
  for (std::string word; std::getline(words, word, ',');) {
    for (const int client : ClientsNamed(word, population)) {
      if (seen[client]) throw Error("--order", word, "each client once");
      seen[client] = true;
      order.push_back(client);
    }
  }
  if (order.size() < count) {
    throw Error("--order", options.order,
                "all " + std::to_string(count) +
                    " clients: " + std::to_string(count - order.size()) + " are missing");
  }
  return order;
}

// Returns how many of the first ranks are at the same place.
int RanksOfFirstPlace(const ExchangeRequest& exchange, const PlanRequest& plan) {
  if (!plan.core) return 1;
  const auto place = [&](int rank) { return plan.population.At(exchange.order[rank]).region; };
  int ranks = 1;
  while (ranks < static_cast<int>(exchange.order.size()) && *place(ranks) == *place(0)) ++ranks;
  return ranks;
}

void CheckExchange(const std::string& name, const PlanRequest& plan) {
  const int64_t clients = plan.population.Clients();
  if (clients < 2) throw Error("--exchange", name + " of 1 client", "2 clients or more");
  if (!fabric::TakesWorkers(plan.exchange->algorithm, clients)) {
    throw Error("--exchange", name + " of " + std::to_string(clients) + " clients",
                "a power of two of them, or another collective");
  }
  fabric::CollectiveSpec spec;
  spec.algorithm = plan.exchange->algorithm;
  spec.group = plan.exchange->group;
  spec.bytes.assign(static_cast<size_t>(clients), 1);
  const bool in_network = spec.algorithm == fabric::CollectiveAlgorithm::InNetworkAllReduce;
  if (!in_network && fabric::EstimatedFlows(spec) > kMostExchangeFlows) {
    throw Error("--exchange", name + " of " + std::to_string(clients) + " clients",
                "fewer clients, or another collective: it is more than 10 million messages");
  }
  for (const fabric::Group& group : plan.population.Groups()) {
    if (group.availability.empty()) continue;
    throw Error("--population: availability of group " + group.name, group.availability,
                "none with --exchange=" + name + ": all clients take part in every round");
  }
  if (plan.fidelity == "formula") {
    throw Error("--fidelity", "formula", "packet, flow or analytic with --exchange=" + name);
  }
}

std::optional<ExchangeRequest> ExchangeOf(const FederatedSection& options,
                                          const PlanRequest& plan) {
  const char* const kGrouped = "--exchange=hierarchical-allreduce or hierarchical-allgather";
  if (options.HasServer()) {
    Refuse(options, "--order", "--exchange=COLLECTIVE");
    Refuse(options, "--group", kGrouped);
    return std::nullopt;
  }
  RefuseServerOptions(options);
  ExchangeRequest exchange;
  exchange.algorithm = **options.exchange;
  exchange.order = OrderOf(options, plan.population);
  const bool hierarchical =
      exchange.algorithm == fabric::CollectiveAlgorithm::HierarchicalAllReduce ||
      exchange.algorithm == fabric::CollectiveAlgorithm::HierarchicalAllGather;
  if (!hierarchical) {
    Refuse(options, "--group", kGrouped);
  } else if (options.group) {
    const auto most = static_cast<int64_t>(exchange.order.size());
    exchange.group =
        static_cast<int>(ParseInteger(std::to_string(*options.group), "--group", 1, most));
  } else {
    exchange.group = RanksOfFirstPlace(exchange, plan);
  }
  return exchange;
}

}  // namespace

void ReadExchange(const FederatedSection& options, PlanRequest& plan) {
  plan.exchange = ExchangeOf(options, plan);
  if (plan.exchange) CheckExchange(options.exchange.text(), plan);
}

}  // namespace legacy
