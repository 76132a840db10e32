#include "scenarios/network/measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include "base/error.h"
#include "ns3-module/fabric/collective/closed-form.h"
#include "scenarios/network/fidelity.h"

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;
using WallClock = std::chrono::steady_clock;

double SecondsSince(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
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

// Samplers record telemetry and queues if these are requested.
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

// Measures endless flows. The run continues for one more window, so that messages in flight at its
// end count.
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
  for (int64_t r = 0; r < e.options.repeat; ++r) {
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

// Returns the path if all workers and servers have equal links to one switch, else nothing.
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

}  // namespace

TimeNs Measurement::Time() const {
  if (traffic.buckets.empty()) return timing.total;
  const std::vector<TimeNs>& ready = traffic.buckets.front().ready;
  return timing.total - *std::min_element(ready.begin(), ready.end());
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
  if (algorithm == CollectiveAlgorithm::Broadcast) return bytes[experiment.options.root];
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
  if (e.HasFlows() || !path || !equal || e.options.buckets > 1 || *e.options.compute > 0)
    return std::nullopt;
  const fabric::CollectiveSpec spec = SpecOf(e, prepared.algorithm, *prepared.network, 0);
  if (!SendsEqualPairs(spec)) return std::nullopt;
  if (e.network.placement.colocated || e.Workers() > spec.window + 1) return std::nullopt;
  return fabric::ClosedFormTime(spec, *path, prepared.network->request.transport);
}

}  // namespace legacy
