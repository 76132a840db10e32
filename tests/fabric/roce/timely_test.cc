// TIMELY against its equations, and the patched form's fairness.
#include "ns3-module/fabric/roce/timely.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/roce/roce_testing.h"

namespace legacy::fabric {
namespace {

using TimelyPair = QueuePairOf<TimelyState>;

constexpr RocePath kTimelyPath{10e9, 20 * kUs, 1000, 1};
constexpr Picoseconds kOwn = 800'000;  // 1,000 bytes at 10 Gbit/s

// An ACK that completes a segment with the round trip `us`, without the frame's own time. Round
// trips are below 9 ms, so that the next ACK comes later than T_min.
RoceAck Completion(double us) {
  static Picoseconds sent = 0;
  RoceAck ack;
  ack.sent = sent += 10'000 * kUs;
  ack.receiverDelay = 3 * kUs;
  ack.now = ack.sent + ack.receiverDelay + kOwn + static_cast<Picoseconds>(us * kUs);
  ack.answeredBytes = 1000;
  ack.payload = 64'000;
  return ack;
}

TEST(Timely, FollowsAHandMadeSequence) {
  TimelyPair pair("timely:a=0.875", kTimelyPath);
  TimelyState& state = pair.state();
  EXPECT_EQ(state.rate, 10e9);
  pair.Ack(Completion(1000));  // above T_high: R (1 - .8 (1 - 500/1000))
  EXPECT_DOUBLE_EQ(state.rate, 6e9);
  pair.Ack(Completion(30));  // below T_low; D = .875 (30 - 1000)
  EXPECT_DOUBLE_EQ(state.rate, 6.01e9);
  EXPECT_DOUBLE_EQ(state.difference, -848.75 * kUs);
  double difference = -848.75;
  double rate = 6.01e9;
  for (int i = 1; i <= 6; ++i) {  // gradients below 0: the fifth in a row is the first with n = 5
    const double last = i == 1 ? 30 : 100;
    difference = 0.125 * difference + 0.875 * (100 - last);
    rate += (i >= 5 ? 5 : 1) * 10e6;
    if (difference > 0) break;
    pair.Ack(Completion(100));
    ASSERT_NEAR(state.difference, difference * kUs, 1e-6 * kUs);
    ASSERT_NEAR(state.rate, rate, 1);
  }
  EXPECT_EQ(state.negative, 6);
  const double before = state.rate;
  pair.Ack(Completion(110));  // gradient above 0: R (1 - .8 grad)
  difference = 0.125 * difference + 0.875 * 10;
  ASSERT_GT(difference, 0);
  EXPECT_NEAR(state.rate, before * (1 - 0.8 * difference / 20), 1);
  EXPECT_EQ(state.negative, 0);
}

TEST(Timely, CountsSegmentsAndEndsOfMessages) {
  TimelyPair pair("timely", kTimelyPath);
  const auto acknowledge = [&pair](int64_t payload, bool ends) {
    RoceAck ack = Completion(1000);
    ack.payload = payload;
    ack.endsMessage = ends;
    pair.Ack(ack);
  };
  acknowledge(15'999, false);
  EXPECT_EQ(pair.state().rate, 10e9);
  acknowledge(1, false);
  EXPECT_DOUBLE_EQ(pair.state().rate, 6e9);
  acknowledge(1, true);
  EXPECT_DOUBLE_EQ(pair.state().rate, 3.6e9);
  for (int i = 0; i < 100; ++i) acknowledge(1, true);
  EXPECT_EQ(pair.state().rate, 10e6);  // the least
}

// Of an update that comes sooner than T_min = 20 us after the one before, that part counts.
TEST(Timely, WeighsUpdatesByTheTimeBetweenThem) {
  TimelyPair pair("timely", kTimelyPath);
  RoceAck ack = Completion(30);  // below T_low: R + 10 Mbit/s, at most the line's rate
  pair.state().rate = 5e9;
  pair.Ack(ack);
  EXPECT_DOUBLE_EQ(pair.state().rate, 5.01e9);
  for (const double us : {5, 20, 25}) {
    const double before = pair.state().rate;
    ack.sent += static_cast<Picoseconds>(us * kUs);
    ack.now += static_cast<Picoseconds>(us * kUs);
    pair.Ack(ack);
    EXPECT_DOUBLE_EQ(pair.state().rate, before + 10e6 * std::min(us / 20, 1.0));
  }
  ack.sent += 2000 * kUs;
  ack.now += 3000 * kUs;  // above T_high: R (1 - .8 (1 - 500/1030))
  pair.state().rate = 5e9;
  pair.Ack(ack);
  EXPECT_DOUBLE_EQ(pair.state().rate, 5e9 * (1 - 0.8 * (1 - 500.0 / 1030)));
}

// w = clamp(2 grad + 1/2, 0, 1); R <- delta (1 - w) + R (1 - b w (t - T_low) / T_low).
TEST(Timely, ThePatchedFormWeighsGradientAndError) {
  TimelyPair pair("timely:patched=on", kTimelyPath);
  pair.Ack(Completion(100));  // no gradient yet: w = 1/2, error 1
  EXPECT_DOUBLE_EQ(pair.state().rate, 5e6 + 10e9 * (1 - 0.004));
  const double before = pair.state().rate;
  pair.Ack(Completion(102));  // grad = .875 2/20: w = .675, error 1.04
  EXPECT_DOUBLE_EQ(pair.state().rate, 10e6 * 0.325 + before * (1 - 0.008 * 0.675 * 1.04));
}

// The paper's steps of 10 Mbit/s are for lines of 10 Gbit/s: a hundred of them at 100 Gbit/s would
// be a hundredth of the way back.
TEST(Timely, StepsGrowWithTheLine) {
  TimelyPair pair("timely", {100e9, 20 * kUs, 1000, 1});
  EXPECT_EQ(pair.state().delta, 100e6);
  EXPECT_EQ(pair.state().least, 100e6);
  TimelyPair given("timely:delta=10Mbps+least=1Mbps", {100e9, 20 * kUs, 1000, 1});
  EXPECT_EQ(given.state().delta, 10e6);
  EXPECT_EQ(given.state().least, 1e6);
}

TEST(Timely, SendsSegmentsAsBurstsUnlessFramesArePaced) {
  EXPECT_EQ(MakeRoceControl("timely", "cc")->Traits().burstBytes, 16'000);
  EXPECT_EQ(MakeRoceControl("timely:segment=64KB", "cc")->Traits().burstBytes, 64'000);
  EXPECT_EQ(MakeRoceControl("timely:pacing=frame", "cc")->Traits().burstBytes, 0);
}

TEST(Timely, RefusesBadParameters) {
  EXPECT_EQ(MessageOf([] { MakeRoceControl("timely:segment=1MB", "cc"); }),
            "cc: timely: segment: got '1MB'; allowed: 16KB to 64KiB");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("timely:high=40us", "cc"); }),
            "cc: timely: high: got '40us'; allowed: a time from `low` on");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("timely:b=1.5", "cc"); }),
            "cc: timely: b: got '1.5'; allowed: a number from 0 to 1");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("timely:patched=yes", "cc"); }),
            "cc: timely: patched: got 'yes'; allowed: on, off");
}

