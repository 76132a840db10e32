#include "scenarios/federated/learner.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "compress/options.h"

namespace legacy {
namespace {

// Returns the policy as it runs on a server, which sees no client's gradient: L-GreCo decides from
// the mean update, unless its text says otherwise.
std::string ServersPolicy(const std::string& text) {
  std::vector<Stage> stages = ParseStages(text);
  if (stages.front().name != "lgreco") return text;
  stages.front().options.emplace("source", "mean");
  return FormatStages(stages);
}

}  // namespace

std::vector<FederatedMethod> FederatedMethodsOf(const Scenario& scenario) {
  const std::vector<std::string>& algorithms = *scenario.federated->algorithms;
  if (algorithms.empty()) throw Error("federated.algorithms", "nothing", "a name, as in fedavg");
  const bool server = scenario.federated->HasServer();
  std::vector<FederatedMethod> methods;
  for (const std::string& algorithm : algorithms) {
    for (const std::string& policy : scenario.policies) {
      Method method = FindMethod(scenario, policy);
      // A method with its own algorithm makes one row.
      const bool own = !method.algorithm.empty();
      if (own && &algorithm != &algorithms.front()) continue;
      if (server) method.policy = ServersPolicy(method.policy);
      if (method.Local()) {
        throw Error("compression.policies", policy,
                    "methods of one step: what clients do between exchanges is federated.local");
      }
      const std::string name = algorithms.size() > 1 && !own ? algorithm + " " + policy : policy;
      const auto same = [&](const FederatedMethod& other) { return other.name == name; };
      if (std::ranges::any_of(methods, same)) {
        throw Error("federated.algorithms", algorithm, "each algorithm once");
      }
      const std::string& downlink =
          method.downlink.empty() ? scenario.federated->downlink : method.downlink;
      if (!server && downlink != "dense") {
        throw Error("downlink of " + policy, downlink,
                    "dense with federated.exchange: nothing travels down");
      }
      methods.push_back({name, own ? method.algorithm : algorithm, downlink, method});
    }
  }
  return methods;
}

std::string PartitionText(const PartitionView& view, const std::string& rule) {
  std::string line = fmt::format("{} clients with {} to {} samples (median {:g})", view.clients,
                                 view.least, view.most, view.median);
  if (view.labels > 0) {
    line += fmt::format(", {:.3g} of {} labels, distance {:.2g} from the whole", view.labels,
                        view.counts.front().size(), view.distance);
  }
  if (view.without > 0) line += fmt::format(", {} without samples take no part", view.without);
  if (view.left_out > 0) line += fmt::format(", {} samples belong to nobody", view.left_out);
  return line + " by " + rule;
}

PlanOptions PlanOptionsOf(const Scenario& scenario, uint64_t seed) {
  PlanOptions options;
  options.federated = *scenario.federated;
  options.fabric = scenario;
  if (options.fabric.topology == "star") options.fabric.topology = "";
  options.fidelity = {scenario.fidelity.text(), "network.fidelity"};
  options.seed = seed;
  return options;
}

PlanRequest RequestOf(const Scenario& scenario, uint64_t seed) {
  return ParsePlan(PlanOptionsOf(scenario, seed), true);
}

}  // namespace legacy
