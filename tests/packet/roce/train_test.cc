// Trains: frames that ports and switches forward as one.
#include <algorithm>
#include <cmath>

#include "tests/message_of.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::train_test {
namespace {

using fabric::DirectedLink;
using fabric::LinkCounters;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;

// Figures of a run, to be compared between runs with trains and without.
struct Figures {
  std::vector<TimeNs> arrived;
  uint64_t events = 0;
  int64_t packets = 0;
  int64_t bytes = 0;
  int64_t pauses = 0;
  int64_t drops = 0;
};

Figures FiguresOf(const fabric::Topology& topology, const std::string& transport,
                  const std::vector<fabric::Flow>& flows) {
  RoceRun run(topology, transport);
  Figures figures;
  figures.arrived = run.Run(flows);
  RoceRun::Drain();
  EXPECT_EQ(run.ports().Frames().InUse(), 0u) << transport;
  EXPECT_EQ(run.ports().GetBuffered(), 0) << transport;
  figures.events = run.Counters().events;
  for (const LinkCounters& link : run.Links()) {
    figures.packets += link.packets;
    figures.bytes += link.bytes;
  }
  figures.pauses = run.Pauses();
  figures.drops = run.Drops();
  return figures;
}

// Returns the largest relative difference of a flow's time.
double Error(const Figures& trains, const Figures& single) {
  double error = 0;
  for (size_t i = 0; i < single.arrived.size(); ++i) {
    const auto time = static_cast<double>(single.arrived[i]);
    error = std::max(error, std::abs(static_cast<double>(trains.arrived[i]) / time - 1));
  }
  return error;
}

std::vector<fabric::Flow> Incast(int senders, int64_t bytes) {
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < senders; ++i) flows.push_back({i, senders, bytes});
  return flows;
}

