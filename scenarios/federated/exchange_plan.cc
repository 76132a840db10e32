#include "scenarios/federated/exchange_plan.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

#include "ns3-module/fabric/collective/closed-form.h"
#include "ns3-module/fabric/step/step.h"
#include "scenarios/federated/plan_parts.h"

namespace legacy {
namespace {

using fabric::DirectedLink;
using fabric::TimeNs;

// PairBytes counts what one endpoint sends to another in a round.
struct PairBytes {
  int64_t payload = 0;
  int64_t wire = 0;
  int64_t acks = 0;
};
using Pairs = std::map<std::pair<int, int>, PairBytes>;

// A sink that delivers every flow at once, and counts.
class CountingSink : public fabric::FlowSink {
 public:
  CountingSink(const fabric::Transport& transport, Pairs& pairs)
      : transport_(transport), pairs_(pairs) {}

  TimeNs Now() const override { return 0; }
  void Send(const fabric::Flow& flow) override {
    PairBytes& pair = pairs_[{flow.source, flow.destination}];
    pair.payload += flow.bytes;
    // Streams carry equal parts.
    const int64_t streams = transport_.streams;
    for (int64_t i = 0; i < streams; ++i) {
      const int64_t part = flow.bytes / streams + (i < flow.bytes % streams ? 1 : 0);
      pair.wire += transport_.WireBytes(part);
      pair.acks += transport_.AckWireBytes(part);
    }
    flows_.push_back(flow);
  }
  void Wake(TimeNs, uint64_t token) override { wakes_.push_back(token); }
  int64_t Abort(const fabric::Flow&) override { return 0; }

  void Run(fabric::FlowGraph& graph) {
    graph.OnStart(*this);
    while (!wakes_.empty() || !flows_.empty()) {
      if (!wakes_.empty()) {
        const uint64_t token = wakes_.front();
        wakes_.pop_front();
        graph.OnWake(token, *this);
      } else {
        const fabric::Flow flow = flows_.front();
        flows_.pop_front();
        graph.OnDelivered(flow, *this);
      }
    }
  }

 private:
  const fabric::Transport& transport_;
  Pairs& pairs_;
  std::deque<uint64_t> wakes_;
  std::deque<fabric::Flow> flows_;
};

// A PairPath sums up the links from one endpoint to another.
struct PairPath {
  double seconds_per_byte = 0;  // of the slowest link, at mean rates
  double delay = 0;             // seconds, one way
  double links = 0;
  double usd_per_gb = 0;
};

PairPath PairPathOf(const fabric::Topology& topology, int from, int to) {
  PairPath path;
  for (const fabric::LinkShare& hop : topology.Shares(from, to, 0)) {
    const auto rate = static_cast<double>(topology.MeanRate(hop.link));
    path.seconds_per_byte = std::max(path.seconds_per_byte, hop.share * 8 / rate);
    path.delay += hop.share * Seconds(topology.LinkOf(hop.link).delay);
    path.links += hop.share;
    path.usd_per_gb += hop.share * topology.PortOf(hop.link).usdPerGb;
  }
  return path;
}

// An exchange on its network: what each round sends, and what follows from that alone.
class ClientExchange {
 public:
  ClientExchange(const PlanRequest& request, const Remedy& remedy)
      : request_(request),
        transport_(request.transport),
        network_(NetworkOf(request.population, request, remedy)) {
    transport_.streams = request.streams;
    const ExchangeRequest& exchange = *request.exchange;
    PlaceRanks();
    fabric::CollectiveSpec spec;
    spec.algorithm = exchange.algorithm;
    const double bytes = std::ceil(static_cast<double>(request.up_bytes) * remedy.bytes);
    spec.bytes.assign(exchange.order.size(), static_cast<int64_t>(bytes));
    spec.group = exchange.group;
    spec.parents = placement_.parents;
    spec.firstAggregator = placement_.FirstAggregator();
    sent_ = fabric::BytesSent(spec);
    traffic_.workers = static_cast<int>(exchange.order.size());
    for (const int client : exchange.order) {
      const double seconds = remedy.work * request.WorkSeconds(client);
      traffic_.deviceFree.push_back(fabric::RoundedTime(seconds * 1e9));
    }
    traffic_.buckets.push_back({traffic_.deviceFree, {{spec, {}}}, {}});
    fabric::StepGraph graph(traffic_);
    CountingSink(transport_, pairs_).Run(graph);
  }
  ClientExchange(const ClientExchange&) = delete;
  ClientExchange& operator=(const ClientExchange&) = delete;

  const fabric::ClientNetwork& Network() const { return network_; }
  const fabric::StepTraffic& Traffic() const { return traffic_; }
  const std::vector<int>& Order() const { return request_.exchange->order; }

