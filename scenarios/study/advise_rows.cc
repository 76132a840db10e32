#include "scenarios/study/advise_rows.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "scenarios/study/advise.h"

namespace legacy {
namespace {

constexpr const char* kWhole = "dense";  // the downlink without compression

// Returns the row of a policy, and adds its method. `algorithm` and `downlink` are "" for those of
// the scenario. A method that has its own algorithm or downlink is only in the row of these.
std::optional<AdvisedRow> TakeRow(const std::string& policy, const std::string& algorithm,
                                  const std::string& downlink, bool first, Scenario& scenario) {
  Method method = FindMethod(scenario, policy);
  const bool own = !method.algorithm.empty() || !method.downlink.empty();
  if (own && !first) return std::nullopt;
  AdvisedRow row = {.name = policy, .algorithm = "", .uplink = policy, .downlink = kWhole};
  if (!own) {
    if (!algorithm.empty()) row.name = algorithm + " " + row.name;
    if (!downlink.empty()) row.name += "/" + downlink;
    std::ranges::replace(row.name, ',', ';');  // commas separate names
    method.algorithm = algorithm;
    method.downlink = downlink;
  }
  row.algorithm = method.algorithm;
  if (!method.downlink.empty()) row.downlink = method.downlink;
  row.compresses_up = method.scheme != kAdviceBaseline;
  row.compresses_down = row.downlink != kWhole;
  if (row.name != policy) {
    method.name = row.name;
    scenario.methods[row.name] = std::move(method);
  }
  return row;
}

}  // namespace

std::vector<AdvisedRow> TakeRows(Scenario& scenario) {
  FederatedSection& options = *scenario.federated;
  std::vector<std::string> algorithms = *options.algorithms;
  if (algorithms.empty()) throw Error("federated.algorithms", "nothing", "a name, as in fedavg");
  const std::string first = algorithms.front();
  options.algorithms = {first, "federated.algorithms"};
  if (algorithms.size() == 1) algorithms = {""};
  std::vector<std::string> downlinks = {""};
  // Without a server, nothing is sent down.
  if (options.HasServer() && options.downlink != kWhole) downlinks.push_back(options.downlink);
  options.downlink = kWhole;
  std::vector<std::string> policies = {kAdviceBaseline};
  for (const std::string& policy : scenario.policies) {
    if (policy != kAdviceBaseline) policies.push_back(policy);
  }
  std::vector<AdvisedRow> rows;
  for (const std::string& algorithm : algorithms) {
    for (const std::string& downlink : downlinks) {
      for (const std::string& policy : policies) {
        auto row = TakeRow(policy, algorithm, downlink, rows.size() < policies.size(), scenario);
        if (row) rows.push_back(*std::move(row));
      }
    }
  }
  scenario.policies.clear();
  for (AdvisedRow& row : rows) {
    if (row.algorithm.empty()) row.algorithm = first;
    scenario.policies.push_back(row.name);
  }
  return rows;
}

}  // namespace legacy
