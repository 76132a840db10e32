// Options of legacy-federated plan and population, which train nothing.
#pragma once

#include <cstdint>
#include <string>

#include "base/options.h"
#include "base/parsed.h"
#include "scenarios/network/options/fabric_options.h"
#include "scenarios/options/federated_options.h"
#include "scenarios/options/federated_values.h"

namespace legacy {

// PlanOptions have the values. Of the fabric, plans read topology, transport and connections.
struct PlanOptions {
  PlanOptions() {
    fabric.topology = "";  // a star around the server
    fabric.transport = "wan";
    fabric.connections = "tls";
  }

  FederatedSection federated;
  FabricOptions fabric;
  Parsed<ParsePlanFidelity> fidelity = "flow";
  uint64_t seed = 1;
};

// Returns the table: plans read the options with kReadByPlans, populations those with
// kReadByPopulations.
const OptionTable<PlanOptions>& PlanRows();

// Returns the row with that flag, as in "--per-round", which there is.
const Option<PlanOptions>& PlanRow(const std::string& flag);

// Throws Error, which names what reads the option, where it is not left at its default.
void Refuse(const FederatedSection& options, const std::string& flag, const std::string& reader);
// Refuses all options with the property.
void RefuseAll(const FederatedSection& options, OptionProperty property, const std::string& reader);

}  // namespace legacy