// A flow alone arrives as its frames would, to 2 ns a switch, with the same frames and bytes on all
// links.
TEST(RoceTrains, AFlowAloneKeepsItsTime) {
  for (const int64_t bytes : {1, 4096, 4097, 50'000, 1'000'000, 12'345'679}) {
    for (const char* train : {"2", "5", "8", "16"}) {
      const fabric::Topology topology = fabric::RoceTrunk(1, 1, 100 * kGbps, 100 * kGbps, 1000);
      const Figures single = FiguresOf(topology, "roce:cc=none", {{0, 1, bytes}});
      const Figures trains =
          FiguresOf(topology, std::string("roce:cc=none,train=") + train, {{0, 1, bytes}});
      EXPECT_NEAR(static_cast<double>(trains.arrived[0]), static_cast<double>(single.arrived[0]), 4)
          << bytes << " " << train;
      EXPECT_EQ(trains.packets, single.packets);
      EXPECT_EQ(trains.bytes, single.bytes);
      EXPECT_EQ(trains.drops, 0);
      if (bytes >= 1'000'000 && std::string(train) == "8") {
        EXPECT_LT(4 * trains.events, single.events);
      }
    }
  }
}

// If the next link is faster, a train waits until no frame of it can be late, which adds 1 in 100
// at most: trains are as much shorter.
TEST(RoceTrains, WaitBeforeAFasterLink) {
  const fabric::Topology topology = fabric::RoceTrunk(1, 1, 10 * kGbps, 100 * kGbps, 1000);
  for (const auto& [bytes, train] : {std::pair{int64_t{1'000'000}, 2}, {10'000'000, 8}}) {
    const Figures single = FiguresOf(topology, "roce:cc=none", {{0, 1, bytes}});
    const Figures trains = FiguresOf(topology, "roce:cc=none,train=8", {{0, 1, bytes}});
    const int64_t rest = (train - 1) * 4178;
    const double wait = Nanoseconds(rest, 10 * kGbps) - Nanoseconds(rest, 100 * kGbps);
    EXPECT_NEAR(static_cast<double>(trains.arrived[0] - single.arrived[0]), wait, 0.2 * wait)
        << bytes;
    EXPECT_LT(Error(trains, single), 0.01) << bytes;
  }
}

// Short messages that share a link make none: in a queue they would wait for each other's.
TEST(RoceTrains, ShortMessagesKeepTheirTimes) {
  const std::vector<fabric::Flow> flows = Incast(3, 80'000);
  const Figures single = FiguresOf(Star(4, 100 * kGbps, 1000), "roce:cc=none", flows);
  const Figures trains = FiguresOf(Star(4, 100 * kGbps, 1000), "roce:cc=none,train=8", flows);
  EXPECT_EQ(trains.arrived, single.arrived);
}

// Under pauses and at full queues, times stay within 5 % and nothing is lost.
TEST(RoceTrains, CongestionKeepsTimesWithinBounds) {
  struct Case {
    fabric::Topology topology;
    std::string transport;
    std::vector<fabric::Flow> flows;
    bool pauses;
    double fewer;  // at least this many times fewer events
  };
  std::vector<fabric::Flow> victim = {{5, 7, 2'000'000}};
  for (int i = 0; i < 5; ++i) victim.push_back({i, 6, 2'000'000});
  const fabric::Topology trunk = fabric::RoceTrunk(6, 2, 100 * kGbps, 400 * kGbps, 1000);
  const std::vector<Case> cases = {
      {Star(16, 100 * kGbps, 1000), "roce:cc=none,buffer=64MiB", Incast(15, 1'000'000), false, 4},
      {Star(16, 100 * kGbps, 1000), "roce:cc=none,buffer=4MiB", Incast(15, 1'000'000), true, 4},
      {trunk, "roce:cc=none,buffer=2MiB", victim, true, 4},
      {trunk, "roce:cc=dcqcn,buffer=12MiB", victim, false, 1},
      {Star(9, 100 * kGbps, 1000), "roce:cc=dcqcn,buffer=32MiB", Incast(8, 1'000'000), false, 1},
  };
  for (const Case& one : cases) {
    const Figures single = FiguresOf(one.topology, one.transport, one.flows);
    const Figures trains = FiguresOf(one.topology, one.transport + ",train=8", one.flows);
    EXPECT_LT(Error(trains, single), 0.05) << one.transport;
    EXPECT_LE(one.fewer * static_cast<double>(trains.events), static_cast<double>(single.events))
        << one.transport;
    EXPECT_EQ(trains.pauses > 0, one.pauses) << one.transport;
    EXPECT_EQ(trains.drops, 0) << one.transport;
  }
}

// Queue pairs that are both ready take turns, a frame each. Trains end with messages and where an
// ACK is due; until an ACK's frames have met no queue they are a twentieth of the message at most.
TEST(RoceTrains, OnlyAQueuePairAloneMakesThem) {
  RoceRun run(Star(4, 100 * kGbps, 1000), "roce:cc=none,train=8,ack=10");
  const int64_t frame = 4096;
  std::array<std::vector<int>, 3> lengths;  // by queue pair
  run.ports().SetDrop([&](DirectedLink link, const Frame& sent) {
    if (link == 0 && sent.kind == FrameKind::Data) lengths[sent.pair].push_back(sent.frames);
    return false;
  });
  run.Run({{0, 3, 1}, {0, 1, 3 * frame}, {0, 2, 66 * frame}, {0, 2, 1}});
  EXPECT_EQ(lengths[1], (std::vector<int>{1, 1, 1}));
  // The last queue pair is alone when the others have sent what they have.
  EXPECT_EQ(lengths[2],
            (std::vector<int>{1, 1, 3, 3, 2, 3, 3, 3, 1, 8, 2, 8, 2, 8, 2, 8, 2, 6, 1}));
}

// A lost train is sent again as a whole, and every frame of it counts.
TEST(RoceTrains, LossesCountFrames) {
  for (const uint64_t first : {8u, 240u}) {
    RoceRun run(Star(2, 100 * kGbps, 1000), "roce:cc=none,train=8");
    run.ports().SetDrop(LoseOnce{0, FrameKind::Data, first});
    run.Run({{0, 1, 1'000'000}});
    RoceRun::Drain(100'000'000);
    EXPECT_EQ(run.Drops(), first == 240 ? 5 : 8);  // 245 frames
    EXPECT_GE(run.Counters().roce.resent, first == 240 ? 5u : 8u);
    EXPECT_EQ(run.pairs()[0].acked, 245u);
    int64_t host = 0;  // data that have arrived: once, and those after the lost ones
    for (const LinkCounters& link : run.Links()) host = std::max(host, link.packets);
    EXPECT_EQ(host, static_cast<int64_t>(245 + run.Counters().roce.resent));
  }
}

// Frames of a train are marked by the queue that each sees.
TEST(RoceTrains, EachFrameIsMarked) {
  const std::vector<fabric::Flow> flows = Incast(3, 2'000'000);
  const auto marks = [&](const std::string& options) {
    RoceRun run(Star(4, 100 * kGbps, 1000), "roce:cc=none,buffer=32MiB," + options);
    run.Run(flows);
    return static_cast<double>(run.Marks());
  };
  for (const std::string at : {"mark-at=dequeue", "mark-at=enqueue"}) {
    const std::string options = at + ",ecn=1MB/3MB/0.5";
    EXPECT_NEAR(marks(options + ",train=8") / marks(options), 1, 0.05) << at;
  }
}

// A, B, A in one process gives A twice, and trains of one frame are none.
TEST(RoceTrains, RunsAreDeterministic) {
  const auto run = [](uint64_t seed, const std::string& train) {
    const fabric::RandomRoceCase random(seed);
    RoceRun engine(random.topology, random.Transport(0, "cc=dcqcn" + train));
    std::vector<int64_t> all = engine.Run(random.flows);
    all.push_back(static_cast<int64_t>(engine.Counters().events));
    for (const LinkCounters& link : engine.Links()) {
      all.insert(all.end(), {link.bytes, link.packets, link.marks, link.pauses, link.paused,
                             link.maxQueueBytes});
    }
    return all;
  };
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<int64_t> first = run(seed, ",train=8");
    EXPECT_NE(run(seed + 100, ",train=8"), first);
    EXPECT_EQ(run(seed, ",train=8"), first);
    EXPECT_EQ(run(seed, ",train=1"), run(seed, ""));
  }
}

// DCQCN's queue pairs make trains while their frames meet no queue, and begin again after a break:
// an incast of those that did has the times that it has without.
TEST(RoceTrains, DcqcnsIncastsHaveNone) {
  const auto run = [](const std::string& train) {
    fabric::RoceTrial trial(Star(9, 100 * kGbps, 1000),
                            "roce:cc=dcqcn,buffer=32MiB,train=" + train);
    for (int i = 0; i < 8; ++i) trial.Send({i, 8, 1'000'000}, 100'000 * i);
    for (int i = 0; i < 8; ++i) trial.Send({i, 8, 1'000'000}, 1'000'000);
    trial.RunUntil();
    return std::pair(trial.Arrived(), trial.Counters().events);
  };
  const auto [single, single_events] = run("1");
  const auto [trains, train_events] = run("8");
  EXPECT_LT(train_events, single_events - 3000);  // of the flows that were alone
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(static_cast<double>(trains[i]), static_cast<double>(single[i]), 2) << i;
  }
}

TEST(RoceTrains, LinksThatLoseFramesAreRefused) {
  const std::string message = MessageOf(
      [] { RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, 0.01), "roce:cc=none,train=4"); });
  EXPECT_EQ(message,
            "roce:train: got '4'; allowed: 1 beside host0>switch, which loses single frames");
}

}  // namespace
}  // namespace legacy::packet_test::train_test
