#include "scenarios/federated/plan_options.h"

#include <utility>

#include "base/error.h"
#include "base/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

// Returns an option of the fabric with only these properties.
Option<PlanOptions> OfFabric(const std::string& flag, OptionProperties properties) {
  auto row = OptionOfPart<PlanOptions>(
      FabricRow(flag), [](auto& options) -> auto& { return options.fabric; });
  row.properties = properties;
  return row;
}

OptionTable<PlanOptions> OptionsOfClients() {
  OptionTable<PlanOptions> rows;
  AddTableOfPart(
      rows, FederatedOptionRows(), [](auto& options) -> auto& { return options.federated; });
  return rows;
}

OptionTable<PlanOptions> OptionsOfNetwork() {
  OptionTable<PlanOptions> rows = {
      OfFabric("--topo", kReadByPlans | kReadByPopulations | kUsual),
      Text<&PlanOptions::fidelity>(
          "network.fidelity", "--fidelity", "NAME",
          "packet, flow, analytic, or formula (bits / bandwidth of the client, nothing shared)") |
          kReadByPlans | kUsual,
      OfFabric("--transport", kReadByPlans),
      OfFabric("--connections", kReadByPlans),
      OfFabric("--congestion", kReadByPlans),
      OfFabric("--streams", kReadByPlans),
      Integer<&PlanOptions::seed, 0>("run.seed", "--seed", "seed of all draws") | kReadByPlans |
          kReadByPopulations | kUsual,
  };
  // A plan's workers are clients, whose lines lead to places.
  std::swap(rows[0].flag, rows[0].alias);
  rows[0].help =
      "topology whose switches the population names as places [a star around the server]";
  rows[2].metavar = "datacenter|wan";
  rows[2].help = "preset of TCP and queues: datacenter (DCTCP) or wan (Cubic)";
  return rows;
}

// Throws Error if an option is not left at its default.
void RefuseRow(const FederatedSection& options, const FederatedOption& row,
               const std::string& reader) {
  const std::string text = row.get(options);
  static const FederatedSection defaults;
  if (text == row.get(defaults)) return;
  throw Error(row.flag, text, "nothing here: " + reader + " reads it");
}

}  // namespace

const OptionTable<PlanOptions>& PlanRows() {
  static const auto rows =
      JoinedTables<PlanOptions>({{"", OptionsOfClients()}, {"Network", OptionsOfNetwork()}});
  return rows;
}

const Option<PlanOptions>& PlanRow(const std::string& flag) {
  return OptionOfFlag(PlanRows(), flag);
}

void Refuse(const FederatedSection& options, const std::string& flag, const std::string& reader) {
  RefuseRow(options, FederatedRow(flag), reader);
}

void RefuseAll(const FederatedSection& options, OptionProperty property,
               const std::string& reader) {
  for (const FederatedOption& row : FederatedOptionRows()) {
    if (row.Has(property)) RefuseRow(options, row, reader);
  }
}

}  // namespace legacy