  fabric::StepSimulator Simulator() const {
    fabric::EngineRequest engine;
    engine.topology = &network_.topology;
    engine.placement = &placement_;
    engine.transport = transport_;
    engine.seed = request_.seed;
    return {request_.engine, engine};
  }

  // Returns the figures of hops, bounds and clients; those of rounds are empty.
  ExchangeFigures Figures() const {
    ExchangeFigures figures;
    double slowest = 0, delay = 0, links = 0;
    for (const auto& [ends, bytes] : pairs_) {
      const PairPath path = Path(ends);
      figures.hops.push_back({NameOf(ends.first), NameOf(ends.second), 8 / path.seconds_per_byte,
                              2 * path.delay, bytes.payload, bytes.wire});
      slowest = std::max(slowest, path.seconds_per_byte);
      if (path.delay >= delay) {
        delay = path.delay;
        links = path.links;
      }
    }
    std::stable_sort(figures.hops.begin(), figures.hops.end(),
                     [](const ExchangeHop& a, const ExchangeHop& b) {
                       return static_cast<double>(a.wire_bytes) / a.bits_per_second >
                              static_cast<double>(b.wire_bytes) / b.bits_per_second;
                     });
    SetBound(figures);
    fabric::UniformPath path;
    path.hops = std::max(1, static_cast<int>(std::lround(links)));
    path.rateBps = std::llround(8 / slowest);
    path.delay = fabric::RoundedTime(delay * 1e9 / path.hops);
    figures.closed_form_seconds =
        Seconds(fabric::ClosedFormTime(traffic_.buckets[0].calls[0].collective, path, transport_));
    figures.sent_bytes.resize(Order().size());
    figures.work_seconds.resize(Order().size());
    for (size_t rank = 0; rank < Order().size(); ++rank) {
      figures.sent_bytes[Order()[rank]] = sent_[rank];
      figures.work_seconds[Order()[rank]] = Seconds(traffic_.deviceFree[rank]);
    }
    return figures;
  }

  // Adds what clients send, get and pay in `rounds` rounds. A flow and its ACKs are paid by the
  // client that sends it; what switches send in a collective belongs to nobody.
  void AddBytes(int64_t rounds, std::vector<ClientTotals>& clients) const {
    for (const auto& [ends, bytes] : pairs_) {
      const auto& [from, to] = ends;
      if (to < traffic_.workers) clients[Order()[to]].wire_down += rounds * bytes.wire;
      if (from >= traffic_.workers) continue;
      ClientTotals& client = clients[Order()[from]];
      client.wire_up += rounds * bytes.wire;
      client.usd += static_cast<double>(rounds) * 1e-9 *
                    (static_cast<double>(bytes.wire) * Path(ends).usd_per_gb +
                     static_cast<double>(bytes.acks) * Path({to, from}).usd_per_gb);
    }
  }

  // Returns the wire bytes of a round, without ACKs.
  int64_t WireBytes() const {
    return std::accumulate(pairs_.begin(), pairs_.end(), int64_t{0},
                           [](int64_t sum, const auto& pair) { return sum + pair.second.wire; });
  }

 private:
  PairPath Path(std::pair<int, int> ends) const {
    return PairPathOf(network_.topology, placement_.NodeOf(ends.first),
                      placement_.NodeOf(ends.second));
  }

  // Returns the group's name for a client that is alone in it, else that of the node.
  std::string NameOf(int endpoint) const {
    if (endpoint < traffic_.workers) {
      const int group = request_.population.GroupOf(Order()[endpoint]);
      if (request_.population.Groups()[group].count == 1) {
        return request_.population.Groups()[group].name;
      }
    }
    return network_.topology.NodeName(placement_.NodeOf(endpoint));
  }

  void PlaceRanks() {
    const ExchangeRequest& exchange = *request_.exchange;
    fabric::PlacementRequest place;
    place.workers = static_cast<int>(exchange.order.size());
    place.aggregation = exchange.algorithm == fabric::CollectiveAlgorithm::InNetworkAllReduce;
    for (const int client : exchange.order) {
      place.hosts.push_back(network_.placement.hosts[client]);
    }
    placement_ = fabric::MakePlacement(place, network_.topology);
  }

