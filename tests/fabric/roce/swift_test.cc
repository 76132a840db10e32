// Swift against its equations, and its mean delay.
#include "ns3-module/fabric/roce/swift.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/roce/roce_testing.h"

namespace legacy::fabric {
namespace {

using SwiftPair = QueuePairOf<SwiftState>;

constexpr RocePath kSwiftPath{10e9, 8 * kUs, 1000, 2};  // 10 frames in a round trip

RoceAck SwiftAck(Picoseconds now, Picoseconds delay) {
  RoceAck ack;
  ack.receiverDelay = kUs;
  ack.now = now;
  ack.sent = now - delay - ack.receiverDelay;
  ack.frames = 1;
  return ack;
}

TEST(Swift, TargetsScaleWithTheWindow) {
  SwiftPair pair("swift:base=20us+hop=1us", kSwiftPath);
  const auto& control = dynamic_cast<const Swift&>(pair.control());
  const double base = 22 * kUs;
  const double range = 100 * kUs;
  EXPECT_DOUBLE_EQ(control.Target(pair.state(), 0.1), base + range);
  EXPECT_DOUBLE_EQ(control.Target(pair.state(), 0.01), base + range);
  EXPECT_DOUBLE_EQ(control.Target(pair.state(), 100), base);
  EXPECT_DOUBLE_EQ(control.Target(pair.state(), 1000), base);
  const double slope = range / (1 / std::sqrt(0.1) - 0.1);
  EXPECT_NEAR(control.Target(pair.state(), 4), base + slope * 0.5 - slope * 0.1, 1);
}

TEST(Swift, FollowsAHandMadeSequence) {
  SwiftPair pair("swift:base=20us+range=0", kSwiftPath);
  SwiftState& state = pair.state();
  EXPECT_DOUBLE_EQ(state.windowFrames, 10);
  EXPECT_DOUBLE_EQ(state.window, 10'000);
  EXPECT_EQ(state.rate, 10e9);
  pair.Ack(SwiftAck(100 * kUs, 10 * kUs));  // below the target: 10 + 1/10
  EXPECT_DOUBLE_EQ(state.windowFrames, 10.1);
  pair.Ack(SwiftAck(101 * kUs, 25 * kUs));  // 1 - .8 5/25 = .84
  EXPECT_DOUBLE_EQ(state.windowFrames, 10.1 * 0.84);
  pair.Ack(SwiftAck(102 * kUs, 25 * kUs));  // in the same round trip of 26 us
  EXPECT_DOUBLE_EQ(state.windowFrames, 10.1 * 0.84);
  pair.Ack(SwiftAck(127 * kUs, 25 * kUs));
  EXPECT_DOUBLE_EQ(state.windowFrames, 10.1 * 0.84 * 0.84);
  pair.Ack(SwiftAck(400 * kUs, 200 * kUs));  // by half at most
  EXPECT_DOUBLE_EQ(state.windowFrames, 10.1 * 0.84 * 0.84 * 0.5);
  for (int i = 1; i <= 3; ++i) pair.Ack(SwiftAck((400 + 201 * i) * kUs, 200 * kUs));
  const double below = 10.1 * 0.84 * 0.84 / 16;
  EXPECT_DOUBLE_EQ(state.windowFrames, below);
  EXPECT_EQ(state.window, 1000);  // one frame, every RTT / cwnd
  EXPECT_DOUBLE_EQ(state.rate, below * 8e12 * 1000 / (201 * kUs));
  pair.Ack(SwiftAck(2000 * kUs, 10 * kUs));  // below 1: + ai
  EXPECT_DOUBLE_EQ(state.windowFrames, below + 1);
}

TEST(Swift, LossesHalveOnceARoundTripAndTimeOutsEndAtTheLeast) {
  SwiftPair pair("swift", kSwiftPath);
  SwiftState& state = pair.state();
  pair.control().OnLoss(state, {100 * kUs, false});
  pair.control().OnLoss(state, {101 * kUs, false});
  EXPECT_DOUBLE_EQ(state.windowFrames, 5);
  for (int i = 1; i < 5; ++i) pair.control().OnLoss(state, {(100 + 8 * i) * kUs, true});
  EXPECT_DOUBLE_EQ(state.windowFrames, 5.0 / 16);
  pair.control().OnLoss(state, {500 * kUs, true});
  EXPECT_DOUBLE_EQ(state.windowFrames, 0.001);
}

TEST(Swift, RefusesBadParameters) {
  EXPECT_EQ(MessageOf([] { MakeRoceControl("swift:fs-min=100", "cc"); }),
            "cc: swift: fs-max: got '100'; allowed: a number > fs-min, 100");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("swift:base=0s", "cc"); }),
            "cc: swift: base: got '0 ns'; allowed: 1 ns to 1000 s");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("swift:mdf=2", "cc"); }),
            "cc: swift: mdf: got '2'; allowed: a number from 0 to 1");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("swift:timeout=5", "cc"); }),
            "cc: unknown key of swift: got 'timeout'; did you mean timeouts?; allowed: base, hop, "
            "range, fs-min, fs-max, ai, b, mdf, least, timeouts");
}

// N flows hold the delay of the queue at the target of their windows.
TEST(Swift, MeanDelayIsItsTarget) {
  PrintRow("| control | flows | mean delay, of the target | mean queue |\n");
  for (int flows : {2, 4, 8}) {
    OneQueue setup;
    setup.control = "swift";
    setup.flows = flows;
    setup.rate = 100e9;
    setup.until = 20'000 * kUs;
    setup.from = 10'000 * kUs;
    OneQueueRun run(setup);
    SwiftPair pair("swift", {setup.rate, run.RoundTrip(), setup.frameBytes, 1});
    const OneQueueResult result = run.Run();
    const double frames = setup.rate / flows * result.delay / (8e12 * 1000);
    const double target = dynamic_cast<const Swift&>(pair.control()).Target(pair.state(), frames);
    PrintRow("| `swift` | %d | %.2f us of %.2f us | %.1f kB |\n", flows, result.delay / kUs,
             target / kUs, result.queueBytes / 1e3);
    EXPECT_NEAR(result.delay, target, 0.1 * target);
    const double sum = std::accumulate(result.rates.begin(), result.rates.end(), 0.0);
    EXPECT_NEAR(sum, setup.rate, 0.01 * setup.rate);
  }
}

}  // namespace
}  // namespace legacy::fabric
