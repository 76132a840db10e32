// An experiment on the network is a collective, or a list of flows, on one fabric. Values of
// options describe it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/engines/engines.h"
#include "scenarios/network/engines/network.h"
#include "scenarios/network/options/experiment_options.h"

namespace legacy {

// An Experiment is its options, and what follows from several of them.
struct Experiment {
  ExperimentOptions options;
  NetworkRequest network;
  std::vector<Fidelity> fidelities;  // those to simulate, each once
  // Returns whether `fidelity` is one of them.
  bool Asks(Fidelity fidelity) const {
    return std::find(fidelities.begin(), fidelities.end(), fidelity) != fidelities.end();
  }
  bool automatic = false;    // true for fidelity auto: flow, and packet where it is affordable
  double packet_budget = 0;  // seconds of wall time that auto may spend

  // Algorithm of the collective; nullopt: the fastest.
  std::optional<fabric::CollectiveAlgorithm> algorithm;
  std::vector<int64_t> bytes;   // bytes of each worker's message, with its density
  int64_t dense_bytes = 0;      // bytes of the largest message without a density
  std::vector<double> density;  // density of each worker; empty: none
  // Bytes of an all-to-allv from s to d at s N + d; empty: those of an all-to-all.
  std::vector<int64_t> pair_bytes;

  // Flows, of a file or a pattern. In a file, any host may be the source.
  bool HasFlows() const { return !options.flows.empty() || !options.pattern.empty(); }
  // Number of hosts of a file's fabric, where the user gave it; 0: as many as the topology has.
  int least_hosts = 0;
  // Length of a run of endless flows, and of the windows of their throughput; 0: flows have bytes.
  TimeNs duration = 0;
  TimeNs window_time = 0;
  int Workers() const { return network.placement.workers; }
};

// Makes an experiment from the values of options. Throws Error naming option, value and what is
// allowed.
Experiment ParseExperiment(const ExperimentOptions& options,
                           const std::map<std::string, std::string>& ns3_attributes);

// Returns the request with the endpoints that a collective of `algorithm` needs besides workers
// (servers, aggregators).
NetworkRequest NetworkFor(const Experiment& experiment, fabric::CollectiveAlgorithm algorithm);

// Returns the collective of one bucket on its network, with the bucket's sizes.
fabric::CollectiveSpec SpecOf(const Experiment& experiment, fabric::CollectiveAlgorithm algorithm,
                              const Network& network, int bucket);

// Returns the traffic of repetition `step` of the experiment.
fabric::StepTraffic TrafficOf(const Experiment& experiment, fabric::CollectiveAlgorithm algorithm,
                              const Network& network, uint64_t step);

// Returns all algorithms that `auto` chooses from: all-reduces where every message is dense and of
// one length, else all-gathers. Those that need servers, or switches that sum, are left out.
std::vector<fabric::CollectiveAlgorithm> AutomaticAlgorithms(const Experiment& experiment);

}  // namespace legacy