  // Sets the time that no engine can go below while rates stay: that of the fullest link.
  void SetBound(ExchangeFigures& figures) const {
    const fabric::Topology& topology = network_.topology;
    figures.rates_change = topology.HasSchedules();
    std::vector<double> bytes(topology.Links().size() * 2, 0);
    for (const auto& [ends, sent] : pairs_) {
      for (const fabric::LinkShare& hop :
           topology.Shares(placement_.NodeOf(ends.first), placement_.NodeOf(ends.second), 0)) {
        bytes[hop.link] += hop.share * static_cast<double>(sent.wire);
      }
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      const auto link = static_cast<DirectedLink>(i);
      const double seconds = bytes[i] * 8 / static_cast<double>(topology.MeanRate(link));
      if (seconds <= figures.bound_seconds) continue;
      figures.bound_seconds = seconds;
      figures.fullest_link = topology.LinkName(link);
    }
  }

  const PlanRequest& request_;
  fabric::Transport transport_;
  fabric::ClientNetwork network_;
  fabric::Placement placement_;
  fabric::StepTraffic traffic_;
  std::vector<int64_t> sent_;  // payload by rank
  Pairs pairs_;
};

double UsdOf(const fabric::Topology& topology, const std::vector<fabric::LinkCounters>& links) {
  double usd = 0;
  for (size_t i = 0; i < links.size(); ++i) {
    usd += topology.PortOf(static_cast<DirectedLink>(i)).usdPerGb *
           static_cast<double>(links[i].bytes) * 1e-9;
  }
  return usd;
}

// Returns the round that begins at `start` and was timed.
PlannedRound RoundOf(const fabric::StepTiming& timing, int64_t version, TimeNs start,
                     const std::vector<double>& work, double usd_per_hour) {
  PlannedRound round;
  const auto clients = static_cast<int64_t>(work.size());
  const double seconds = Seconds(timing.total);
  round.row.version = version;
  round.row.start = start;
  round.row.end = fabric::Later(start, timing.total);
  round.row.wanted = round.row.started = clients;
  round.row.fates[static_cast<size_t>(fabric::TaskFate::Counted)] = clients;
  round.row.made = true;
  round.tasks = clients;
  round.cost.usd_hours = seconds / 3600 * usd_per_hour;
  round.client_seconds = seconds * static_cast<double>(clients);
  round.counted_seconds = round.client_seconds;
  round.work_seconds = std::accumulate(work.begin(), work.end(), 0.0);
  return round;
}

}  // namespace

Plan RunExchangePlan(const PlanRequest& request, const Remedy& remedy,
                     const std::function<void(int64_t)>& progress, const StopFlag* stop) {
  const auto begin = std::chrono::steady_clock::now();
  const ClientExchange exchange(request, remedy);
  const fabric::Topology& topology = exchange.Network().topology;
  fabric::StepSimulator simulator = exchange.Simulator();
  Plan plan;
  plan.exchange = exchange.Figures();
  const std::vector<double>& work = plan.exchange->work_seconds;
  const double longest = *std::max_element(work.begin(), work.end());
  plan.clients.resize(work.size());
  double usd_per_hour = 0;
  for (size_t client = 0; client < work.size(); ++client) {
    usd_per_hour += request.population.UsdPerHourOf(static_cast<int64_t>(client));
  }
  const int64_t own = request.Versions();
  const int64_t versions = remedy.versions > 0 ? std::min(remedy.versions, own) : own;
  std::vector<fabric::LinkCounters> links;
  TimeNs now = 0;
  while (plan.versions < versions) {
    if (stop && *stop != 0) break;
    const auto number = static_cast<uint64_t>(plan.versions);
    const fabric::StepTiming& timing = simulator.Simulate(exchange.Traffic(), number, now);
    PlannedRound round = RoundOf(timing, ++plan.versions, now, work, usd_per_hour);
    now = round.row.end;
    round.wire_up = exchange.WireBytes();
    round.cost.usd_up = UsdOf(topology, timing.links);
    plan.link_usd += round.cost.usd_up;
    fabric::Add(links, timing.links);
    plan.exchange->synchronisation.push_back(Seconds(timing.total) - longest);
    for (size_t rank = 0; rank < work.size(); ++rank) {
      plan.clients[exchange.Order()[rank]].busy_seconds += Seconds(timing.finish[rank]);
    }
    plan.rounds.push_back(round);
    if (progress) progress(plan.versions);
  }
  exchange.AddBytes(plan.versions, plan.clients);
  for (size_t i = 0; i < plan.clients.size(); ++i) {
    ClientTotals& client = plan.clients[i];
    client.tasks = client.counted = plan.versions;
    client.last_staleness = plan.versions > 0 ? 0 : -1;
    client.usd += Seconds(now) / 3600 * request.population.UsdPerHourOf(static_cast<int64_t>(i));
  }
  plan.interrupted = stop && *stop != 0;
  plan.counters = simulator.Totals();
  links.resize(topology.Links().size() * 2);
  plan.links = LinksOf(request, exchange.Network(), links, Seconds(now));
  plan.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return plan;
}

}  // namespace legacy
