// HPCC against its equations, its telemetry on the wire, and its steady state.
#include "ns3-module/fabric/roce/hpcc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "base/hash.h"
#include "tests/fabric/fabric_testing.h"
#include "tests/fabric/roce/roce_testing.h"

namespace legacy::fabric {
namespace {

using HpccPair = QueuePairOf<HpccState>;

constexpr RocePath kHpccPath{100e9, 8 * kUs, 4178, 2};  // W_init 100,000 bytes

RoceAck HpccAck(uint64_t acknowledged, uint64_t next, const std::array<IntRecord, 2>& records) {
  RoceAck ack;
  ack.acknowledged = acknowledged;
  ack.next = next;
  ack.switches = 2;
  ack.records = records.data();
  return ack;
}

TEST(Hpcc, FollowsAHandMadeSequence) {
  HpccPair pair("hpcc:stages=1", kHpccPath);
  HpccState& state = pair.state();
  EXPECT_EQ(state.window, 100e3);
  EXPECT_EQ(state.rate, 100e9);

  std::array<IntRecord, 2> records = {
      {{100e9, 10 * kUs, 1'000'000, 50'000}, {400e9, 11 * kUs, 9'000'000, 0}}};
  pair.Ack(HpccAck(1, 20, records));  // only fills L'
  EXPECT_EQ(state.window, 100e3);
  EXPECT_EQ(state.utilisation, 1);

  // 25,000 bytes in 2 us are all of the first port's 100 Gbit/s, and 40,000 queue at least; the
  // second port has 50,000 of 100,000 bytes. u = .4 + 1, tau = 2 us of 8: U = .75 + .25 1.4.
  records = {{{100e9, 12 * kUs, 1'025'000, 40'000}, {400e9, 13 * kUs, 9'050'000, 0}}};
  pair.Ack(HpccAck(2, 21, records));
  EXPECT_DOUBLE_EQ(state.utilisation, 1.1);
  EXPECT_DOUBLE_EQ(state.window, 100e3 / (1.1 / 0.95) + 80);
  EXPECT_DOUBLE_EQ(state.rate, 8e12 * state.window / (8.0 * kUs));
  EXPECT_EQ(state.reference, 100e3);  // frame 2 was sent before the last update: W_c stays

  // A quiet round trip: u = 0 with tau = T. U = 0 < eta, below maxStage: W_c + W_AI, at most
  // W_init. Frame 20 was sent after the first ACK.
  records = {{{100e9, 22 * kUs, 1'025'000, 0}, {400e9, 23 * kUs, 9'050'000, 0}}};
  pair.Ack(HpccAck(21, 40, records));
  EXPECT_EQ(state.utilisation, 0);
  EXPECT_EQ(state.window, 100e3);
  EXPECT_EQ(state.stage, 1);
  EXPECT_EQ(state.lastUpdate, 40u);

  // Half of the second port, for a whole T: stage 1 of 1, so W_c is divided by .5 / .95 and cut to
  // W_init.
  records = {{{100e9, 30 * kUs, 1'025'000, 0}, {400e9, 31 * kUs, 9'250'000, 0}}};
  pair.Ack(HpccAck(41, 60, records));
  EXPECT_DOUBLE_EQ(state.utilisation, 0.5);
  EXPECT_EQ(state.window, 100e3);
  EXPECT_EQ(state.stage, 0);

  // Twice what the first port carries: W_c 100,000 / (2 / .95) + 80.
  records = {{{100e9, 38 * kUs, 1'225'000, 0}, {400e9, 39 * kUs, 9'250'000, 0}}};
  pair.Ack(HpccAck(61, 80, records));
  EXPECT_DOUBLE_EQ(state.reference, 100e3 / (2 / 0.95) + 80);
}

TEST(Hpcc, ChangesNothingWithoutRecordsOrOnANewPath) {
  HpccPair pair("hpcc", kHpccPath);
  const std::array<IntRecord, 2> records = {{{100e9, kUs, 0, 0}, {100e9, kUs, 0, 0}}};
  const std::array<IntRecord, 2> full = {{{100e9, 9 * kUs, 200'000, 0}, {100e9, 9 * kUs, 0, 0}}};
  pair.Ack(HpccAck(1, 2, records));
  RoceAck other = HpccAck(2, 4, full);
  other.pathId = 7;
  pair.Ack(other);
  EXPECT_EQ(pair.state().window, 100e3);
  EXPECT_EQ(pair.state().lastUpdate, 4u);
  RoceAck none = HpccAck(3, 5, records);
  none.switches = 0;
  pair.Ack(none);
  none.switches = 3;  // more than the path has
  pair.Ack(none);
  EXPECT_EQ(pair.state().lastUpdate, 4u);
}

TEST(Hpcc, TakesTheStepAsARate) {
  HpccPair pair("hpcc:ai=40Mbps", kHpccPath);
  EXPECT_DOUBLE_EQ(pair.state().step, 40e6 * 8e-6 / 8);
}

TEST(Telemetry, BitsRoundTrip) {
  const IntRecord record{100e9, 123'456'789, 1'000'000, 80 * 1000 + 79};
  const uint64_t bits = EncodeIntRecord(record);
  // Code 2 | 123,456 ns | 7,812 units of 128 B | 1,000 units of 80 B.
  EXPECT_EQ(bits, uint64_t{2} << 60 | uint64_t{123'456} << 36 | uint64_t{7'812} << 16 | 1'000);
  const IntRecord back = DecodeIntRecord(bits);
  EXPECT_EQ(back.rate, 100e9);
  EXPECT_EQ(back.time, 123'456'000);
  EXPECT_EQ(back.sentBytes, 7'812 * 128);
  EXPECT_EQ(back.queuedBytes, 80'000);
  for (uint64_t i = 0; i < 1000; ++i) {  // the decoded value is encoded to the same bits
    const uint64_t any = HashWords({i});
    EXPECT_EQ(EncodeIntRecord(DecodeIntRecord(any)), any);
  }
}

TEST(Telemetry, CountersWrapAndQueuesSaturate) {
  const IntRecord record{1e9, kIntTimeModulus + 5'000, kIntSentModulus + 256, 1 << 30};
  const IntRecord back = DecodeIntRecord(EncodeIntRecord(record));
  EXPECT_EQ(back.time, 5'000);
  EXPECT_EQ(back.sentBytes, 256);
  EXPECT_EQ(back.queuedBytes, 65'535 * 80);
}

TEST(Telemetry, HeadersRoundTripAndSizesGrowByTheSwitch) {
  const IntHeader header = DecodeIntHeader(EncodeIntHeader(5, 0xABC));
  EXPECT_EQ(header.switches, 5);
  EXPECT_EQ(header.pathId, 0xABC);
  EXPECT_EQ(IntBytes(5), 42);  // the paper's
  EXPECT_EQ(IntBytes(1), 10);
  EXPECT_NE(MessageOf([] { EncodeIntHeader(16, 0); }).find("0 to 15"), std::string::npos);
  EXPECT_NE(MessageOf([] { IntRateCode(7e9, "a port"); }).find("10 Gbit/s"), std::string::npos);
}

// Records as bits differ from full precision by their units, across wraps of both counters.
TEST(Hpcc, IsTheSameOnTheWireButForRounding) {
  HpccPair full("hpcc", kHpccPath);
  HpccPair wire("hpcc:int=wire", kHpccPath);
  for (int i = 1; i < 5000; ++i) {  // 40 ms and 400 MB
    const int64_t queue = 100'000 + static_cast<int64_t>(Reduce(HashWords({uint64_t(i)}), 20'000));
    const std::array<IntRecord, 2> records = {
        {{100e9, i * 8 * kUs, i * 80'000, queue}, {400e9, i * 8 * kUs + kUs, i * 90'000, 0}}};
    full.Ack(HpccAck(i, i + 1, records));
    wire.Ack(HpccAck(i, i + 1, records));
    ASSERT_NEAR(wire.state().utilisation, full.state().utilisation, 3e-3) << i;
  }
}

TEST(Hpcc, RefusesBadParameters) {
  EXPECT_EQ(MessageOf([] { MakeRoceControl("hpcc:eta=2", "--transport: cc"); }),
            "--transport: cc: hpcc: eta: got '2'; allowed: a number from 0.1 to 1");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("hpcc:stages=-1", "cc"); }),
            "cc: hpcc: stages: got '-1'; allowed: an integer from 0 to 1000000");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("hpcc:wai=80B+ai=1Mbps", "cc"); }),
            "cc: hpcc: ai: got '1Mbps'; allowed: wai or ai, not both");
  EXPECT_EQ(MessageOf([] { MakeRoceControl("hpcc:int=bits", "cc"); }),
            "cc: hpcc: int: got 'bits'; allowed: full, wire");
  EXPECT_EQ(
      MessageOf([] { MakeRoceControl("hpcc:etta=.9", "cc"); }),
      "cc: unknown key of hpcc: got 'etta'; did you mean eta?; allowed: eta, stages, wai, ai, "
      "int");
}

// Long flows settle at U = eta + N W_AI / (B T), and no queue stands.
TEST(Hpcc, SettlesAtItsUtilisation) {
  PrintRow("| control | flows | utilisation, of the equation's | mean queue |\n");
  for (int flows : {1, 2, 4, 8}) {
    OneQueue setup;
    setup.control = "hpcc";
    setup.flows = flows;
    setup.longQueue = std::max(2, flows / 2);  // frames of flows in step may meet
    setup.rate = 100e9;
    setup.frameBytes = 1092;
    setup.payload = 1000;
    setup.ackBytes = 96;
    setup.delay = 2 * kUs;
    setup.until = 10'000 * kUs;
    setup.from = 5'000 * kUs;
    OneQueueRun run(setup);
    const double room = setup.rate * static_cast<double>(run.RoundTrip()) / 8e12;  // B T
    const OneQueueResult result = run.Run();
    const double used = std::accumulate(result.rates.begin(), result.rates.end(), 0.0) / setup.rate;
    const double expected = 0.95 + flows * 80 / room;
    PrintRow("| `hpcc` | %d | %.2f %% of %.2f %% | %.2f kB |\n", flows, 100 * used, 100 * expected,
             result.queueBytes / 1e3);
    EXPECT_NEAR(used, expected, 0.01 * expected) << flows;
    EXPECT_LE(result.longQueueShare, 0.01) << flows;
  }
}

}  // namespace
}  // namespace legacy::fabric
