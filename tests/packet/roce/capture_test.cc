// Captures of RoCEv2: every byte of the packets that ports send and receive.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "model/roce/roce-packet.h"
#include "tests/message_of.h"
#include "tests/packet/captured.h"
#include "tests/packet/roce/roce_run.h"

namespace legacy::packet_test::capture_test {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kEthernet = 1;

bool IsPause(const Captured& packet) { return packet.Number(12, 2) == 0x8808; }
uint64_t Opcode(const Captured& packet) { return packet.Number(42, 1); }
uint64_t Psn(const Captured& packet) { return packet.Number(51, 3); }

// Returns the CRC-32 of IEEE 802.3, bit by bit.
uint32_t Crc(const Bytes& bytes) {
  uint32_t crc = 0xffffffff;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

// Checks lengths, the checksum of IPv4 and the ICRC of a packet of RoCEv2.
void ExpectWhole(const Captured& packet) {
  const Bytes& bytes = packet.bytes;
  ASSERT_EQ(packet.Number(12, 2), 0x0800u);
  EXPECT_EQ(packet.Number(14, 1), 0x45u);
  EXPECT_EQ(packet.Number(16, 2), bytes.size() - 14);
  EXPECT_EQ(packet.Number(23, 1), 17u);
  uint32_t sum = 0;
  for (size_t i = 14; i < 34; i += 2) sum += static_cast<uint32_t>(packet.Number(i, 2));
  EXPECT_EQ((sum & 0xffff) + (sum >> 16), 0xffffu);
  EXPECT_EQ(packet.Number(36, 2), 4791u);
  EXPECT_EQ(packet.Number(38, 2), bytes.size() - 34);
  Bytes masked(8, 0xff);
  masked.insert(masked.end(), bytes.begin() + 14, bytes.end() - 4);
  for (const size_t at : {9, 16, 18, 19, 34, 35, 40}) masked[at] = 0xff;
  uint32_t icrc = 0;
  for (size_t i = 0; i < 4; ++i) {
    icrc |= static_cast<uint32_t>(bytes[bytes.size() - 4 + i]) << 8 * i;
  }
  EXPECT_EQ(icrc, Crc(masked));
}

class CaptureTest : public testing::Test {
 protected:
  CaptureTest() : folder_(testing::TempDir() + "roce-capture-" + std::to_string(getpid())) {
    std::filesystem::create_directories(folder_);
  }
  ~CaptureTest() override { std::filesystem::remove_all(folder_); }

  // Returns when flows arrive in a star of 100 Gbit/s and 1 us, captured or not.
  std::vector<TimeNs> Arrivals(const std::string& transport, const std::vector<fabric::Flow>& flows,
                               bool captured) {
    const fabric::Topology topology = Star(3, 100'000'000'000, 1'000);
    const fabric::Placement placement = fabric::MakePlacement({"packed", 3}, topology);
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport(transport);
    const auto engine = captured ? fabric::MakePacketEngineFactory({Prefix(), "", ""})(request)
                                 : fabric::MakePacketEngine(request);
    Burst burst(flows);
    engine->Submit(burst, 0);
    EXPECT_TRUE(engine->RunUntil(kNever));
    return burst.arrived;
  }
  std::string Prefix() const { return folder_ + "/p"; }
  std::vector<Captured> Packets(int host) const {
    const std::vector<Captured> packets =
        ReadCapture(Prefix() + "-" + std::to_string(host) + "-1.pcap", kEthernet);
    for (const Captured& packet : packets) EXPECT_EQ(packet.all, packet.bytes.size());
    return packets;
  }
  // Returns those of the first queue pair.
  std::vector<Captured> PacketsOfFirst(int host) const {
    std::vector<Captured> packets = Packets(host);
    packets.erase(std::remove_if(packets.begin(), packets.end(),
                                 [](const Captured& p) { return p.Number(47, 3) != 0; }),
                  packets.end());
    return packets;
  }

  const std::string folder_;
};

TEST_F(CaptureTest, HasTheBytesOfEachFrame) {
  // 2,500 bytes are three frames of at most 1,024, and the last of 452; one byte has three of
  // padding. The flow from host 2 lasts until their ACKs have come.
  const std::vector<fabric::Flow> flows = {{0, 1, 2'500}, {0, 1, 1}, {2, 0, 100'000}};
  const std::string transport = "roce:cc=none,mtu=1024";
  EXPECT_EQ(Arrivals(transport, flows, true), Arrivals(transport, flows, false));
  for (const Captured& packet : Packets(0)) ExpectWhole(packet);
  const std::vector<Captured> sender = PacketsOfFirst(0);
  ASSERT_EQ(sender.size(), 6u);  // four frames of data, two ACKs
  const std::array<uint64_t, 4> opcodes = {0x06, 0x07, 0x08, 0x0a};
  const std::array<size_t, 4> payloads = {1'024, 1'024, 452, 4};
  std::vector<Captured> data;
  std::vector<Captured> acks;
  for (const Captured& packet : sender) (Opcode(packet) == 0x11 ? acks : data).push_back(packet);
  ASSERT_EQ(data.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const size_t reth = i == 0 || i == 3 ? 16 : 0;
    EXPECT_EQ(Opcode(data[i]), opcodes[i]);
    EXPECT_EQ(data[i].bytes.size(), 14 + 20 + 8 + 12 + reth + payloads[i] + 4);
    EXPECT_EQ(Psn(data[i]), i);
    EXPECT_EQ(data[i].Number(43, 1) >> 4, i == 3 ? 3u : 0u);  // padding
    EXPECT_EQ(data[i].Number(50, 1), i > 1 ? 0x80u : 0u);  // the last of a message asks for an ACK
    EXPECT_EQ(data[i].Number(15, 1), 3 << 5 | 2u);         // priority 3, may be marked
    EXPECT_EQ(data[i].Number(22, 1), 64u);
    // 1,122 bytes of the first and 1,106 of others take 89.76 and 88.48 ns.
    const std::array<uint64_t, 4> begins = {0, 89, 178, 220};
    EXPECT_EQ(data[i].nanoseconds, begins[i]);
  }
  EXPECT_EQ(data[0].Number(66, 4), 2'500u);  // DMA length
  EXPECT_EQ(data[3].Number(66, 4), 1u);
  ASSERT_EQ(acks.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(acks[i].bytes.size(), 14 + 20 + 8 + 12 + 4 + 4u);
    EXPECT_EQ(Psn(acks[i]), 2 + i);  // the last that has arrived
    EXPECT_EQ(acks[i].Number(54, 1), 0x1fu);
    EXPECT_EQ(acks[i].Number(55, 3), 1 + i);  // messages
    EXPECT_EQ(acks[i].Number(15, 1), 6u << 5);
    EXPECT_EQ(acks[i].Number(22, 1), 63u);  // after the switch
  }
  // The receiver sees the same frames a switch later.
  const std::vector<Captured> receiver = PacketsOfFirst(1);
  ASSERT_EQ(receiver.size(), 6u);
  EXPECT_EQ(receiver[0].Number(22, 1), 63u);
  EXPECT_EQ(receiver[0].nanoseconds, 2'179u);  // 2 x (1,000 + 89.76)
  Bytes first = receiver[0].bytes;
  first[22] = data[0].bytes[22];  // time to live, checksum
  std::copy_n(data[0].bytes.begin() + 24, 2, first.begin() + 24);
  EXPECT_EQ(first, data[0].bytes);
  EXPECT_TRUE(PacketsOfFirst(2).empty());
}

TEST_F(CaptureTest, HasPausesMarksAndNotifications) {
  const std::vector<fabric::Flow> flows = {{0, 2, 1'000'000}, {1, 2, 1'000'000}};
  const std::string transport = "roce:buffer=130KB,alpha=0.5,ecn=5KB/20KB/1@100Gbps,mtu=1024";
  EXPECT_EQ(Arrivals(transport, flows, true), Arrivals(transport, flows, false));
  int pauses = 0;
  int resumes = 0;
  int notifications = 0;
  for (const Captured& packet : Packets(0)) {
    if (!IsPause(packet)) {
      ExpectWhole(packet);
      if (Opcode(packet) != 0x81) continue;
      ++notifications;
      EXPECT_EQ(packet.bytes.size(), 74u);
      EXPECT_EQ(packet.Number(46, 1), 0x40u);  // BECN
      continue;
    }
    EXPECT_EQ(packet.bytes.size(), 60u);
    EXPECT_EQ(packet.Number(0, 6), 0x0180c2000001u);
    EXPECT_EQ(packet.Number(14, 2), 0x0101u);
    EXPECT_EQ(packet.Number(16, 2), 1u << 3);  // only class 3
    const uint64_t quanta = packet.Number(24, 2);
    EXPECT_TRUE(quanta == 0 || quanta == 65'535) << quanta;
    ++(quanta == 0 ? resumes : pauses);
  }
  EXPECT_GT(pauses, 0);
  EXPECT_GT(resumes, 0);
  EXPECT_GT(notifications, 0);
  int marked = 0;
  for (const Captured& packet : Packets(2)) {
    if (IsPause(packet)) continue;
    ExpectWhole(packet);
    const bool data = Opcode(packet) < 0x11;
    const uint64_t ecn = packet.Number(15, 1) & 3;
    EXPECT_EQ(ecn, data ? (ecn == 3 ? 3u : 2u) : 0u);
    marked += data && ecn == 3 ? 1 : 0;
  }
  EXPECT_GT(marked, 0);
}

// A tag comes after the addresses and has the priority of the class; pauses have none.
TEST_F(CaptureTest, HasTheTagsOfAVlan) {
  const std::vector<fabric::Flow> flows = {{0, 2, 1'000'000}, {1, 2, 1'000'000}};
  const std::string transport = "roce:cc=none,buffer=130KB,alpha=0.5,mtu=1024,vlan=on";
  EXPECT_EQ(Arrivals(transport, flows, true), Arrivals(transport, flows, false));
  int pauses = 0;
  size_t acks = 0;
  for (Captured packet : Packets(0)) {
    if (IsPause(packet)) {
      ++pauses;
      continue;
    }
    EXPECT_EQ(packet.Number(12, 2), 0x8100u);
    const uint64_t tag = packet.Number(14, 2);
    packet.bytes.erase(packet.bytes.begin() + 12, packet.bytes.begin() + 16);
    ExpectWhole(packet);
    const bool ack = Opcode(packet) == 0x11;
    EXPECT_EQ(tag, (ack ? 6u : 3u) << 13);
    acks += ack ? 1 : 0;
    EXPECT_TRUE(!ack || packet.bytes.size() == 62);
  }
  EXPECT_GT(pauses, 0);
  EXPECT_GT(acks, 0u);
}

TEST_F(CaptureTest, HasTheTelemetryOfHpcc) {
  Arrivals("roce:cc=hpcc,mtu=1024", {{0, 1, 3'000}}, true);
  const std::vector<Captured> receiver = Packets(1);
  ASSERT_EQ(receiver.size(), 6u);
  for (const Captured& packet : receiver) {
    ExpectWhole(packet);
    const bool ack = Opcode(packet) == 0x11;
    const size_t at = ack ? 58 : Opcode(packet) == 0x06 ? 70 : 54;
    EXPECT_EQ(fabric::DecodeIntHeader(static_cast<uint16_t>(packet.Number(at, 2))).switches, 1);
    const fabric::IntRecord record = fabric::DecodeIntRecord(packet.Number(at + 2, 8));
    EXPECT_EQ(record.rate, 100e9);
    EXPECT_GT(record.sentBytes, 0);
  }
  // The sender's frames have the header, and no record yet.
  EXPECT_EQ(Packets(0)[0].Number(70, 2) >> 12, 0u);
}

TEST_F(CaptureTest, RefusesWhatIsNoRoce) {
  const auto error = [&](const std::string& transport, const fabric::PacketOutputs& outputs) {
    const fabric::Topology topology = Star(2, 100'000'000'000, 1'000);
    const fabric::Placement placement = fabric::MakePlacement({"packed", 2}, topology);
    fabric::EngineRequest request;
    request.topology = &topology;
    request.placement = &placement;
    request.transport = fabric::MakeTransport(transport);
    return MessageOf([&] { fabric::MakePacketEngineFactory(outputs)(request); });
  };
  const auto contains = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(contains(error("roce:header=36", {Prefix(), "", ""}), "roce:header="));
  EXPECT_TRUE(contains(error("roce:train=8", {Prefix(), "", ""}), "single frames (train=1)"));
  EXPECT_TRUE(contains(error("roce", {"", Prefix(), ""}), "--fct"));
  EXPECT_TRUE(contains(error("roce", {"", "", Prefix()}), "--pcap"));
}

}  // namespace
}  // namespace legacy::packet_test::capture_test
