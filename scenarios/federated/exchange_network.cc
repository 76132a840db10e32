#include "scenarios/federated/exchange_network.h"

#include <algorithm>
#include <deque>
#include <numeric>
#include <string>

namespace legacy {
namespace {

using fabric::CollectiveAlgorithm;

// A CountingSink delivers every flow at once, and counts. Counts of the same pair are summed
// whenever there are twice as many counts as there were pairs.
class CountingSink : public fabric::FlowSink {
 public:
  explicit CountingSink(const fabric::Transport& transport) : transport_(transport) {}

  TimeNs Now() const override { return 0; }
  void Send(const fabric::Flow& flow) override {
    ExchangedBytes pair{.ends = {flow.source, flow.destination}, .payload = flow.bytes};
    // The streams of a transfer carry equal parts.
    const int64_t streams = transport_.streams;
    for (int64_t i = 0; i < streams; ++i) {
      const int64_t part = flow.bytes / streams + (i < flow.bytes % streams ? 1 : 0);
      pair.wire += transport_.WireBytes(part);
      pair.acks += transport_.AckWireBytes(part);
    }
    pairs_.push_back(pair);
    if (pairs_.size() >= limit_) {
      AddUp(pairs_);
      limit_ = std::max(kLeast, 2 * pairs_.size());
    }
    flows_.push_back(flow);
  }
  void Wake(TimeNs, uint64_t token) override { wakes_.push_back(token); }
  int64_t Abort(const fabric::Flow&) override { return 0; }
  void Pause() override {}

  // Returns the counts of what the graph sends.
  ExchangedPairs Run(fabric::FlowGraph& graph) {
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
    AddUp(pairs_);
    return std::move(pairs_);
  }

 private:
  static constexpr size_t kLeast = 65'536;

  const fabric::Transport& transport_;
  ExchangedPairs pairs_;
  size_t limit_ = kLeast;
  std::deque<uint64_t> wakes_;
  std::deque<fabric::Flow> flows_;
};

// Returns the algorithm of the same family for the other kind of calls, if it supports this number
// of ranks, or else a ring: "direct-allgather" for "direct-allreduce".
CollectiveAlgorithm PartnerOf(CollectiveAlgorithm algorithm, fabric::Payload payload, int ranks) {
  const std::string name = fabric::ToString(algorithm);
  const std::string family = name.substr(0, name.rfind('-') + 1);
  for (const CollectiveAlgorithm other : PeerAlgorithms(payload)) {
    const bool same = std::string(fabric::ToString(other)).substr(0, family.size()) == family;
    if (same && fabric::TakesWorkers(other, ranks)) return other;
  }
  return payload == fabric::Payload::Sum ? CollectiveAlgorithm::RingAllReduce
                                         : CollectiveAlgorithm::RingAllGather;
}

}  // namespace

ExchangeNetwork::ExchangeNetwork(PlanNetworks& networks, const PlanRemedy& remedy)
    : request_(networks.Request()),
      transport_(request_.transport),
      network_(networks.With(remedy)),
      as_it_is_(remedy.AsItIs()),
      priced_(std::ranges::any_of(network_->topology.Links(), [](const fabric::Link& link) {
        return link.ports[0].usdPerGb != 0 || link.ports[1].usdPerGb != 0;
      })) {
  transport_.streams = request_.streams;
  const ExchangeRequest& exchange = *request_.exchange;
  fabric::PlacementRequest place;
  place.workers = Ranks();
  place.aggregation = fabric::AggregationOf(exchange.algorithm);
  for (const int client : exchange.order) place.hosts.push_back(network_->placement.hosts[client]);
  placement_ = fabric::MakePlacement(place, network_->topology);
}

fabric::StepSimulator ExchangeNetwork::Simulator() const {
  fabric::EngineRequest engine;
  engine.topology = &network_->topology;
  engine.placement = &placement_;
  engine.transport = transport_;
  engine.seed = request_.seed;
  return {request_.engine, engine};
}

TransferOptions ExchangeNetwork::Transfers() const {
  const CollectiveAlgorithm algorithm = request_.exchange->algorithm;
  TransferOptions options;
  if (fabric::CanCarry(algorithm, fabric::Payload::Sum)) {
    options.all_reduce = algorithm;
    options.all_gather = PartnerOf(algorithm, fabric::Payload::Concat, Ranks());
  } else {
    options.all_reduce = PartnerOf(algorithm, fabric::Payload::Sum, Ranks());
    options.all_gather = algorithm;
  }
  options.group = request_.exchange->group;
  options.parents = placement_.parents;
  options.first_aggregator = placement_.FirstAggregator();
  options.transport = transport_;
  return options;
}

ExchangedPairs ExchangeNetwork::PairsOf(const fabric::StepTraffic& traffic) const {
  fabric::StepGraph graph(traffic);
  return CountingSink(transport_).Run(graph);
}

PairPath ExchangeNetwork::Path(std::pair<int, int> ends) const {
  const fabric::Topology& topology = network_->topology;
  PairPath path;
  path.shares = topology.Shares(placement_.NodeOf(ends.first), placement_.NodeOf(ends.second), 0);
  for (const fabric::LinkShare& hop : path.shares) {
    const auto rate = static_cast<double>(topology.MeanRate(hop.link));
    path.seconds_per_byte = std::max(path.seconds_per_byte, hop.share * 8 / rate);
    path.delay += hop.share * InSeconds(topology.LinkOf(hop.link).delay);
    path.links += hop.share;
    path.usd_per_gb += hop.share * topology.PortOf(hop.link).usdPerGb;
  }
  return path;
}

void ExchangeNetwork::AddBytes(const ExchangedPairs& pairs, int64_t rounds,
                               std::vector<ClientTotals>& clients) const {
  for (const ExchangedBytes& bytes : pairs) {
    const auto& [from, to] = bytes.ends;
    if (to < Ranks()) clients[Order()[to]].wire_down += rounds * bytes.wire;
    if (from >= Ranks()) continue;
    ClientTotals& client = clients[Order()[from]];
    client.wire_up += rounds * bytes.wire;
    if (!priced_) continue;
    client.usd += static_cast<double>(rounds) * 1e-9 *
                  (static_cast<double>(bytes.wire) * Path(bytes.ends).usd_per_gb +
                   static_cast<double>(bytes.acks) * Path({to, from}).usd_per_gb);
  }
}

void AddUp(ExchangedPairs& pairs) {
  std::ranges::sort(pairs, {}, &ExchangedBytes::ends);
  size_t kept = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    if (kept > 0 && pairs[kept - 1].ends == pairs[i].ends) {
      ExchangedBytes& sum = pairs[kept - 1];
      sum.payload += pairs[i].payload;
      sum.wire += pairs[i].wire;
      sum.acks += pairs[i].acks;
    } else {
      pairs[kept++] = pairs[i];
    }
  }
  pairs.resize(kept);
}

int64_t WireBytes(const ExchangedPairs& pairs) {
  return std::accumulate(pairs.begin(), pairs.end(), int64_t{0},
                         [](int64_t sum, const auto& pair) { return sum + pair.wire; });
}

}  // namespace legacy
