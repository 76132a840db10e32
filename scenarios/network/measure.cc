#include "scenarios/network/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/parse.h"
#include "base/programs/progress_line.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/collective/tuning.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using WallClock = std::chrono::steady_clock;

// `auto` compares algorithms with the flow engine, which knows the fabric and costs little.
constexpr Fidelity kScout = Fidelity::kFlow;

double SecondsSince(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

// Returns the estimated number of flows of one simulation.
double FlowsOf(const Experiment& experiment, CollectiveAlgorithm algorithm,
               const Network& network) {
  double flows = 0;
  for (int bucket = 0; bucket < experiment.buckets; ++bucket) {
    flows += fabric::EstimatedFlows(SpecOf(experiment, algorithm, network, bucket));
  }
  return flows;
}

bool WithinLimit(const Experiment& experiment, double flows) {
  return flows <= static_cast<double>(experiment.flow_limit);
}

// Returns the step's time at flow fidelity, or nothing where there would be too many flows.
std::optional<TimeNs> ScoutTime(const Experiment& experiment, CollectiveAlgorithm algorithm) {
  const std::unique_ptr<Network> network = BuildNetwork(NetworkFor(experiment, algorithm));
  if (!WithinLimit(experiment, FlowsOf(experiment, algorithm, *network))) return std::nullopt;
  fabric::StepSimulator simulator(FactoryOf(kScout, "--collective"), network->request, false);
  return simulator.Simulate(TrafficOf(experiment, algorithm, *network, 0), 0).total;
}

// Builds the network with switches of nodes that sum; null where it has none.
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
  spec.channels = ChannelsOf(e.channels, *network);
  const auto choice =
      fabric::ChooseAsNccl(fabric::NcclAlgorithms(payload, sums), spec,
                           fabric::NodeLinksOf(network->topology, network->placement, spec.group));
  prepared.algorithm = choice->algorithm;
  prepared.reason = "taken: " + choice->reason;
}

