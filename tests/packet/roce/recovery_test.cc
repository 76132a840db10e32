// Losses, ACKs and marks: go-back-n, time-outs, notifications.
#include <algorithm>
#include <string>

#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::recovery_test {
namespace {

using fabric::DirectedLink;
using packet::Frame;
using packet::FrameKind;

constexpr int64_t kGbps = 1'000'000'000;
constexpr int64_t kMtu = 4096;
constexpr DirectedLink kFirst = 0;  // host 0 to the switch
constexpr TimeNs kRto = 1'000'000;

// 100 frames from host 0 to host 1 over links of 100 Gbit/s and 1 us.
struct OneFlow {
  explicit OneFlow(const std::string& options = ",rto=1ms")
      : run(Star(2, 100 * kGbps, 1000), "roce:cc=none" + options) {}

  // Returns when the flow arrives if the frames that `drop` names are lost.
  TimeNs Time(const std::function<bool(DirectedLink, const Frame&)>& drop) {
    run.ports().SetDrop(drop);
    return run.Run({{0, 1, 100 * kMtu}}).front();
  }

  // Returns the same without losses.
  static TimeNs Lossless() {
    return OneFlow().Time([](DirectedLink, const Frame&) { return false; });
  }

  RoceRun run;
};

TEST(RoceRecovery, ALostFrameIsAnsweredByOneNak) {
  const TimeNs lossless = OneFlow::Lossless();
  OneFlow flow;
  const TimeNs time = flow.Time(LoseOnce{kFirst, FrameKind::Data, 20});
  EXPECT_EQ(flow.run.Counters().roce.naks, 1u);
  EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 0u);
  EXPECT_EQ(flow.run.Drops(), 1);
  // From the lost frame's beginning to the NAK's arrival the line carries frames that are thrown
  // away: the frame after it must arrive, and the NAK come back.
  const double frame = Nanoseconds(kMtu + 82, 100 * kGbps);
  const double wasted = frame + 2 * frame + 2 * 1000 + 2 * (1000 + Nanoseconds(86, 100 * kGbps));
  EXPECT_NEAR(static_cast<double>(time - lossless), wasted, frame);
  EXPECT_NEAR(static_cast<double>(flow.run.Counters().roce.resent), wasted / frame, 1.5);
}

TEST(RoceRecovery, TailsEndByTimeOut) {
  const TimeNs lossless = OneFlow::Lossless();
  {
    OneFlow flow;
    const TimeNs time = flow.Time(LoseOnce{kFirst, FrameKind::Data, 99});
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_GT(time, lossless + kRto / 2);
    EXPECT_LT(time, lossless + 2 * kRto);
  }
  {
    OneFlow flow;  // the message has arrived, but the sender does not know
    EXPECT_EQ(flow.Time(LoseOnce{2, FrameKind::Ack, 100}), lossless);
    RoceRun::Drain();
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_EQ(flow.run.Counters().roce.resent, 4u);  // 96 were acknowledged
    EXPECT_EQ(flow.run.Run({{0, 1, kMtu}}).size(), 1u);
  }
  {
    OneFlow flow;  // a frame and its NAK are lost, and the receiver drops what follows
    int naks = 0;
    const TimeNs time = flow.Time([&](DirectedLink link, const Frame& frame) {
      return (link == kFirst && frame.kind == FrameKind::Data && frame.psn == 98 && naks == 0) ||
             (frame.kind == FrameKind::Nak && naks++ == 0);
    });
    EXPECT_EQ(naks, 1);
    EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 1u);
    EXPECT_LT(time, lossless + 2 * kRto);
  }
}

// A queue of seven frames drops the others of each burst, so that no gap is seen, and none of the
// seven asked for an ACK: the first frame after a time-out does.
TEST(RoceRecovery, TimeOutsLearnWhatHasArrived) {
  OneFlow flow;
  flow.Time([last = uint64_t{0}, sent = 0](DirectedLink link, const Frame& frame) mutable {
    if (link != kFirst || frame.kind != FrameKind::Data) return false;
    sent = frame.psn > last ? sent + 1 : 1;
    last = frame.psn;
    return sent > 7;
  });
  EXPECT_GT(flow.run.Counters().retransmitTimeouts, 1u);
}

