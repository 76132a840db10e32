#include "scenarios/network/measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "compress/error.h"
#include "ns3-module/fabric/closed-form.h"
#include "scenarios/network/cost_estimate.h"
#include "scenarios/network/fidelity.h"
#include "scenarios/network/parse.h"

namespace legacy {
namespace {

using fabric::CollectiveKind;
using fabric::TimeNs;
using WallClock = std::chrono::steady_clock;

// `auto` looks with the flow engine: it knows the fabric and costs little.
constexpr const char* kScout = "flow";

double SecondsSince(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

TimeNs ScoutTime(const Experiment& experiment, CollectiveKind kind) {
  const std::unique_ptr<Network> network = BuildNetwork(NetworkFor(experiment, kind));
  fabric::StepSimulator simulator(FactoryOf(kScout, "--collective"), network->request, false);
  return simulator.Simulate(TrafficOf(experiment, kind, *network, 0), 0).total;
}

void ChooseKind(PreparedExperiment& prepared) {
  std::vector<std::pair<TimeNs, CollectiveKind>> times;
  for (const CollectiveKind kind : AutomaticKinds(prepared.experiment)) {
    times.emplace_back(ScoutTime(prepared.experiment, kind), kind);
  }
  std::sort(times.begin(), times.end());
  prepared.kind = times.front().second;
  for (const auto& [time, kind] : times) {
    prepared.reason += (prepared.reason.empty() ? "" : ", ") + std::string(fabric::ToString(kind)) +
                       " " + fabric::FormatTime(time);
  }
  prepared.reason = "fastest at flow fidelity: " + prepared.reason;
}

void PrepareFlows(PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  NetworkRequest request = e.network;
  if (!e.flows_file.empty()) {  // any host may appear: all are endpoints, by number
    request.placement.text = "packed";
    request.placement.workers = 0;
  }
  prepared.network = BuildNetwork(request);
  prepared.flows = e.flows_file.empty()
                       ? MakePattern(e.pattern, e.bytes.front(), request.seed, *prepared.network)
                       : ReadFlows(e.flows_file, *prepared.network);
}

void RunToEnd(fabric::Engine& engine) {
  if (!engine.RunUntil(fabric::kNever)) {
    throw Error(engine.Name() + " engine: stopped before all flows had arrived");
  }
}

// Warm connections: the list runs twice, and the second time counts.
Measurement MeasureFlows(const PreparedExperiment& prepared, const std::string& fidelity,
                         const MeasureOptions& options) {
  const auto wall = WallClock::now();
  FlowRecorder recorder;
  const fabric::EngineRequest& request = prepared.network->request;
  const auto engine = recorder.Wrap(FactoryOf(fidelity, "--fidelity", options.files))(request);
  fabric::EngineCounters counters;
  std::vector<fabric::LinkCounters> links;
  if (request.transport.warm && !engine->StartsWarm()) {
    FlowListGraph first(prepared.flows);
    engine->Submit(first, 0);
    RunToEnd(*engine);
    counters = engine->Counters();
    links = engine->Links();
  }
  FlowListGraph graph(prepared.flows);
  engine->Submit(graph, engine->Now());
  RunToEnd(*engine);

  Measurement m;
  m.fidelity = fidelity;
  m.flows = recorder.Take();
  for (const RecordedFlow& flow : m.flows) m.timing.total = std::max(m.timing.total, flow.end);
  m.timing.counters = fabric::Difference(engine->Counters(), counters);
  m.timing.links = fabric::Difference(engine->Links(), links);
  m.wall_seconds = SecondsSince(wall);
  return m;
}

void MeasureCollective(const PreparedExperiment& prepared, const std::string& fidelity,
                       const MeasureOptions& options, std::vector<Measurement>& measurements) {
  const Experiment& e = prepared.experiment;
  FlowRecorder recorder;
  fabric::EngineFactory factory = FactoryOf(fidelity, "--fidelity", options.files);
  if (options.record_flows) factory = recorder.Wrap(std::move(factory));
  fabric::StepSimulator simulator(std::move(factory), prepared.network->request,
                                  !options.record_flows);
  for (int64_t r = 0; r < e.repeat; ++r) {
    const auto wall = WallClock::now();
    const auto step = static_cast<uint64_t>(r);
    Measurement m;
    m.fidelity = fidelity;
    m.repetition = r;
    m.traffic = TrafficOf(e, prepared.kind, *prepared.network, step);
    m.timing = simulator.Simulate(m.traffic, step);
    m.flows = recorder.Take();
    m.wall_seconds = SecondsSince(wall);
    measurements.push_back(std::move(m));
  }
  if (fidelity == "packet" && e.Workers() > 1 && simulator.Totals().packets == 0 &&
      CollectiveBytes(e, prepared.kind) > 0) {
    throw Error("packet fidelity was asked for, but no packet was simulated");
  }
}

bool IsAllReduce(CollectiveKind kind) { return kind <= CollectiveKind::InNetworkAllReduce; }

bool IsAllGather(CollectiveKind kind) {
  return kind >= CollectiveKind::RingAllGather && kind <= CollectiveKind::HierarchicalAllGather;
}

// Equal links from all workers and servers to one switch, or nothing.
std::optional<fabric::UniformPath> StarPath(const Network& network) {
  const fabric::Topology& topology = network.topology;
  std::optional<fabric::UniformPath> path;
  int centre = 0;
  const int hosts =
      network.placement.Endpoints() - static_cast<int>(network.placement.aggregators.size());
  for (int endpoint = 0; endpoint < hosts; ++endpoint) {
    const std::vector<fabric::DirectedLink>& out = topology.Out(network.placement.NodeOf(endpoint));
    if (out.size() != 1) return std::nullopt;
    const fabric::Link& link = topology.LinkOf(out.front());
    if (!path) {
      path = fabric::UniformPath{2, link.rateBps, link.delay};
      centre = topology.To(out.front());
    }
    if (topology.To(out.front()) != centre || link.rateBps != path->rateBps ||
        link.delay != path->delay || link.errorRate > 0) {
      return std::nullopt;
    }
  }
  return path;
}

// Wall time of the packet engine.
double SecondsOfPackets(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  CostEstimate estimate(*prepared.network);
  if (e.HasFlows()) {
    for (const FlowRequest& flow : prepared.flows) {
      estimate.AddFlow(flow.source, flow.destination, flow.bytes);
    }
  } else {
    estimate.Add(TrafficOf(e, prepared.kind, *prepared.network, 0), e.repeat);
  }
  return estimate.Seconds();
}

void ChooseFidelities(PreparedExperiment& prepared) {
  std::vector<std::string>& fidelities = prepared.experiment.fidelities;
  const FidelityChoice choice =
      ChooseFidelity(SecondsOfPackets(prepared), 1, prepared.experiment.packet_budget);
  if (choice.fidelity == "packet") fidelities.push_back("packet");
  prepared.fidelity_reason = "auto: " + Join(fidelities, " and ") + "; " + choice.reason;
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
    if (prepared.experiment.kind) {
      prepared.kind = *prepared.experiment.kind;
    } else {
      ChooseKind(prepared);
    }
    prepared.network = BuildNetwork(NetworkFor(prepared.experiment, prepared.kind));
    fabric::StepGraph(TrafficOf(prepared.experiment, prepared.kind, *prepared.network, 0));
  }
  if (prepared.experiment.automatic) ChooseFidelities(prepared);
  for (const std::string& fidelity : prepared.experiment.fidelities) {
    TryEngine(FactoryOf(fidelity, "--fidelity"), *prepared.network);
  }
  return prepared;
}

std::vector<Measurement> Measure(const PreparedExperiment& prepared,
                                 const MeasureOptions& options) {
  std::vector<Measurement> measurements;
  for (const std::string& fidelity : prepared.experiment.fidelities) {
    if (prepared.experiment.HasFlows()) {
      measurements.push_back(MeasureFlows(prepared, fidelity, options));
    } else {
      MeasureCollective(prepared, fidelity, options, measurements);
    }
  }
  return measurements;
}

int64_t CollectiveBytes(const Experiment& experiment, CollectiveKind kind) {
  const std::vector<int64_t>& bytes = experiment.bytes;
  if (IsAllGather(kind)) return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  if (kind == CollectiveKind::Broadcast) return bytes[experiment.root];
  return *std::max_element(bytes.begin(), bytes.end());
}

std::optional<double> BusFactor(CollectiveKind kind, int workers) {
  const double others = static_cast<double>(workers - 1) / workers;
  if (IsAllReduce(kind)) return 2 * others;
  if (IsAllGather(kind) || kind == CollectiveKind::AllToAll) return others;
  if (kind == CollectiveKind::Broadcast) return 1;
  return std::nullopt;
}

std::optional<TimeNs> ClosedForm(const PreparedExperiment& prepared) {
  const Experiment& e = prepared.experiment;
  const std::optional<fabric::UniformPath> path = StarPath(*prepared.network);
  const bool equal = std::all_of(e.bytes.begin(), e.bytes.end(),
                                 [&](int64_t bytes) { return bytes == e.bytes.front(); });
  if (e.HasFlows() || !path || !equal || e.buckets > 1 || e.compute > 0) return std::nullopt;
  const fabric::CollectiveSpec spec = SpecOf(e, prepared.kind, *prepared.network, 0);
  if (e.network.placement.colocated || e.Workers() > spec.window + 1) return std::nullopt;
  return fabric::ClosedFormTime(spec, *path, prepared.network->request.transport);
}

double PacketSeconds(const PreparedExperiment& prepared) {
  const std::vector<std::string>& fidelities = prepared.experiment.fidelities;
  const bool asked = std::count(fidelities.begin(), fidelities.end(), "packet") > 0;
  return asked ? SecondsOfPackets(prepared) : 0;
}

}  // namespace legacy
