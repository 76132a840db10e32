// Runs an experiment at each of its fidelities.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/endless.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/flow_list.h"
#include "scenarios/network/flow_recorder.h"
#include "scenarios/network/options/experiment.h"
#include "scenarios/network/telemetry.h"

namespace legacy {

// A Measurement is one repetition at one fidelity.
struct Measurement {
  Fidelity fidelity = Fidelity::kFlow;
  int64_t repetition = 0;
  TimeNs start = 0;             // start of a collective among the repetitions
  fabric::StepTraffic traffic;  // traffic of a collective; no workers for a list of flows
  fabric::StepTiming timing;    // timing; for a list of flows: total, counters, links
  // Flows where they were recorded, which is always so for a list of flows.
  std::vector<RecordedFlow> flows;
  std::vector<TelemetrySample> telemetry;  // of links, where it was asked for
  std::vector<TelemetrySample> queues;     // with queue pairs and buffers, where asked for
  std::vector<ThroughputWindow> windows;   // windows of a run of endless flows
  double wall_seconds = 0;

  // Returns the time from when the first worker is ready until the last has finished.
  TimeNs Time() const;
};

// A PreparedExperiment is an experiment with its algorithm, its network and, where it is no
// collective, its flows.
struct PreparedExperiment {
  Experiment experiment;
  fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  std::string reason;           // comparison of algorithms, where one was chosen
  std::string fidelity_reason;  // reason for these fidelities, where they were chosen
  std::unique_ptr<Network> network;
  std::vector<FlowRequest> flows;
};

// Builds the network, chooses the algorithm and tries everything that may be refused, engines
// included. Throws Error.
PreparedExperiment Prepare(Experiment experiment);

// MeasureOptions say what to record.
struct MeasureOptions {
  bool record_flows = false;
  TimeNs telemetry_every = 0;  // length of the windows of telemetry; 0: none
  TimeNs queues_every = 0;     // the same of queues, buffers and queue pairs
  PacketFiles files{};
  // Called for every flow that arrives; may be empty.
  std::function<void()> on_delivered{};
};

// Measures all fidelities in order, all repetitions of each.
std::vector<Measurement> Measure(const PreparedExperiment& prepared, const MeasureOptions& options);

// Return the bytes by which an algorithm's bandwidth is measured, and the factor from algorithm
// bandwidth to bus bandwidth, as nccl-tests defines them. All-gathers count the whole result. The
// factor is 2 (N - 1) / N for all-reduces, (N - 1) / N for all-gathers, reduce-scatters, all-to-all
// and all-to-allv, and 1 for a broadcast; others have none.
int64_t CollectiveBytes(const Experiment& experiment, fabric::CollectiveAlgorithm algorithm);
std::optional<double> BusFactor(fabric::CollectiveAlgorithm algorithm, int workers);

// Returns the closed form of closed-form.h where all workers have equal links to one switch, start
// at once with equal messages and have one bucket.
std::optional<TimeNs> ClosedForm(const PreparedExperiment& prepared);

// Return the number of flows of one simulation, and the wall time that they take at flow or
// analytic fidelity, as text: "40 s to 10 min of ...".
double FlowCount(const PreparedExperiment& prepared);
std::string FlowWallTime(double flows);

// Returns the approximate wall time of the packet engine; 0 where it does not run.
double PacketSeconds(const PreparedExperiment& prepared);

}  // namespace legacy