// On slow links, and at low rates, sixteen frames that share an ACK take longer than any time-out.
TEST(RoceRecovery, SlowLinksAreNoLosses) {
  for (const char* text : {"roce:cc=none", "roce:cc=dcqcn",
                           "roce:cc=dcqcn,pfc=off,recovery=go-back-n", "roce:cc=swift,pfc=off"}) {
    RoceRun run(Star(2, 1'000'000, 1000), text);
    run.Run({{0, 1, 250'000}});
    EXPECT_EQ(run.Counters().retransmitTimeouts, 0u) << text;
    EXPECT_EQ(run.Counters().roce.resent, 0u) << text;
  }
}

TEST(RoceRecovery, ALinkThatLosesAllEndsTheRunAndNamesTheQueuePair) {
  RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, 0.999999), "roce:cc=none,retries=3,rto=100us");
  const std::string message = run.Failure({{0, 1, 1'000'000}});
  EXPECT_NE(message.find("queue pair host0 -> host1: nothing acknowledged in 4 time-outs"),
            std::string::npos)
      << message;
}

// If one frame is lost each time, those after it are answered by NAKs, which are not to keep a run
// from its end.
TEST(RoceRecovery, NaksForOneFrameEndTheRun) {
  OneFlow flow(",retries=3,rto=100us");
  flow.run.ports().SetDrop([](DirectedLink link, const Frame& frame) {
    return link == kFirst && frame.kind == FrameKind::Data && frame.psn == 20;
  });
  const std::string message = flow.run.Failure({{0, 1, 100 * kMtu}});
  EXPECT_NE(message.find("queue pair host0 -> host1: nothing acknowledged in 4 time-outs in a row"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("20 of 100 frames are"), std::string::npos) << message;
  EXPECT_EQ(flow.run.Counters().retransmitTimeouts, 3u);
  EXPECT_GT(flow.run.Counters().roce.naks, 10u);
  // 100 + 200 + 400 + 800 us, and a NAK after each.
  EXPECT_NEAR(static_cast<double>(ns3::Simulator::Now().GetNanoSeconds()), 1.5e6, 1e5);
}

// Each loss costs the frames that follow until the sender goes back: (1 - p) / (1 + p (m - 1)) of
// the line, m from a lost frame to the NAK.
TEST(RoceRecovery, GoBackNHasItsGoodput) {
  constexpr double kLoss = 0.01;
  constexpr int64_t kBytes = 40'000'000;
  RoceRun run(Lossy(Star(2, 100 * kGbps, 1000), 0, kLoss), "roce:cc=none");
  const auto time = static_cast<double>(run.Run({{0, 1, kBytes}}).front());
  const double frame = Nanoseconds(kMtu + 82, 100 * kGbps);
  const double inFlight = 3 + (4 * 1000 + 2 * Nanoseconds(86, 100 * kGbps)) / frame + 0.5;
  const double share = (1 - kLoss) / (1 + kLoss * (inFlight - 1));
  const double line = Nanoseconds(run.transport().WireBytes(kBytes), 100 * kGbps) / time;
  EXPECT_NEAR(line / share, 1, 0.03);
}

// An ACK for 16 frames, and for the last of each message.
TEST(RoceRecovery, AcksAreCoalesced) {
  for (const auto& [options, acks] : {std::pair{"", 7}, std::pair{",ack=1", 100},
                                      std::pair{",ack=50", 2}, std::pair{",window=64KB", 100}}) {
    OneFlow flow(options);
    int sent = 0;
    flow.Time([&](DirectedLink link, const Frame& frame) {
      sent += link == 2 && frame.kind == FrameKind::Ack ? 1 : 0;
      return false;
    });
    RoceRun::Drain();
    EXPECT_EQ(sent, acks) << options;
  }
}

// DCQCN keeps the line of an incast full with fewer pauses than no control at all.
TEST(RoceRecovery, DcqcnMarksNotifiesAndPausesLess) {
  const auto run = [](const std::string& control) {
    auto engine =
        std::make_unique<RoceRun>(Star(9, 100 * kGbps, 1000), "roce:buffer=12MiB,cc=" + control);
    std::vector<fabric::Flow> flows;
    for (int i = 0; i < 8; ++i) flows.push_back({i, 8, 10'000'000});
    engine->Run(flows);
    EXPECT_EQ(engine->Drops(), 0);
    return engine;
  };
  int64_t pauses = 0;
  {
    const auto none = run("none");
    pauses = none->Pauses();
    EXPECT_EQ(none->Counters().roce.cnps, 0u);
    EXPECT_GT(none->Marks(), 0);
  }
  const auto dcqcn = run("dcqcn");
  EXPECT_GT(dcqcn->Counters().roce.cnps, 8u);
  EXPECT_LT(dcqcn->Pauses(), pauses);
}

// HPCC keeps the queue short, and causes no pauses.
TEST(RoceRecovery, HpccKeepsQueuesShort) {
  RoceRun run(Star(9, 100 * kGbps, 1000), "roce:cc=hpcc,mtu=1024");
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 8; ++i) flows.push_back({i, 8, 1'000'000});
  run.Run(flows);
  EXPECT_EQ(run.Pauses(), 0);
  int64_t queue = 0;
  for (const fabric::LinkCounters& link : run.Links()) queue = std::max(queue, link.maxQueueBytes);
  EXPECT_LT(queue, 1'000'000);
}

// Without PFC an incast loses frames, and everything arrives all the same.
TEST(RoceRecovery, LossyClassesRecover) {
  RoceRun run(Star(9, 100 * kGbps, 1000), "roce:cc=none,pfc=off,buffer=400KB,window=bdp");
  std::vector<fabric::Flow> flows;
  for (int i = 0; i < 8; ++i) flows.push_back({i, 8, 1'000'000});
  run.Run(flows);
  RoceRun::Drain();
  EXPECT_GT(run.Drops(), 0);
  EXPECT_EQ(run.Pauses(), 0);
  EXPECT_GT(run.Counters().roce.resent, 0u);
  EXPECT_EQ(run.ports().GetBuffered(), 0);
}

}  // namespace
}  // namespace legacy::packet_test::recovery_test
