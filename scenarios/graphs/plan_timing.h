// Plans are timed on a network, and their times shown.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "analysis/result_rows.h"
#include "ns3-module/fabric/step/plan-graph.h"
#include "ns3-module/fabric/step/plan-parts.h"
#include "scenarios/graphs/graph_options.h"
#include "scenarios/graphs/plan_maker.h"
#include "scenarios/network/engines/network.h"

namespace legacy::graphs {

// A PlanMeasurement is a plan's times at one fidelity.
struct PlanMeasurement {
  Fidelity fidelity = Fidelity::kFlow;
  fabric::PlanTiming timing;
  std::vector<fabric::StepParts> parts;  // by rank
  fabric::EngineCounters counters;
  double wall_seconds = 0;
};

// Builds the network for a plan's ranks, with the servers and summing switches that its collectives
// name. Sets in the plan what the trace leaves to the network: the workers of a node, channels and
// protocols. Throws Error.
std::unique_ptr<Network> PrepareNetwork(ImportedPlan& imported, const GraphOptions& options);

// Runs the plan once at each fidelity; where connections are warm, that is the second of two runs.
// Throws Error where it has more flows than engines take in hours.
std::vector<PlanMeasurement> MeasurePlan(const fabric::StepPlan& plan, const Network& network,
                                         const std::vector<Fidelity>& fidelities);

// Returns what the plan is, its times at each fidelity, and the parts of the rank that ends last,
// as text that fits a terminal of `columns`.
std::string PlanTable(const ImportedPlan& imported, const Network& network,
                      const std::vector<PlanMeasurement>& measurements, size_t columns);

// Returns a row for each fidelity and rank: role, finish and parts in seconds; with the columns
// exposed and hidden of each stream.
std::vector<Row> PlanRows(const fabric::StepPlan& plan,
                          const std::vector<PlanMeasurement>& measurements);

}  // namespace legacy::graphs
