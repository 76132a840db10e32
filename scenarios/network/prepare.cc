// Prepares an experiment: its algorithm, fidelities and flows, and the cost of measuring it.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/parse.h"
#include "base/programs/progress_line.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/measure.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;

// `auto` compares algorithms with the flow engine, which knows the fabric and costs little.
constexpr Fidelity kScout = Fidelity::kFlow;

// Returns the estimated number of flows of one simulation.
double FlowsOf(const Experiment& experiment, CollectiveAlgorithm algorithm,
               const Network& network) {
  double flows = 0;
  for (int bucket = 0; bucket < experiment.options.buckets; ++bucket) {
    flows += fabric::EstimatedFlows(SpecOf(experiment, algorithm, network, bucket));
  }
  return flows;
}

bool WithinLimit(const Experiment& experiment, double flows) {
  return flows <= static_cast<double>(experiment.options.flow_limit);
}

// Returns the step's time at flow fidelity, or nothing if there would be too many flows.
std::optional<TimeNs> ScoutTime(const Experiment& experiment, CollectiveAlgorithm algorithm) {
  const std::unique_ptr<Network> network = BuildNetwork(NetworkFor(experiment, algorithm));
  if (!WithinLimit(experiment, FlowsOf(experiment, algorithm, *network))) return std::nullopt;
  fabric::StepSimulator simulator(FactoryOf(kScout, "--collective"), network->request, false);
  return simulator.Simulate(TrafficOf(experiment, algorithm, *network, 0), 0).total;
}

// Builds the network with the switches of nodes that sum; null if it has none.
std::unique_ptr<Network> NodesNetwork(const Experiment& experiment) {
  try {
    return BuildNetwork(NetworkFor(experiment, CollectiveAlgorithm::NvlsAllReduce));
  } catch (const Error&) {
    return nullptr;
  }
}

// Chooses algorithm and protocol as NCCL does, by its cost model.
void ChooseLikeNccl(PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  const CollectiveAlgorithm usual = AutomaticAlgorithms(e).front();
  const fabric::Payload payload = fabric::CanCarry(usual, fabric::Payload::Sum)
                                      ? fabric::Payload::Sum
                                      : fabric::Payload::Concat;
  std::unique_ptr<Network> network = NodesNetwork(e);
  const bool sums = network != nullptr;
  if (!sums) network = BuildNetwork(NetworkFor(e, usual));
  fabric::CollectiveSpec spec = SpecOf(e, usual, *network, 0);
  spec.channels = ChannelsOf(e.options.channels, *network, *e.options.protocol);
  const auto choice =
      fabric::ChooseAsNccl(fabric::NcclAlgorithms(payload, sums), spec,
                           fabric::NodeLinksOf(network->topology, network->placement, spec.group));
  prepared.algorithm = choice->algorithm;
  prepared.reason = "taken: " + choice->reason;
}

void ChooseAlgorithm(PreparedExperiment& prepared) {
  if (!*prepared.experiment.options.protocol) {
    ChooseLikeNccl(prepared);
    return;
  }
  std::vector<std::pair<TimeNs, CollectiveAlgorithm>> times;
  std::string left_out;
  for (const CollectiveAlgorithm algorithm : AutomaticAlgorithms(prepared.experiment)) {
    if (const std::optional<TimeNs> time = ScoutTime(prepared.experiment, algorithm)) {
      times.emplace_back(*time, algorithm);
    } else {
      left_out += std::string(left_out.empty() ? "; left out, above --flow-limit: " : ", ") +
                  fabric::ToString(algorithm);
    }
  }
  if (times.empty()) {
    throw Error("--flow-limit", std::to_string(prepared.experiment.options.flow_limit),
                "more, as every algorithm needs more flows");
  }
  std::sort(times.begin(), times.end());
  prepared.algorithm = times.front().second;
  for (const auto& [time, algorithm] : times) {
    prepared.reason += (prepared.reason.empty() ? "" : ", ") +
                       std::string(fabric::ToString(algorithm)) + " " + FormatTime(time);
  }
  prepared.reason = "fastest at flow fidelity: " + prepared.reason + left_out;
}

