// Captures of TCP's segments: every byte of the headers that ports send and receive.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tests/packet/captured.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test::segment_capture_test {
namespace {

constexpr uint32_t kPpp = 9;
constexpr size_t kTcp = 22;  // place of TCP's header, after PPP and IPv4
constexpr uint64_t kSyn = 0x02, kAck = 0x10, kEce = 0x40, kCwr = 0x80;

uint64_t Flags(const Captured& packet) { return packet.Number(kTcp + 13, 1); }
uint64_t Sequence(const Captured& packet) { return packet.Number(kTcp + 4, 4); }
uint64_t Acknowledged(const Captured& packet) { return packet.Number(kTcp + 8, 4); }
size_t HeaderBytes(const Captured& packet) { return packet.Number(kTcp + 12, 1) / 16 * 4; }
size_t Payload(const Captured& packet) { return packet.all - kTcp - HeaderBytes(packet); }
uint64_t Ecn(const Captured& packet) { return packet.Number(3, 1) & 3; }

// Returns the sum of RFC 1071 over bytes, with those beyond the capture as zeros: 0xffff if the
// checksum among them is right.
uint64_t SumOf(const Captured& packet, size_t begin, uint64_t sum = 0) {
  for (size_t i = begin; i < packet.bytes.size(); i += 2) {
    sum += packet.bytes[i] << 8 | (i + 1 < packet.bytes.size() ? packet.bytes[i + 1] : 0);
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

void ExpectWhole(const Captured& packet) {
  ASSERT_EQ(packet.Number(0, 2), 0x0021u);
  ASSERT_EQ(packet.Number(2, 1), 0x45u);
  EXPECT_EQ(packet.Number(4, 2), packet.all - 2);
  EXPECT_EQ(packet.Number(11, 1), 6u);
  Captured ip = packet;
  ip.bytes.resize(kTcp);
  EXPECT_EQ(SumOf(ip, 2), 0xffffu);
  const uint64_t pseudo = packet.Number(14, 2) + packet.Number(16, 2) + packet.Number(18, 2) +
                          packet.Number(20, 2) + 6 + packet.all - kTcp;
  EXPECT_EQ(SumOf(packet, kTcp, pseudo), 0xffffu);
}

// An Option of TCP is where its kind stands, with its length.
struct Option {
  size_t at = 0, bytes = 0;
};

// Returns the option of that kind; of no bytes if there is none.
Option Find(const Captured& packet, uint64_t kind) {
  for (size_t at = kTcp + 20; at < kTcp + HeaderBytes(packet);) {
    if (packet.Number(at, 1) == 1) {
      ++at;
      continue;
    }
    const size_t bytes = packet.Number(at + 1, 1);
    if (packet.Number(at, 1) == kind) return {at, bytes};
    at += bytes;
  }
  return {};
}

class SegmentCapture : public testing::Test {
 protected:
  SegmentCapture() : folder_(testing::TempDir() + "segment-capture-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
    scenario_.workers = 3;
    scenario_.rate_bps = 1'000'000'000;
    scenario_.delay = 10'000;
  }
  ~SegmentCapture() override { std::filesystem::remove_all(folder_); }

  // Returns the arrivals of flows, and the number of bytes that the first worker has sent.
  std::pair<std::vector<TimeNs>, int64_t> Run(const std::vector<fabric::Flow>& flows,
                                              bool captured) const {
    const Fabric fabric(scenario_);
    const auto engine =
        captured ? fabric::MakePacketEngineFactory({folder_ + "/p", "", ""})(fabric.request)
                 : fabric::MakePacketEngine(fabric.request);
    Burst burst(flows);
    engine->Submit(burst, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    const int port = fabric.topology.Out(fabric.placement.hosts[0]).front();
    return {burst.arrived, engine->Links()[port].bytes};
  }
  // Returns what the port of a worker has sent and received.
  std::vector<Captured> Packets(int worker) const {
    const Fabric fabric(scenario_);
    return ReadCapture(folder_ + "/p-" + std::to_string(fabric.placement.hosts[worker]) + "-1.pcap",
                       kPpp);
  }

  std::string folder_;
  Scenario scenario_;
};

TEST_F(SegmentCapture, HasTheHandshakeTheStreamAndItsAcks) {
  const std::vector<fabric::Flow> flows = {{0, 1, 10'000, 0}};
  const auto plain = Run(flows, false);
  EXPECT_EQ(Run(flows, true), plain) << "a capture changes nothing";
  const std::vector<Captured> packets = Packets(0);
  // SYN, its answer, seven segments, and the ACKs that come before the run ends, which it does when
  // the last segment has arrived.
  ASSERT_EQ(packets.size(), 2u + 7 + 5);
  int64_t bytes = 0;
  uint64_t next = 1;
  uint64_t before = 0;
  for (const Captured& packet : packets) {
    ExpectWhole(packet);
    EXPECT_GE(packet.nanoseconds, before);
    before = packet.nanoseconds;
    EXPECT_EQ(packet.bytes.size(), std::min<size_t>(packet.all, 128));
    if (packet.Number(14, 4) == packets[0].Number(14, 4)) bytes += static_cast<int64_t>(packet.all);
    if (Payload(packet) > 0) {
      EXPECT_EQ(Sequence(packet), next);
      next += Payload(packet);
      EXPECT_EQ(Ecn(packet), 2u) << "ECN-capable, not marked";
      EXPECT_EQ(packet.Number(10, 1), 64u) << "no switch was passed";
    }
  }
  EXPECT_EQ(next, 10'001u);
  EXPECT_EQ(bytes, plain.second) << "those that the first worker has sent";
  EXPECT_EQ(Flags(packets[0]), kSyn | kEce | kCwr);
  EXPECT_EQ(Flags(packets[1]), kSyn | kAck | kEce);
  EXPECT_EQ(packets[0].all, 62u);
  EXPECT_EQ(packets[1].all, 62u);
  EXPECT_EQ(packets[1].Number(10, 1), 63u) << "a switch was passed";
  EXPECT_EQ(Find(packets[0], 2).bytes, 4u) << "largest segment";
  EXPECT_EQ(packets[0].Number(Find(packets[0], 2).at + 2, 2), 1460u);
  EXPECT_EQ(Find(packets[0], 3).bytes, 3u) << "window scale";
  EXPECT_EQ(Find(packets[0], 4).bytes, 2u) << "SACK";
  EXPECT_EQ(Acknowledged(packets.back()), 1 + 5 * 1448u);
  EXPECT_EQ(Flags(packets.back()), kAck);
  EXPECT_EQ(Find(packets.back(), 8).bytes, 10u) << "timestamps";
}

// Two workers push into one: its switch port marks, and ACKs echo that.
TEST_F(SegmentCapture, ShowsMarksAndTheirEcho) {
  Run({{0, 2, 2'000'000, 0}, {1, 2, 2'000'000, 0}}, true);
  int marked = 0, echoes = 0, reduced = 0;
  for (const Captured& packet : Packets(2)) {
    ExpectWhole(packet);
    marked += Ecn(packet) == 3;
    const bool opens = (Flags(packet) & kSyn) != 0;
    echoes += !opens && (Flags(packet) & kEce) != 0;
    reduced += !opens && (Flags(packet) & kCwr) != 0;
  }
  EXPECT_GT(marked, 10);
  EXPECT_GT(echoes, 10);
  EXPECT_GT(reduced, 2);
}

// The sender sends lost segments again, and ACKs say meanwhile what has arrived behind them.
TEST_F(SegmentCapture, ShowsLossesInRangesOfSack) {
  scenario_.transport = fabric::MakeTransport("wan");
  scenario_.transport.queueBytes = 30'000;
  Run({{0, 2, 2'000'000, 0}, {1, 2, 2'000'000, 0}}, true);
  std::set<uint64_t> sent;
  int again = 0, ranges = 0;
  for (const Captured& packet : Packets(0)) {
    ExpectWhole(packet);
    EXPECT_EQ(Ecn(packet), 0u);
    if (Payload(packet) > 0) again += !sent.insert(Sequence(packet)).second;
    const Option sack = Find(packet, 5);
    if (sack.bytes == 0) continue;
    ++ranges;
    EXPECT_EQ(packet.all, 54u + 4 + sack.bytes - 2);
    for (size_t at = sack.at + 2; at < sack.at + sack.bytes; at += 8) {
      EXPECT_GT(packet.Number(at, 4), Acknowledged(packet));
      EXPECT_LT(packet.Number(at, 4), packet.Number(at + 4, 4));
      EXPECT_TRUE(sent.count(packet.Number(at, 4))) << "it has left this port before";
    }
  }
  EXPECT_GT(again, 0);
  EXPECT_GT(ranges, 5);
}

}  // namespace
}  // namespace legacy::packet_test::segment_capture_test