void ChooseAlgorithm(PreparedExperiment& prepared) {
  if (!prepared.experiment.protocol) {
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
    throw Error("--flow-limit", std::to_string(prepared.experiment.flow_limit),
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
  if (!e.flows_file.empty()) {  // all hosts are endpoints, by number, as any may appear
    request.placement.text = "packed";
    request.placement.workers = 0;
    request.topology.hostsNeeded = e.least_hosts;
  }
  prepared.network = BuildNetwork(request);
  const Network& network = *prepared.network;
  prepared.flows = !e.pattern.empty()
                       ? MakePattern(e.pattern, e.bytes.front(), request.seed, network)
                   : e.duration > 0 ? ReadEndlessFlows(e.flows_file, network)
                                    : ReadFlows(e.flows_file, network);
  if (e.duration > 0) {
    prepared.flows =
        WithExpectedBytes(std::move(prepared.flows), e.duration, network, e.flows_file);
  }
}

// Throws Error where there are too many flows, before anything is built for each of them.
void CheckFlows(const PreparedExperiment& prepared) {
  const double flows = FlowCount(prepared);
  if (WithinLimit(prepared.experiment, flows)) return;
  throw Error("--flow-limit", std::to_string(prepared.experiment.flow_limit),
              fmt::format("{:.3g} or more: so many flows are simulated, which takes {}", flows,
                          FlowWallTime(flows)));
}

// Returns engines that call `on_delivered` at every delivery.
fabric::EngineFactory Watched(fabric::EngineFactory factory, const MeasureOptions& options) {
  if (!options.on_delivered) return factory;
  return TraceFlows(std::move(factory), {},
                    [told = options.on_delivered](const fabric::Flow&, TimeNs, bool delivered,
                                                  const fabric::RoceFlow*) {
                      if (delivered) told();
                    });
}

// Samplers record telemetry, and queues, where they are asked for.
class Samplers {
 public:
  explicit Samplers(const MeasureOptions& options)
      : options_(options),
        telemetry_(options.telemetry_every),
        queues_(options.queues_every, true, "--sample") {}

  // Returns the same engines, which record into this object.
  fabric::EngineFactory Wrap(fabric::EngineFactory factory) {
    if (options_.telemetry_every > 0) factory = telemetry_.Wrap(std::move(factory));
    if (options_.queues_every > 0) factory = queues_.Wrap(std::move(factory));
    return factory;
  }
  void Take(Measurement& m) {
    m.telemetry = telemetry_.Take();
    m.queues = queues_.Take();
  }

 private:
  const MeasureOptions& options_;
  TelemetryRecorder telemetry_;
  TelemetryRecorder queues_;
};

Measurement MeasureFlows(const PreparedExperiment& prepared, Fidelity fidelity,
                         const MeasureOptions& options) {
  const auto wall = WallClock::now();
  Samplers samplers(options);
  FlowListTiming result = SimulateFlows(
      prepared.flows, prepared.network->request,
      samplers.Wrap(Watched(FactoryOf(fidelity, "--fidelity", options.files), options)));
  Measurement m;
  m.fidelity = fidelity;
  m.timing = std::move(result.timing);
  m.flows = std::move(result.flows);
  samplers.Take(m);
  m.wall_seconds = SecondsSince(wall);
  return m;
}

// Measures endless flows. The run goes on for a window, so that what is under way at its end
// counts.
Measurement MeasureEndless(const PreparedExperiment& prepared, Fidelity fidelity,
                           const MeasureOptions& options) {
  const auto wall = WallClock::now();
  const Experiment& e = prepared.experiment;
  Samplers samplers(options);
  const auto engine = samplers.Wrap(Watched(FactoryOf(fidelity, "--fidelity", options.files),
                                            options))(prepared.network->request);
  EndlessGraph graph(prepared.flows, *prepared.network, e.duration, e.window_time);
  const fabric::EngineRequest& request = prepared.network->request;
  const auto background = request.background ? request.background(0) : nullptr;
  if (background) engine->SubmitBackground(*background, 0);
  engine->Submit(graph, 0);
  engine->RunUntil(e.duration);
  Measurement m;
  m.fidelity = fidelity;
  m.timing.total = e.duration;
  m.timing.counters = engine->Counters();
  m.timing.links = engine->Links();
  engine->RunUntil(Later(e.duration, e.window_time));
  m.windows = graph.Windows();
  samplers.Take(m);
  for (std::vector<TelemetrySample>* samples : {&m.telemetry, &m.queues}) {
    std::erase_if(*samples, [&](const TelemetrySample& s) { return s.end > e.duration; });
  }
  m.wall_seconds = SecondsSince(wall);
  return m;
}

void MeasureCollective(const PreparedExperiment& prepared, Fidelity fidelity,
                       const MeasureOptions& options, std::vector<Measurement>& measurements) {
  const Experiment& e = prepared.experiment;
  FlowRecorder recorder;
  Samplers samplers(options);
  fabric::EngineFactory factory =
      samplers.Wrap(Watched(FactoryOf(fidelity, "--fidelity", options.files), options));
  if (options.record_flows) factory = recorder.Wrap(std::move(factory));
  const bool memoise =
      !options.record_flows && options.telemetry_every == 0 && options.queues_every == 0;
  fabric::StepSimulator simulator(std::move(factory), prepared.network->request, memoise);
  TimeNs start = 0;
  for (int64_t r = 0; r < e.repeat; ++r) {
    const auto wall = WallClock::now();
    const auto step = static_cast<uint64_t>(r);
    Measurement m;
    m.fidelity = fidelity;
    m.repetition = r;
    m.start = start;
    m.traffic = TrafficOf(e, prepared.algorithm, *prepared.network, step);
    m.timing = simulator.Simulate(m.traffic, step, start);
    start = Later(start, m.timing.total);
    m.flows = recorder.Take();
    samplers.Take(m);
    m.wall_seconds = SecondsSince(wall);
    measurements.push_back(std::move(m));
  }
  if (fidelity == Fidelity::kPacket && e.Workers() > 1 && simulator.Totals().packets == 0 &&
      CollectiveBytes(e, prepared.algorithm) > 0) {
    throw Error("packet fidelity was asked for, but no packet was simulated");
  }
}

bool IsAllReduce(CollectiveAlgorithm algorithm) {
  return algorithm <= CollectiveAlgorithm::NvlsAllReduce;
}

bool IsAllGather(CollectiveAlgorithm algorithm) {
  return algorithm >= CollectiveAlgorithm::RingAllGather &&
         algorithm <= CollectiveAlgorithm::BruckAllGather;
}

bool IsAllToAll(CollectiveAlgorithm algorithm) {
  return algorithm == CollectiveAlgorithm::AllToAll || algorithm == CollectiveAlgorithm::AllToAllV;
}

// Returns true where all messages of an all-to-allv have one length.
bool SendsEqualPairs(const fabric::CollectiveSpec& spec) {
  std::set<int64_t> lengths;
  for (size_t pair = 0; pair < spec.pairBytes.size(); ++pair) {
    if (pair % (spec.bytes.size() + 1) != 0) lengths.insert(spec.pairBytes[pair]);
  }
  return lengths.size() <= 1;
}

// Returns the path where all workers and servers have equal links to one switch, else nothing.
std::optional<fabric::UniformPath> StarPath(const Network& network) {
  const fabric::Topology& topology = network.topology;
  std::optional<fabric::UniformPath> path;
  int centre = 0;
  const int hosts = network.placement.FirstAggregator();
  for (int endpoint = 0; endpoint < hosts; ++endpoint) {
    const std::vector<fabric::DirectedLink>& out = topology.Out(network.placement.NodeOf(endpoint));
    if (out.size() != 1) return std::nullopt;
    const fabric::Link& link = topology.LinkOf(out.front());
    const fabric::Port& port = link.ports[0];
    if (!path) {
      path = fabric::UniformPath{2, port.rateBps, link.delay};
      centre = topology.To(out.front());
    }
    if (topology.To(out.front()) != centre || port.rateBps != path->rateBps ||
        link.delay != path->delay || port.errorRate > 0 || port.schedule || !link.Symmetric()) {
      return std::nullopt;
    }
  }
  return path;
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
    estimate.Add(TrafficOf(e, prepared.algorithm, *prepared.network, 0), e.repeat);
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

TimeNs Measurement::Time() const {
  if (traffic.buckets.empty()) return timing.total;
  const std::vector<TimeNs>& ready = traffic.buckets.front().ready;
  return timing.total - *std::min_element(ready.begin(), ready.end());
}

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

std::vector<Measurement> Measure(const PreparedExperiment& prepared,
                                 const MeasureOptions& options) {
  std::vector<Measurement> measurements;
  for (const Fidelity fidelity : prepared.experiment.fidelities) {
    if (prepared.experiment.duration > 0) {
      measurements.push_back(MeasureEndless(prepared, fidelity, options));
    } else if (prepared.experiment.HasFlows()) {
      measurements.push_back(MeasureFlows(prepared, fidelity, options));
    } else {
      MeasureCollective(prepared, fidelity, options, measurements);
    }
  }
  return measurements;
}

int64_t CollectiveBytes(const Experiment& experiment, CollectiveAlgorithm algorithm) {
  const std::vector<int64_t>& bytes = experiment.bytes;
  if (IsAllGather(algorithm)) return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  if (algorithm == CollectiveAlgorithm::Broadcast) return bytes[experiment.root];
  return *std::max_element(bytes.begin(), bytes.end());
}

std::optional<double> BusFactor(CollectiveAlgorithm algorithm, int workers) {
  const double others = static_cast<double>(workers - 1) / workers;
  if (IsAllReduce(algorithm)) return 2 * others;
  if (IsAllGather(algorithm) || IsAllToAll(algorithm) ||
      fabric::CanCarry(algorithm, fabric::Payload::ScatteredSum)) {
    return others;
  }
  if (algorithm == CollectiveAlgorithm::Broadcast) return 1;
  return std::nullopt;
}

std::optional<TimeNs> ClosedForm(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  const std::optional<fabric::UniformPath> path = StarPath(*prepared.network);
  const bool equal = std::all_of(e.bytes.begin(), e.bytes.end(),
                                 [&](int64_t bytes) { return bytes == e.bytes.front(); });
  if (e.HasFlows() || !path || !equal || e.buckets > 1 || e.compute > 0) return std::nullopt;
  const fabric::CollectiveSpec spec = SpecOf(e, prepared.algorithm, *prepared.network, 0);
  if (!SendsEqualPairs(spec)) return std::nullopt;
  if (e.network.placement.colocated || e.Workers() > spec.window + 1) return std::nullopt;
  return fabric::ClosedFormTime(spec, *path, prepared.network->request.transport);
}

double FlowCount(const PreparedExperiment& prepared) {
  return prepared.experiment.HasFlows()
             ? static_cast<double>(prepared.flows.size())
             : FlowsOf(prepared.experiment, prepared.algorithm, *prepared.network);
}

std::string FlowWallTime(double flows) {
  // Flows a second: those of a ring in order (docs/results/performance.md), and those that meet
  // everywhere.
  constexpr double kFastest = 15e6, kSlow = 1e6;
  return WallTimeInWords(flows / kFastest) + " to " + WallTimeInWords(flows / kSlow) +
         " of wall time without packets";
}

double PacketSeconds(const PreparedExperiment& prepared) {
  return prepared.experiment.Asks(Fidelity::kPacket) ? SecondsOfPackets(prepared) : 0;
}

}  // namespace legacy
