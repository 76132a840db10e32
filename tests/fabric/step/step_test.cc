#include "ns3-module/fabric/step/step.h"

#include <gtest/gtest.h>

#include <set>

#include "ns3-module/fabric/step/last-collective.h"
#include "ns3-module/fabric/topology/builders.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::step_test {
namespace {

// A star of 8 Gbit/s, at which a byte takes a nanosecond, with 1 us a hop and neither headers nor
// ACKs: n <= 1000 bytes take 2 (1000 + n) ns.
struct Network {
  explicit Network(int hosts, bool warm = false)
      : topology(BuildStar(hosts, {8'000'000'000, 1'000, 0})),
        placement(MakePlacement({"packed", hosts}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
    request.transport.segmentBytes = 1000;
    request.transport.headerBytes = 0;
    request.transport.ackBytes = 0;
    request.transport.connections = warm ? ConnectionKind::Warm : ConnectionKind::Cold;
  }
  StepTiming Time(const StepTraffic& traffic) const {
    return StepSimulator(MakeAnalyticEngine, request).Simulate(traffic, 0);
  }

  Topology topology;
  Placement placement;
  EngineRequest request;
};

CallTraffic Call(CollectiveAlgorithm algorithm, std::vector<int64_t> bytes,
                 std::vector<TimeNs> compute_before = {}) {
  CallTraffic call;
  call.collective.algorithm = algorithm;
  call.collective.bytes = std::move(bytes);
  call.computeBefore = std::move(compute_before);
  return call;
}

// Returns a step of two workers. Bucket 0 has one all-gather; bucket 1 has an all-gather, device
// work, and a broadcast from worker 0.
StepTraffic TwoBuckets() {
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {5'000, 600};
  traffic.buckets.resize(2);
  traffic.buckets[0].ready = {0, 500};
  traffic.buckets[0].calls = {Call(CollectiveAlgorithm::RingAllGather, {1000, 1000})};
  traffic.buckets[0].decode = {300, 300};
  traffic.buckets[1].ready = {5'000, 600};
  traffic.buckets[1].calls = {Call(CollectiveAlgorithm::RingAllGather, {1000, 1000}),
                              Call(CollectiveAlgorithm::Broadcast, {1000, 0}, {200, 100})};
  traffic.buckets[1].decode = {0, 50};
  return traffic;
}

TEST(Step, ByHand) {
  const StepTiming timing = Network(2).Time(TwoBuckets());
  // Bucket 0 is sent at 0 and 500 and takes 4000; worker 0's device is busy until 5000.
  EXPECT_EQ(timing.buckets[0].callDone[0], (std::vector<TimeNs>{4'500, 4'000}));
  EXPECT_EQ(timing.buckets[0].done, (std::vector<TimeNs>{5'300, 4'300}));
  // In bucket 1, worker 1's message waits until its NIC is free at 1500; worker 0's leaves at 5000.
  EXPECT_EQ(timing.buckets[1].callDone[0], (std::vector<TimeNs>{5'500, 9'000}));
  // Worker 0 works from 5500 to 5700, and its NIC is busy until 6000. Worker 1 has the broadcast at
  // 10000 and decodes it.
  EXPECT_EQ(timing.buckets[1].callDone[1], (std::vector<TimeNs>{5'700, 10'000}));
  EXPECT_EQ(timing.buckets[1].done, (std::vector<TimeNs>{5'700, 10'050}));
  EXPECT_EQ(timing.finish, (std::vector<TimeNs>{5'700, 10'050}));
  EXPECT_EQ(timing.decodeBusy, (std::vector<TimeNs>{500, 450}));
  // Bucket 0 is carried from 500, when both have begun it. Worker 0's device runs until 4500 and
  // decodes bucket 0 while bucket 1 is carried; worker 1's device is free at 600.
  EXPECT_EQ(timing.hidden, (std::vector<TimeNs>{4'000 + 300, 100}));
  EXPECT_EQ(timing.total, 10'050);
  EXPECT_EQ(timing.counters.flows, 5u);
  EXPECT_EQ(timing.links[0].bytes, 3'000);
  EXPECT_EQ(timing.links[2].bytes, 2'000);
}

TEST(Step, OneDeviceDecodesOneBucketAfterTheOther) {
  StepTraffic traffic;
  traffic.workers = 1;
  traffic.deviceFree = {1'000};
  traffic.buckets.resize(3);
  for (BucketTraffic& bucket : traffic.buckets) bucket = {{1'000}, {}, {100}};
  traffic.buckets[2].ready = {1'050};
  const StepTiming timing = Network(2).Time(traffic);
  EXPECT_EQ(timing.buckets[0].done[0], 1'100);
  EXPECT_EQ(timing.buckets[1].done[0], 1'200);
  EXPECT_EQ(timing.buckets[2].done[0], 1'300);
  EXPECT_EQ(timing.total, 1'300);
}

TEST(Step, NothingToSendEndsWithTheSlowestDevice) {
  StepTraffic traffic;
  traffic.workers = 3;
  traffic.deviceFree = {10, 40, 20};
  EXPECT_EQ(Network(3).Time(traffic).total, 40);
  traffic.buckets.resize(1);
  traffic.buckets[0] = {{5, 30, 20}, {Call(CollectiveAlgorithm::RingAllReduce, {0, 0, 0})}, {}};
  const StepTiming timing = Network(3).Time(traffic);
  EXPECT_EQ(timing.total, 40);
  EXPECT_EQ(timing.finish, (std::vector<TimeNs>{30, 40, 30}));
}

TEST(Step, StragglersDelayTheOthersThroughTheCollective) {
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {0, 0};
  traffic.buckets = {{{0, 0}, {Call(CollectiveAlgorithm::RingAllReduce, {2'000, 2'000})}, {}}};
  const TimeNs even = Network(2).Time(traffic).total;
  traffic.buckets[0].ready = {0, 50'000};
  const StepTiming late = Network(2).Time(traffic);
  EXPECT_EQ(late.total, 50'000 + even);
  // Worker 1 received worker 0's first chunk long before, so that both its rounds leave at once:
  // the second arrives right after the first.
  EXPECT_EQ(late.buckets[0].callDone[0],
            (std::vector<TimeNs>{50'000 + 4'000 + 1'000, 50'000 + 8'000}));
}

TEST(StepSimulator, MemoisedStepsEqualFreshOnes) {
  for (bool warm : {false, true}) {
    Network network(2, warm);
    StepSimulator memoising(MakeAnalyticEngine, network.request);
    StepSimulator fresh(MakeAnalyticEngine, network.request, false);
    StepTraffic other = TwoBuckets();
    other.buckets[0].decode[1] = 301;
    for (uint64_t step = 0; step < 6; ++step) {
      const StepTraffic traffic = step % 2 ? other : TwoBuckets();
      const StepTiming a = memoising.Simulate(traffic, step);
      const StepTiming b = fresh.Simulate(traffic, step);
      EXPECT_EQ(a.total, b.total);
      EXPECT_EQ(a.finish, b.finish);
      EXPECT_EQ(a.decodeBusy, b.decodeBusy);
      EXPECT_EQ(a.counters.events, b.counters.events);
      for (size_t i = 0; i < a.buckets.size(); ++i) {
        EXPECT_EQ(a.buckets[i].done, b.buckets[i].done);
        EXPECT_EQ(a.buckets[i].callDone, b.buckets[i].callDone);
      }
      for (size_t i = 0; i < a.links.size(); ++i) EXPECT_EQ(a.links[i].bytes, b.links[i].bytes);
    }
    EXPECT_EQ(memoising.FreshSteps(), 2);
    EXPECT_EQ(memoising.MemoisedSteps(), 4);
    EXPECT_EQ(fresh.FreshSteps(), 6);
    EXPECT_EQ(memoising.Totals().flows, 2u * 5);
    EXPECT_EQ(fresh.Totals().flows, 3 * memoising.Totals().flows);
  }
}

// An analytic engine whose first graph pays for its connections, and which may report to be random.
class ColdEngine : public Engine {
 public:
  ColdEngine(const EngineRequest& request, bool random)
      : inner_(MakeAnalyticEngine(request)), random_(random) {}
  std::string Name() const override { return "cold"; }
  bool Random() const override { return random_; }
  bool DependsOnTime() const override { return false; }
  std::string Fingerprint() const override { return Name(); }
  void Submit(FlowGraph& graph, TimeNs start) override {
    graph_.inner = &graph;
    graph_.delay = first_ ? 7'000 : 0;
    first_ = false;
    inner_->Submit(graph_, start);
  }
  void SubmitBackground(FlowGraph& graph, TimeNs start) override {
    inner_->SubmitBackground(graph, start);
  }
  void SetScheduleTime(TimeNs time) override { inner_->SetScheduleTime(time); }
  bool RunUntil(TimeNs until) override { return inner_->RunUntil(until); }
  TimeNs Now() const override { return inner_->Now(); }
  EngineCounters Counters() const override { return inner_->Counters(); }
  std::vector<LinkCounters> Links() const override { return inner_->Links(); }
  void SetFlowTrace(FlowTrace trace) override { inner_->SetFlowTrace(std::move(trace)); }
  std::string Save() const override { return inner_->Save(); }
  void Restore(const std::string& state) override { inner_->Restore(state); }

 private:
  // Passes on a graph with every flow sent `delay` late.
  struct LateGraph : FlowGraph, FlowSink {
    void OnStart(FlowSink& s) override {
      Forward(s, [&] { inner->OnStart(*this); });
    }
    void OnDelivered(const Flow& flow, FlowSink& s) override {
      Forward(s, [&] { inner->OnDelivered(flow, *this); });
    }
    void OnWake(uint64_t token, FlowSink& s) override {
      if (auto late = waiting.find(token); late != waiting.end()) {
        s.Send(late->second);
        waiting.erase(late);
        return;
      }
      Forward(s, [&] { inner->OnWake(token, *this); });
    }
    bool Done() const override { return inner->Done(); }
    TimeNs Now() const override { return sink->Now(); }
    void Send(const Flow& flow) override {
      if (delay == 0) return sink->Send(flow);
      waiting[++tokens] = flow;
      sink->Wake(delay, tokens);
    }
    void Wake(TimeNs d, uint64_t token) override { sink->Wake(d, token); }
    int64_t Abort(const Flow& flow) override { return sink->Abort(flow); }
    void Pause() override { sink->Pause(); }
    void Forward(FlowSink& s, const std::function<void()>& call) {
      sink = &s;
      call();
    }
    FlowGraph* inner = nullptr;
    FlowSink* sink = nullptr;
    TimeNs delay = 0;
    uint64_t tokens = uint64_t{1} << 60;
    std::map<uint64_t, Flow> waiting;
  };

  std::unique_ptr<Engine> inner_;
  LateGraph graph_;
  bool random_;
  bool first_ = true;
};

TEST(StepSimulator, CountsAsIfItHadNotStopped) {
  Network network(2, true);
  StepTraffic other = TwoBuckets();
  other.buckets[0].decode[1] = 301;
  StepTraffic third = TwoBuckets();
  third.buckets[0].decode[1] = 302;
  const std::vector<StepTraffic> steps = {TwoBuckets(), other, TwoBuckets(), third, other, third};
  for (size_t stop = 0; stop <= steps.size(); ++stop) {
    StepSimulator whole(MakeAnalyticEngine, network.request);
    auto resumed = std::make_unique<StepSimulator>(MakeAnalyticEngine, network.request);
    for (size_t s = 0; s < steps.size(); ++s) {
      if (s == stop) {
        const StepSimulator::State state = resumed->Save();
        resumed = std::make_unique<StepSimulator>(MakeAnalyticEngine, network.request);
        resumed->Load(state);
      }
      EXPECT_EQ(resumed->Simulate(steps[s], s).total, whole.Simulate(steps[s], s).total);
      EXPECT_EQ(resumed->FreshSteps(), whole.FreshSteps()) << stop << ' ' << s;
      EXPECT_EQ(resumed->MemoisedSteps(), whole.MemoisedSteps());
      EXPECT_EQ(resumed->Totals().events, whole.Totals().events);
    }
    EXPECT_EQ(resumed->Save().known, whole.Save().known);
  }
}

TEST(StepSimulator, WarmStepsAreTheSecondOfTwo) {
  const auto factory = [](const EngineRequest& request) {
    return std::make_unique<ColdEngine>(request, false);
  };
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {0, 0};
  traffic.buckets = {
      {{0, 0}, {Call(CollectiveAlgorithm::RingAllGather, {1'000, 1'000})}, {10, 10}}};
  Network cold(2, false);
  StepSimulator cold_steps(factory, cold.request);
  EXPECT_EQ(cold_steps.Simulate(traffic, 0).total, 7'000 + 4'000 + 10);
  Network warm(2, true);
  StepSimulator warm_steps(factory, warm.request);
  const StepTiming& timing = warm_steps.Simulate(traffic, 0);
  EXPECT_EQ(timing.total, 4'000 + 10);
  EXPECT_EQ(timing.counters.flows, 2u);
  EXPECT_EQ(timing.links[0].bytes, 1'000);
  EXPECT_EQ(warm_steps.Totals().flows, 4u);
}

TEST(StepSimulator, RandomEnginesDrawAfreshAtEveryStep) {
  std::vector<uint64_t> runs;
  const auto factory = [&](const EngineRequest& request) {
    runs.push_back(request.run);
    return std::make_unique<ColdEngine>(request, true);
  };
  Network network(2, false);
  StepSimulator simulator(factory, network.request);
  for (uint64_t step : {3, 4, 4}) simulator.Simulate(TwoBuckets(), step);
  EXPECT_EQ(runs, (std::vector<uint64_t>{3, 4, 4}));
  EXPECT_EQ(simulator.MemoisedSteps(), 0);
}

TEST(StepTraffic, CanonicalTextSeesEveryField) {
  std::set<std::string> seen{TwoBuckets().Canonical()};
  EXPECT_FALSE(seen.insert(TwoBuckets().Canonical()).second);
  const auto insert = [&](auto change) {
    StepTraffic traffic = TwoBuckets();
    change(traffic);
    return seen.insert(traffic.Canonical()).second;
  };
  EXPECT_TRUE(insert([](StepTraffic& t) { t.deviceFree[1] = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets.pop_back(); }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[0].ready[0] = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[0].decode[0] = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls.pop_back(); }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].computeBefore[0] = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.bytes[0] = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.root = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.pullBytes = 1; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.shards = {{1, 2}}; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.shards = {{2, 1}}; }));
  EXPECT_TRUE(insert([](StepTraffic& t) {
    t.buckets[1].calls[1].collective.algorithm = CollectiveAlgorithm::RingAllReduce;
  }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.members = {0, 1}; }));
  EXPECT_TRUE(insert([](StepTraffic& t) { t.buckets[1].calls[1].collective.members = {1, 0}; }));
}

// Checkpoints hold sums of this text, so that it stays as it is where no members are named.
TEST(StepTraffic, CanonicalTextOfAllWorkersIsThatOfEarlierVersions) {
  const std::string text = TwoBuckets().Canonical();
  uint64_t sum = 14695981039346656037ULL;  // FNV-1a
  for (const char byte : text) sum = (sum ^ static_cast<uint8_t>(byte)) * 1099511628211ULL;
  EXPECT_EQ(text.size(), 672u);
  EXPECT_EQ(sum, 2844497309007672842u);
}

TEST(Step, SaysWhatIsWrong) {
  const auto error = [](auto change) {
    StepTraffic traffic = TwoBuckets();
    change(traffic);
    return MessageOf([&] { StepGraph graph(traffic); });
  };
  EXPECT_EQ(error([](StepTraffic& t) { t.workers = 0; }),
            "step: workers: got '0'; allowed: 1 or more");
  EXPECT_EQ(error([](StepTraffic& t) { t.deviceFree = {1}; }),
            "step: deviceFree: got '1 times'; allowed: one for each of 2 workers");
  EXPECT_EQ(error([](StepTraffic& t) {
              t.buckets[1].ready = {0, -1};
            }),
            "step: bucket 1: ready: got '-1 ns'; allowed: 0 ns or more");
  EXPECT_NE(error([](StepTraffic& t) { t.buckets[1].decode = {0}; }), "");
  EXPECT_EQ(error([](StepTraffic& t) { t.buckets[1].calls[0].collective.bytes = {1}; }),
            "step: bucket 1, call 0: bytes: got '1 sizes'; allowed: one for each of 2 workers");
  EXPECT_EQ(error([](StepTraffic& t) {
              t.buckets[1].calls[0].computeBefore = {1, 0};
            }),
            "step: bucket 1, call 0: work before the first call belongs in 'ready'");
  EXPECT_NE(error([](StepTraffic& t) { t.buckets[1].calls[1].collective.root = 2; }), "");
  EXPECT_EQ(error([](StepTraffic& t) {
              t.buckets[1].calls[1].collective.members = {0, 2};
            }),
            "step: bucket 1, call 1: members: got 'worker 2'; allowed: 0 to 1");
}

// A gather takes 4 us from 4 us on. Meanwhile a worker computes 4 / 1.5 us of the 6 that are left,
// so that its second bucket is ready 4/3 us later.
TEST(Step, CollectivesSlowTheBackwardPassThatTheyOverlap) {
  StepTraffic traffic;
  traffic.workers = 2;
  traffic.deviceFree = {10'000, 10'000};
  traffic.buckets.resize(2);
  for (BucketTraffic& bucket : traffic.buckets) {
    bucket.calls = {Call(CollectiveAlgorithm::RingAllGather, {1000, 1000})};
    bucket.decode = {100, 100};
  }
  traffic.buckets[0].ready = {4'000, 4'000};
  traffic.buckets[1].ready = {10'000, 10'000};
  const Network network(2);
  const StepTiming alone = network.Time(traffic);
  EXPECT_EQ(alone.buckets[0].callDone[0], (std::vector<TimeNs>{8'000, 8'000}));
  EXPECT_EQ(alone.total, 14'100);
  const std::string free = traffic.Canonical();
  traffic.contention = 0.5;
  EXPECT_NE(traffic.Canonical(), free);
  const StepTiming slowed = network.Time(traffic);
  EXPECT_EQ(slowed.buckets[0].callDone[0], (std::vector<TimeNs>{8'000, 8'000}));
  EXPECT_EQ(slowed.buckets[0].done, (std::vector<TimeNs>{11'483, 11'483}))
      << "decoding follows the backward pass, and overlaps the second collective";
  EXPECT_EQ(slowed.buckets[1].callDone[0], (std::vector<TimeNs>{15'333, 15'333}));
  EXPECT_EQ(slowed.total, 15'433);
  EXPECT_EQ(slowed.decodeBusy, alone.decodeBusy);
  EXPECT_EQ(slowed.hidden, (std::vector<TimeNs>{4'150, 4'150})) << "the gather, and decoding";
  traffic.contention = -1;
  EXPECT_THROW(network.Time(traffic), Error);
}

TEST(LastCollective, SaysTheSameOfOtherMembersAlone) {
  LastCollective<int> last;
  int asked = 0;
  const auto ask = [&](const CollectiveSpec& spec) {
    return last.Of(spec, [&](const CollectiveSpec&) { return ++asked; });
  };
  CollectiveSpec spec;
  spec.bytes = {100, 100};
  spec.members = {0, 1};
  EXPECT_EQ(ask(spec), 1);
  spec.members = {2, 7};
  EXPECT_EQ(ask(spec), 1);
  spec.bytes = {101, 101};
  EXPECT_EQ(ask(spec), 2);
  spec.channels = 2;
  EXPECT_EQ(ask(spec), 3);
  spec.shards = {{1, 2}};  // not compared
  EXPECT_EQ(ask(spec), 4);
  EXPECT_EQ(ask(spec), 5);
}

}  // namespace
}  // namespace legacy::fabric::step_test