// The fixed point of the patched form (CoNEXT'16, section 4.3): gradient 0 and w = 1/2, so that
// delta = R b (t - T_low) / T_low with R = C/N.
TEST(Timely, ThePatchedFormSettlesAtItsFixedPoint) {
  PrintRow("| control | flows | mean round trip, of the equation's | mean queue |\n");
  for (int flows : {2, 4}) {
    OneQueue setup;
    setup.control = "timely:patched=on+pacing=frame+segment=16KB";
    setup.flows = flows;
    setup.rate = 10e9;
    setup.until = 300'000 * kUs;
    setup.from = 150'000 * kUs;
    const OneQueueResult result = OneQueueRun(setup).Run();
    const double share = setup.rate / flows;
    const double roundTrip = 50 * kUs * (1 + 10e6 / (share * 0.008));
    const double own = 8e12 * 1000 / setup.rate;
    PrintRow("| `timely:patched=on` | %d | %.2f us of %.2f us | %.1f kB |\n", flows,
             (result.delay - own) / kUs, roundTrip / kUs, result.queueBytes / 1e3);
    EXPECT_NEAR(result.delay - own, roundTrip, 0.1 * roundTrip);
    for (double rate : result.rates) EXPECT_NEAR(rate, share, 0.05 * share);
  }
}

}  // namespace
}  // namespace legacy::fabric
