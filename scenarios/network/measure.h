// Runs an experiment at each of its fidelities.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/engines.h"
#include "scenarios/network/experiment.h"
#include "scenarios/network/flow_list.h"
#include "scenarios/network/flow_recorder.h"

namespace legacy {

inline double InSeconds(fabric::TimeNs time) { return static_cast<double>(time) / 1e9; }

// One repetition at one fidelity.
struct Measurement {
  std::string fidelity;
  int64_t repetition = 0;
  fabric::StepTraffic traffic;      // of a collective; no workers for a list of flows
  fabric::StepTiming timing;        // of a list of flows: total, counters, links
  std::vector<RecordedFlow> flows;  // where they were recorded; always for a list of flows
  double wall_seconds = 0;

  // From the first worker that is ready to the last that is finished.
  fabric::TimeNs Time() const;
};

// What an experiment is when built: algorithm, network, and the flows where it is no collective.
struct PreparedExperiment {
  Experiment experiment;
  fabric::CollectiveAlgorithm algorithm = fabric::CollectiveAlgorithm::RingAllReduce;
  std::string reason;           // where the algorithm was chosen: what it was compared with
  std::string fidelity_reason;  // where fidelities were chosen
  std::unique_ptr<Network> network;
  std::vector<FlowRequest> flows;
};

// Builds the network, chooses the algorithm and tries everything that may be refused, engines
// included. Throws Error.
PreparedExperiment Prepare(Experiment experiment);

struct MeasureOptions {
  bool record_flows = false;
  PacketFiles files;
  std::function<void()> on_delivered{};  // told of every flow that arrives; empty: nobody
};

// All fidelities in order, all repetitions of each.
std::vector<Measurement> Measure(const PreparedExperiment& prepared, const MeasureOptions& options);

// Bytes whose movement an algorithm is judged by, and the factor from algorithm bandwidth to bus
// bandwidth, as nccl-tests defines them: all-gathers count the whole result; 2 (N - 1) / N for
// all-reduces, (N - 1) / N for all-gathers and all-to-all, 1 for a broadcast; none for others.
int64_t CollectiveBytes(const Experiment& experiment, fabric::CollectiveAlgorithm algorithm);
std::optional<double> BusFactor(fabric::CollectiveAlgorithm algorithm, int workers);

// Where all workers hang on one switch by equal links, start at once with equal messages and have
// one bucket: the closed form of closed-form.h.
std::optional<fabric::TimeNs> ClosedForm(const PreparedExperiment& prepared);

// Flows of one simulation, and what they take of wall time at flow or analytic fidelity, as text:
// "40 s to 10 min of ...".
double FlowCount(const PreparedExperiment& prepared);
std::string FlowWallTime(double flows);

// Wall time that the packet engine will take, roughly; 0 where it is not asked for.
double PacketSeconds(const PreparedExperiment& prepared);

}  // namespace legacy
