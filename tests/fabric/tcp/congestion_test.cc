#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "ns3-module/fabric/tcp/controls.h"

namespace legacy::fabric::congestion_test {
namespace {

constexpr TimeNs kMilli = 1'000'000;

// A connection whose ACKs each acknowledge one segment of 1000 bytes.
struct Sender {
  explicit Sender(const char* name) : control(MakeTcpCongestion(name)) {
    window.segments = 10;
    window.least = window.smoothed = 10 * kMilli;
  }

  // Acknowledges a window, whose ACKs come in `span`; `marked` of them are marked.
  void Round(TimeNs span, uint32_t marked = 0) {
    const uint32_t count = window.segments;
    const uint64_t next = acked + count * 1000ULL;
    for (uint32_t i = 0; i < count; ++i) {
      acked += 1000;
      TcpAck ack;
      ack.now = now + span * i / count;
      ack.acked = 1;
      ack.marked = i < marked ? 1 : 0;
      ack.roundTrip = window.least;
      ack.acknowledged = acked;
      ack.next = next + 2000ULL * i;
      control->OnAck(window, ack);
      control->Grow(window, ack);
    }
    now += 10 * kMilli;
  }

  std::unique_ptr<TcpCongestion> control;
  TcpWindow window;
  uint64_t acked = 0;
  TimeNs now = 0;
};

TEST(Congestion, RenoDoublesAndThenAddsASegmentARoundTrip) {
  Sender reno("reno");
  reno.Round(kMilli);
  EXPECT_EQ(reno.window.segments, 20u);
  reno.window.threshold = reno.control->Threshold(reno.window);
  EXPECT_EQ(reno.window.threshold, 10u);
  reno.window.segments = 10;
  for (int round = 1; round <= 5; ++round) {
    reno.Round(kMilli);
    EXPECT_NEAR(reno.window.segments, 10 + round, 1) << round;
  }
  reno.window.segments = 3;
  EXPECT_EQ(reno.control->Threshold(reno.window), 2u);
}

// Section 4.2 of RFC 9438: a window W after a loss at W / 0.7 is there again after
// cbrt(W_max 0.3 / 0.4) seconds.
TEST(Congestion, CubicComesBackToItsWindowAfterK) {
  Sender cubic("cubic");
  cubic.window.segments = 1000;
  cubic.window.least = cubic.window.smoothed = 100 * kMilli;
  cubic.window.threshold = cubic.control->Threshold(cubic.window);
  EXPECT_EQ(cubic.window.threshold, 700u);
  cubic.window.segments = 700;
  const double k = std::cbrt(1000 * 0.3 / 0.4);
  for (int round = 0; round < static_cast<int>(k / 0.1); ++round) {
    cubic.Round(100 * kMilli);
    cubic.now += 90 * kMilli;
  }
  EXPECT_NEAR(cubic.window.segments, 1000, 20);
  // Fast convergence: a loss below the last maximum leaves room for others.
  cubic.window.segments = 900;
  EXPECT_EQ(cubic.control->Threshold(cubic.window), 630u);
}

// ACKs that come without a pause for half of a round trip say that the path is full.
TEST(Congestion, CubicLeavesSlowStartWhereAcksFillTheRoundTrip) {
  Sender early("cubic"), late("cubic");
  for (int round = 0; round < 4; ++round) early.Round(kMilli);
  EXPECT_EQ(early.window.segments, 160u) << "short trains";
  EXPECT_TRUE(early.window.InSlowStart());
  for (int round = 0; round < 4; ++round) late.Round(9 * kMilli);
  EXPECT_FALSE(late.window.InSlowStart());
  EXPECT_LT(late.window.segments, 80u);
}

TEST(Congestion, DctcpReducesByHalfOfWhatIsMarked) {
  Sender dctcp("dctcp");
  dctcp.window.segments = 100;
  EXPECT_EQ(dctcp.control->Threshold(dctcp.window), 50u) << "alpha begins at 1";
  dctcp.window.threshold = 100;
  for (int round = 0; round < 200; ++round) {
    dctcp.window.segments = 100;
    dctcp.Round(kMilli, 20);
  }
  dctcp.window.segments = 1000;
  EXPECT_NEAR(dctcp.control->Threshold(dctcp.window), 1000 * (1 - 0.2 / 2), 10);
}

// Before it knows a rate, BBR paces its window over a round trip, at the gain of its startup.
TEST(Congestion, BbrBeginsWithItsWindowInARoundTrip) {
  const std::unique_ptr<TcpCongestion> bbr = MakeTcpCongestion("bbr");
  EXPECT_TRUE(bbr->OwnsWindow());
  TcpWindow window;
  window.segments = 10;
  EXPECT_NEAR(bbr->Pace(window), 2.885 * 10 / 1e-3, 1e-6);
  window.smoothed = window.least = 100 * kMilli;
  EXPECT_NEAR(bbr->Pace(window), 2.885 * 10 / 0.1, 1e-6);
  EXPECT_EQ(bbr->Burst(), 2u);
}

// The first pace is that of the handshake's round trip, whatever the first ACK measures (Linux:
// bbr_init_pacing_rate_from_rtt).
TEST(Congestion, BbrTakesItsFirstPaceFromTheHandshake) {
  const std::unique_ptr<TcpCongestion> bbr = MakeTcpCongestion("bbr");
  TcpWindow window;
  window.segments = 10;
  window.smoothed = window.least = kMilli;
  bbr->OnOpen(window);
  window.smoothed = 40 * kMilli;
  EXPECT_NEAR(bbr->Pace(window), 2.885 * 10 / 1e-3, 1e-6);
}

// BBR sends few segments for a while if its least round trip is ten seconds old, but not after a
// pause, whose first ACK measures it again (Linux: idle_restart in bbr_update_min_rtt).
TEST(Congestion, BbrMeasuresRoundTripsAfterAPauseWithoutAProbe) {
  for (const bool pause : {false, true}) {
    const std::unique_ptr<TcpCongestion> bbr = MakeTcpCongestion("bbr");
    TcpWindow window;
    window.segments = 10;
    window.smoothed = window.least = kMilli;
    bbr->OnOpen(window);
    TcpAck ack;
    ack.acked = ack.inFlight = 10;
    ack.roundTrip = kMilli;
    ack.now = kMilli;
    bbr->Control(window, ack);
    if (pause) bbr->OnRestart();
    ack.now += 11'000 * kMilli;
    ack.roundTrip = 2 * kMilli;
    bbr->Control(window, ack);
    EXPECT_EQ(window.segments <= 4, !pause);
  }
}

TEST(Congestion, OthersAreNotOurs) { EXPECT_EQ(MakeTcpCongestion("vegas"), nullptr); }

}  // namespace
}  // namespace legacy::fabric::congestion_test