void PrepareFlows(PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  NetworkRequest request = e.network;
  if (!e.options.flows.empty()) {  // all hosts are endpoints, by number, as any may appear
    request.placement.text = "packed";
    request.placement.workers = 0;
    request.topology.hostsNeeded = e.least_hosts;
  }
  prepared.network = BuildNetwork(request);
  const Network& network = *prepared.network;
  prepared.flows = !e.options.pattern.empty()
                       ? MakePattern(e.options.pattern, e.bytes.front(), request.seed, network)
                   : e.duration > 0 ? ReadEndlessFlows(e.options.flows, network)
                                    : ReadFlows(e.options.flows, network);
  if (e.duration > 0) {
    prepared.flows =
        WithExpectedBytes(std::move(prepared.flows), e.duration, network, e.options.flows);
  }
}

// Throws Error if there are too many flows, before anything is built for each of them.
void CheckFlows(const PreparedExperiment& prepared) {
  const double flows = FlowCount(prepared);
  if (WithinLimit(prepared.experiment, flows)) return;
  throw Error("--flow-limit", std::to_string(prepared.experiment.options.flow_limit),
              fmt::format("{:.3g} or more: so many flows are simulated, which takes {}", flows,
                          FlowWallTime(flows)));
}

// Returns the wall time of the packet engine.
double SecondsOfPackets(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  CostEstimate estimate(*prepared.network);
  if (e.HasFlows()) {
    for (const FlowRequest& flow : prepared.flows) {
      estimate.AddFlow(flow.source, flow.destination, flow.bytes);
    }
  } else {
    estimate.Add(TrafficOf(e, prepared.algorithm, *prepared.network, 0), e.options.repeat);
  }
  return estimate.Seconds();
}

void ChooseFidelities(PreparedExperiment& prepared) {
  std::vector<Fidelity>& fidelities = prepared.experiment.fidelities;
  const FidelityChoice choice =
      ChooseFidelity(SecondsOfPackets(prepared), 1, prepared.experiment.packet_budget);
  if (choice.fidelity == Fidelity::kPacket) fidelities.push_back(choice.fidelity);
  prepared.fidelity_reason = "auto: " + NamesOf(fidelities, " and ") + "; " + choice.reason;
}

}  // namespace

PreparedExperiment Prepare(Experiment experiment) {
  PreparedExperiment prepared;
  prepared.experiment = std::move(experiment);
  if (prepared.experiment.HasFlows()) {
    PrepareFlows(prepared);
  } else {
    if (prepared.experiment.algorithm) {
      prepared.algorithm = *prepared.experiment.algorithm;
    } else {
      ChooseAlgorithm(prepared);
    }
    prepared.network = BuildNetwork(NetworkFor(prepared.experiment, prepared.algorithm));
    CheckFlows(prepared);
    fabric::StepGraph(TrafficOf(prepared.experiment, prepared.algorithm, *prepared.network, 0));
  }
  if (prepared.experiment.automatic) ChooseFidelities(prepared);
  for (const Fidelity fidelity : prepared.experiment.fidelities) {
    TryEngine(FactoryOf(fidelity, "--fidelity"), *prepared.network);
  }
  return prepared;
}

double FlowCount(const PreparedExperiment& prepared) {
  return prepared.experiment.HasFlows()
             ? static_cast<double>(prepared.flows.size())
             : FlowsOf(prepared.experiment, prepared.algorithm, *prepared.network);
}

std::string FlowWallTime(double flows) {
  // Flows per second: for a ring in order (docs/results/performance.md), and for flows that meet
  // everywhere.
  constexpr double kFastest = 15e6, kSlow = 1e6;
  return WallTimeInWords(flows / kFastest) + " to " + WallTimeInWords(flows / kSlow) +
         " of wall time without packets";
}

double PacketSeconds(const PreparedExperiment& prepared) {
  return prepared.experiment.Asks(Fidelity::kPacket) ? SecondsOfPackets(prepared) : 0;
}

}  // namespace legacy
