// Makes step plans, and runs them, in tests.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ns3-module/fabric/engine/engine.h"
#include "ns3-module/fabric/step/plan-graph.h"
#include "ns3-module/fabric/step/step-plan.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::plan_test {

// A star of 8 Gbit/s, at which a byte takes a nanosecond, with 1 us a hop and neither headers nor
// ACKs: n <= 1000 bytes take 2 (1000 + n) ns.
struct Star {
  explicit Star(int hosts)
      : topology(BuildStar(hosts, {8'000'000'000, 1'000, 0})),
        placement(MakePlacement({"packed", hosts}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
    request.transport.segmentBytes = 1000;
    request.transport.headerBytes = 0;
    request.transport.ackBytes = 0;
    request.transport.connections = ConnectionKind::Cold;
  }
  PlanTiming Time(const StepPlan& plan, const EngineFactory& make = MakeAnalyticEngine) const {
    PlanGraph graph(plan);
    const std::unique_ptr<Engine> engine = make(request);
    engine->Submit(graph, 7);  // times count from the step's start
    EXPECT_TRUE(engine->RunUntil(kNever));
    return graph.Times();
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
};

inline constexpr int kCompute = 0;
inline constexpr int kGather = 1;
inline constexpr int kReduce = 2;
inline constexpr int kPipe = 3;

// A plan with a stream of each kind and one communicator, "data".
inline StepPlan EmptyPlan(int ranks) {
  StepPlan plan;
  plan.ranks = ranks;
  plan.streams = {{"compute", false}, {"gather", true}, {"reduce", true}, {"pipe", false}};
  plan.communicators = {"data"};
  return plan;
}

inline StepOperation Segment(std::vector<TimeNs> duration, std::vector<int> after = {},
                             SegmentLabel label = SegmentLabel::Compute) {
  StepOperation operation;
  operation.stream = kCompute;
  operation.duration = std::move(duration);
  operation.after = std::move(after);
  operation.label = label;
  return operation;
}

inline StepOperation CollectiveOf(std::vector<int> collective, std::vector<int> after = {},
                                  int stream = kReduce) {
  StepOperation operation;
  operation.kind = OperationKind::Collective;
  operation.stream = stream;
  operation.collective = std::move(collective);
  operation.after = std::move(after);
  return operation;
}

inline StepOperation Message(OperationKind kind, std::vector<int> peer, int tag, int64_t bytes,
                             std::vector<int> after = {}) {
  StepOperation operation;
  operation.kind = kind;
  operation.stream = kPipe;
  operation.peer = std::move(peer);
  operation.tag = tag;
  operation.bytes = bytes;
  operation.after = std::move(after);
  return operation;
}

inline CollectiveSpec Spec(CollectiveAlgorithm algorithm, std::vector<int64_t> bytes,
                           std::vector<int> members = {}) {
  CollectiveSpec spec;
  spec.algorithm = algorithm;
  spec.bytes = std::move(bytes);
  spec.members = std::move(members);
  return spec;
}

// Draws numbers that depend on the seed only.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(seed) {}
  int Below(int bound) {
    return static_cast<int>(Reduce(HashWords({seed_, draws_++}), static_cast<uint64_t>(bound)));
  }

 private:
  uint64_t seed_;
  uint64_t draws_ = 0;
};

// Returns a plan in which every rank has a role of its own, with collectives of some ranks,
// messages, and segments on all streams. Ranks may list them in different orders, so that some
// plans never end.
inline StepPlan RandomPlan(uint64_t seed) {
  Draws draws(seed);
  const int ranks = 2 + draws.Below(4);
  StepPlan plan = EmptyPlan(ranks);
  plan.communicators.emplace_back("model");
  plan.contention = draws.Below(3) == 0 ? 0.25 : 0;
  plan.hostLimit = draws.Below(3) == 0 ? 1 + draws.Below(6) : 0;
  plan.roles.resize(ranks);
  for (int r = 0; r < ranks; ++r) plan.roles[r].ranks = {r};
  const auto add = [&](int rank, StepOperation operation) {
    std::vector<StepOperation>& list = plan.roles[rank].operations;
    const int number = static_cast<int>(list.size());
    for (int n = draws.Below(3); n > 0 && number > 0; --n) {
      operation.after.push_back(draws.Below(number));
    }
    operation.issue = number;
    if (draws.Below(10) == 0) operation.earliest = {TimeNs{1'000} * draws.Below(9)};
    list.push_back(std::move(operation));
  };
  for (int event = 3 + draws.Below(12); event > 0; --event) {
    const int kind = draws.Below(4);
    if (kind == 0) {
      add(draws.Below(ranks), Segment({TimeNs{500} * draws.Below(9)}));
    } else if (kind == 1) {
      const int from = draws.Below(ranks);
      const int to = (from + 1 + draws.Below(ranks - 1)) % ranks;
      const int tag = draws.Below(2);
      add(from, Message(OperationKind::Send, {to}, tag, 100 * draws.Below(20)));
      add(to, Message(OperationKind::Receive, {from}, tag, 0));
    } else {
      std::vector<int> members;
      for (int r = 0; r < ranks; ++r) {
        if (draws.Below(3) > 0) members.push_back(r);
      }
      if (members.empty()) continue;
      const auto algorithm =
          draws.Below(2) ? CollectiveAlgorithm::RingAllReduce : CollectiveAlgorithm::Broadcast;
      const int number = static_cast<int>(plan.collectives.size());
      plan.collectives.push_back(
          Spec(algorithm, std::vector<int64_t>(members.size(), 300 * draws.Below(9)), members));
      const int stream = draws.Below(4);
      const int communicator = draws.Below(3) - 1;
      for (int member : members) {
        StepOperation operation = CollectiveOf({number}, {}, stream);
        operation.communicator = communicator;
        add(member, operation);
      }
    }
    // Now and then a rank lists its last two operations the other way round.
    const int rank = draws.Below(ranks);
    std::vector<StepOperation>& list = plan.roles[rank].operations;
    const int last = static_cast<int>(list.size()) - 1;
    if (draws.Below(6) > 0 || last < 1) continue;
    if (std::count(list[last].after.begin(), list[last].after.end(), last - 1) > 0) continue;
    std::swap(list[last - 1], list[last]);
    std::swap(list[last - 1].issue, list[last].issue);
  }
  return plan;
}

// Returns a step of sharded training as FSDP has it, of one role: in each pass a unit's gather goes
// before its compute, and reductions follow in the backward pass.
inline StepPlan ShardedPlan(int ranks, int units) {
  StepPlan plan = EmptyPlan(ranks);
  plan.streams[kCompute].ordered = true;
  plan.roles.resize(1);
  plan.roles[0].ranks.resize(ranks);
  std::iota(plan.roles[0].ranks.begin(), plan.roles[0].ranks.end(), 0);
  std::vector<StepOperation>& list = plan.roles[0].operations;
  int issue = 0;
  const auto gather = [&](int unit) {
    list.push_back(CollectiveOf({static_cast<int>(plan.collectives.size())}, {}, kGather));
    list.back().name = "AG(" + std::to_string(unit) + ")";
    list.back().communicator = 0;
    list.back().issue = issue++;
    plan.collectives.push_back(
        Spec(CollectiveAlgorithm::RingAllGather, std::vector<int64_t>(ranks, 900)));
    return static_cast<int>(list.size()) - 1;
  };
  const auto compute = [&](TimeNs duration, int after) {
    std::vector<TimeNs> each;
    for (int r = 0; r < ranks; ++r) each.push_back(duration + 10 * r);
    list.push_back(Segment(each, {after}));
    return static_cast<int>(list.size()) - 1;
  };
  for (int unit = 0; unit < units; ++unit) compute(3'000, gather(unit));
  for (int unit = units - 1; unit >= 0; --unit) {
    const int computed = compute(6'000, gather(unit));
    list.push_back(CollectiveOf({static_cast<int>(plan.collectives.size())}, {computed}, kReduce));
    list.back().name = "RS(" + std::to_string(unit) + ")";
    list.back().communicator = 0;
    list.back().issue = issue++;
    plan.collectives.push_back(
        Spec(CollectiveAlgorithm::RingReduceScatter, std::vector<int64_t>(ranks, 900 * ranks)));
  }
  list.push_back(Segment({1'000}, {static_cast<int>(list.size()) - 1}, SegmentLabel::Update));
  return plan;
}

}  // namespace legacy::fabric::plan_test
