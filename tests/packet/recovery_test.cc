// The wan preset recovers from losses as Linux does, and token buckets are those of its tbf.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {
namespace {

constexpr int64_t kGigabit = 1'000'000'000;

// Two hosts whose fast links end at routers with a slow link between them.
struct Path {
  Path(const std::string& transport, const fabric::Port& slow, TimeNs delay,
       const std::string& congestion = "cubic") {
    const int a = topology.AddHost("a"), b = topology.AddHost("b");
    const int left = topology.AddSwitch("left"), right = topology.AddSwitch("right");
    const fabric::Port fast{10 * kGigabit};
    topology.AddLink({a, left, 1'000, fast});
    topology.AddLink({right, b, 1'000, fast});
    topology.AddLink({left, right, delay, slow});
    placement.hosts = {a, b};
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport(transport);
    request.transport.congestionControl = congestion;
    request.transport.connections = fabric::ConnectionKind::Cold;
  }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;
};

struct Sent {
  std::vector<TimeNs> arrived;
  fabric::EngineCounters counters;
  int64_t drops = 0;
};

// Opens the connection with one byte, and then sends the messages at once.
Sent Send(const Path& path, const std::vector<int64_t>& sizes) {
  const auto engine = fabric::MakePacketEngine(path.request);
  Burst first({{0, 1, 1, 0}});
  engine->Submit(first, 0);
  EXPECT_TRUE(engine->RunUntil(kNever));
  const TimeNs start = engine->Now() + kGigabit;  // a second of rest
  std::vector<fabric::Flow> flows;
  for (const int64_t bytes : sizes) flows.push_back({0, 1, bytes, 0});
  Burst burst(flows);
  engine->Submit(burst, start);
  EXPECT_TRUE(engine->RunUntil(kNever));
  Sent sent{burst.arrived, engine->Counters()};
  for (TimeNs& when : sent.arrived) when -= start;
  for (const fabric::LinkCounters& link : engine->Links()) sent.drops += link.drops;
  return sent;
}

// Each case runs over ns-3's sockets and over segments of our own.
class Recovery : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Stacks, Recovery, testing::Values("ns3:wan", "wan"), [](const auto& info) {
  return std::string(info.index == 0 ? "sockets" : "segments");
});

constexpr TimeNs kOneWay = 25'000'000;
constexpr int64_t kTenMegabytes = 10'000'000;

// Linux takes 1.073 s with Cubic (scenarios/network/validation/linux_tcp/wan.csv).
TEST_P(Recovery, AQueueOfOneBandwidthDelayProductIsNotOverrun) {
  const Path path(GetParam(), {kGigabit / 10, 625'000}, kOneWay);
  const Sent sent = Send(path, {kTenMegabytes});
  EXPECT_NEAR(static_cast<double>(sent.arrived[0]) * 1e-9, 1.073, 0.15 * 1.073);
  EXPECT_EQ(sent.counters.retransmitTimeouts, 0u);
  EXPECT_EQ(sent.drops, 0);
}

// Reno's slow start overruns the queue by half a window. SACK says what is lost, and no timer
// expires. The line alone takes 0.83 s, and slow start 0.25 s.
TEST_P(Recovery, OfHalfAWindowNeedsNoTimeOut) {
  const Path path(GetParam(), {kGigabit / 10, 625'000}, kOneWay, "reno");
  const Sent sent = Send(path, {kTenMegabytes});
  EXPECT_GT(sent.drops, 50);
  EXPECT_EQ(sent.counters.retransmitTimeouts, 0u);
  EXPECT_LT(static_cast<double>(sent.arrived[0]) * 1e-9, 1.3);
}

// The last segments of a message are followed by none that would show that they are lost. A probe
// shows it, after two round trips; the timer would wait for 200 ms and one.
TEST_P(Recovery, AProbeFindsTheLossOfATail) {
  const Path path(GetParam(), {kGigabit / 100, 9'000}, 5'000'000);
  const Sent sent = Send(path, {14'480});  // the initial window at once, into a queue of 6 frames
  EXPECT_GT(sent.drops, 0);
  EXPECT_EQ(sent.counters.retransmitTimeouts, 0u);
  EXPECT_LT(sent.arrived[0], 100'000'000);
}

// A full bucket of 20 frames lets the initial window pass at the line's rate; what follows at once
// finds no tokens.
TEST_P(Recovery, ATokenBucketSendsItsBurstAtOnce) {
  fabric::Port port{kGigabit / 1000, 1'000'000};
  port.burstBytes = 20 * 1502;
  const Path path(GetParam(), port, 1'000'000);
  const Sent sent = Send(path, {14'480, 144'800});
  EXPECT_NEAR(static_cast<double>(sent.arrived[0]), 1e6, 0.1e6);
  const double tokens_lack = 8.0 * (110 * 1502 - 20 * 1502) * 1e3;  // in nanoseconds
  EXPECT_NEAR(static_cast<double>(sent.arrived[1]), tokens_lack, 0.02 * tokens_lack);
}

// Losses are no sign of congestion to BBR: it fills a path that loses a packet in a hundred, and
// leaves its queue short.
TEST(BbrRecovery, FillsAPathThatLosesPackets) {
  fabric::Port slow{kGigabit / 10, 1'250'000};
  slow.errorRate = 0.01;
  const Sent bbr = Send(Path("wan", slow, kOneWay, "bbr"), {kTenMegabytes});
  const Sent cubic = Send(Path("wan", slow, kOneWay), {kTenMegabytes});
  EXPECT_LT(static_cast<double>(bbr.arrived[0]) * 1e-9, 1.6) << "the line alone takes 0.83 s";
  EXPECT_GT(cubic.arrived[0], 3 * bbr.arrived[0]);
  EXPECT_EQ(bbr.counters.retransmitTimeouts, 0u);
  EXPECT_GT(bbr.drops, 30);
}

TEST(BbrRecovery, OfNs3IsRefusedWithTheReason) {
  for (const char* name : {"bbr", "TcpBbr", "ns3::TcpBbr"}) {
    const Path path("ns3:wan", {kGigabit, 625'000}, kOneWay, name);
    try {
      fabric::MakePacketEngine(path.request);
      FAIL() << name;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("BBR"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace legacy::packet_test
