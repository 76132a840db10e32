// Collectives of some of the workers: members in any order, in place of workers 0 to n - 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "ns3-module/fabric/collective/alpha-beta.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/collective/collective_testing.h"

namespace legacy::fabric::members_test {
namespace {

constexpr int kOutside = 60;  // servers and aggregators of the placement begin here
const std::vector<int> kMembers = {41, 7, 8, 3, 59, 12, 30, 0};

class MembersOf : public testing::TestWithParam<CollectiveAlgorithm> {};

INSTANTIATE_TEST_SUITE_P(Algorithms, MembersOf, testing::ValuesIn(CollectiveAlgorithms()),
                         [](const auto& info) {
                           std::string name = ToString(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// What happened in a run, in order: flows that were sent and workers that were done.
struct Event {
  TimeNs when = 0;
  int source = 0;  // or the worker that is done
  int destination = -1;
  int64_t bytes = 0;
  uint64_t tag = 0;
  bool more = false;
  uint16_t lane = 0;
  bool operator==(const Event& other) const {
    return std::tie(when, source, destination, bytes, tag, more, lane) ==
           std::tie(other.when, other.source, other.destination, other.bytes, other.tag, other.more,
                    other.lane);
  }
};

// Runs a collective whose workers start at random times, in the order given.
std::vector<Event> EventsOf(const CollectiveSpec& spec, const std::vector<int>& workers,
                            uint64_t seed) {
  std::vector<Event> events;
  RandomNetwork network(seed);
  const auto collective = MakeCollective(spec, kTagBase, [&](int worker, FlowSink& sink) {
    EXPECT_EQ(&sink, &network);
    events.push_back({network.Now(), worker});
  });
  network.on_send = [&](const Flow& flow) {
    events.push_back(
        {network.Now(), flow.source, flow.destination, flow.bytes, flow.tag, flow.more, flow.lane});
  };
  network.on_delivered = [&](const Flow& flow) { collective->OnDelivered(flow, network); };
  network.on_wake = [&](uint64_t token) {
    collective->OnWake(CollectiveOfWake(token).value().mark, network);
  };
  for (int worker : workers) {
    network.Later([&, worker] { collective->Start(worker, network); });
  }
  network.Run();
  EXPECT_TRUE(collective->Done());
  return events;
}

// Returns a spec among 8 workers, or among kMembers, with servers and aggregators from kOutside on.
CollectiveSpec SpecOf(CollectiveAlgorithm algorithm, bool members) {
  CollectiveSpec spec = AnySpec(algorithm, static_cast<int>(kMembers.size()), 1001);
  const int moved = kOutside - spec.firstAggregator;
  for (int& parent : spec.parents) parent += parent < 0 ? 0 : moved;
  spec.firstAggregator = kOutside;
  if (TakesProtocols(algorithm)) spec.protocol = Protocol::Simple;  // messages wait before they go
  if (!members) return spec;
  spec.members = kMembers;
  if (HasServers(spec)) spec.root = kOutside;
  return spec;
}

// The collective of members does what that of workers 0 to n - 1 does, under other names.
TEST_P(MembersOf, DoWhatTheFirstWorkersDo) {
  const auto count = static_cast<int>(kMembers.size());
  std::vector<int> first(count);
  std::iota(first.begin(), first.end(), 0);
  const auto name = [&](int endpoint) {
    if (endpoint < count) return endpoint < 0 ? endpoint : kMembers[endpoint];
    return HasServers(AnySpec(GetParam(), 1, 1)) ? endpoint - count + kOutside : endpoint;
  };
  for (uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<Event> expected = EventsOf(SpecOf(GetParam(), false), first, seed);
    for (Event& event : expected) {
      event.source = name(event.source);
      event.destination = name(event.destination);
    }
    EXPECT_TRUE(EventsOf(SpecOf(GetParam(), true), kMembers, seed) == expected) << seed;
    EXPECT_GT(expected.size(), kMembers.size());
  }
  const CollectiveSpec spec = SpecOf(GetParam(), true);
  EXPECT_EQ(BytesSent(spec), BytesSent(SpecOf(GetParam(), false))) << "by member";
  EXPECT_EQ(BytesReceived(spec), BytesReceived(SpecOf(GetParam(), false)));
  EXPECT_EQ(EstimatedFlows(spec), EstimatedFlows(SpecOf(GetParam(), false)));
}

TEST_P(MembersOf, OneMemberIsDoneAtOnce) {
  CollectiveSpec spec = AnySpec(GetParam(), 1, 1000);
  spec.members = {5};
  spec.root = HasServers(spec) ? 6 : 0;
  for (int& parent : spec.parents) parent += parent < 0 ? 0 : kOutside;
  spec.firstAggregator += kOutside;
  EXPECT_EQ(EventsOf(spec, {5}, 1).size(), 1u);
}

// A graph of a collective of members, which all start with the graph.
class MembersGraph : public FlowGraph {
 public:
  explicit MembersGraph(const CollectiveSpec& spec)
      : members_(spec.members),
        collective_(MakeCollective(spec, 0, [this](int, FlowSink& sink) { end = sink.Now(); })) {}
  void OnStart(FlowSink& sink) override {
    for (int member : members_) collective_->Start(member, sink);
  }
  void OnDelivered(const Flow& flow, FlowSink& sink) override {
    collective_->OnDelivered(flow, sink);
  }
  void OnWake(uint64_t token, FlowSink& sink) override {
    collective_->OnWake(CollectiveOfWake(token).value().mark, sink);
  }
  bool Done() const override { return collective_->Done(); }

  TimeNs end = 0;

 private:
  std::vector<int> members_;
  std::unique_ptr<Collective> collective_;
};

// Two members in one leaf, or in two: engines take the members' own routes, and the closed form
// with their typical path is the analytic engine's time.
TEST(Members, TakeTheirOwnRoutes) {
  const Tier tier{1'000'000'000, 1'000, 0};
  const Topology topology = BuildLeafSpine(2, 4, 4, tier, tier);
  const Placement placement = MakePlacement({"packed", 8}, topology);
  EngineRequest request;
  request.topology = &topology;
  request.placement = &placement;
  request.transport = MakeTransport("datacenter");
  request.transport.connections = ConnectionKind::Cold;
  CollectiveSpec spec;
  spec.bytes = {100'000, 100'000};
  const auto time = [&](const std::vector<int>& members, const EngineFactory& make) {
    spec.members = members;
    MembersGraph graph(spec);
    const std::unique_ptr<Engine> engine = make(request);
    engine->Submit(graph, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return graph.end;
  };
  for (const std::vector<int>& members : {std::vector<int>{2, 1}, {1, 6}}) {
    const UniformPath path = TypicalPath(topology, placement, request.transport, members);
    EXPECT_EQ(path.hops, members[1] == 6 ? 4 : 2);
    const TimeNs closed = ClosedFormTime(spec, path, request.transport);
    EXPECT_EQ(time(members, MakeAnalyticEngine), closed);
    EXPECT_NEAR(NeighbourLatency(topology, placement, request.transport, members), 1e-6 * path.hops,
                1e-12);
  }
  EXPECT_LT(time({2, 1}, MakeFlowEngine), time({1, 6}, MakeFlowEngine));
  EXPECT_EQ(time({2, 1}, MakeFlowEngine), time({5, 4}, MakeFlowEngine));
  EXPECT_NE(MessageOf([&] {
              TypicalPath(topology, placement, {}, {1, 8});
            }).find("worker: got '8'; allowed: 0 to 7"),
            std::string::npos);
}

TEST(Members, NodesAreTheirOwn) {
  const Topology rails = BuildRailOptimised(2, 4, 2, {800'000'000'000, 0, 0},
                                            {200'000'000'000, 0, 0}, {200'000'000'000, 0, 0});
  const Placement placement = MakePlacement({"packed", 8}, rails);
  const NodeLinks two = NodeLinksOf(rails, placement, 2, {0, 1, 4, 5});
  EXPECT_DOUBLE_EQ(two.inside, 100);
  EXPECT_EQ(two.rails, 2);
  const NodeLinks across = NodeLinksOf(rails, placement, 2, {0, 4});
  EXPECT_DOUBLE_EQ(across.inside, 25) << "what it calls a node are two of the fabric";
}

TEST(Members, MistakesAreNamed) {
  const auto error = [](CollectiveAlgorithm algorithm, auto change) {
    CollectiveSpec spec = SpecOf(algorithm, true);
    change(spec);
    return MessageOf([&] { CheckCollective(spec); });
  };
  using A = CollectiveAlgorithm;
  EXPECT_EQ(error(A::RingAllReduce, [](CollectiveSpec& s) { s.members.pop_back(); }),
            "ring-allreduce: members: got '7 workers'; allowed: 8, one for each of its sizes");
  EXPECT_EQ(error(A::RingAllReduce, [](CollectiveSpec& s) { s.members[2] = 41; }),
            "ring-allreduce: members: got 'worker 41 twice'; allowed: each worker once");
  EXPECT_EQ(error(A::RingAllReduce, [](CollectiveSpec& s) { s.members[2] = -1; }),
            "ring-allreduce: members: worker: got '-1'; allowed: 0 or more");
  EXPECT_EQ(error(A::ParameterServer, [](CollectiveSpec& s) { s.root = 59; }),
            "parameter-server: root (the first server): got '59'; allowed: 60 or more");
  EXPECT_EQ(error(A::NvlsAllReduce, [](CollectiveSpec& s) { s.members[0] = 60; }),
            "nvls-allreduce: aggregator: got '60'; allowed: 61 or more");
  EXPECT_NE(error(A::Broadcast, [](CollectiveSpec& s) { s.root = 41; }), "") << "the root is 0";
}

}  // namespace
}  // namespace legacy::fabric::members_test
