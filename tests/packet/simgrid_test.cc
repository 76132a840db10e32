// Times that SimGrid publishes for its own use of ns-3: examples/cpp/network-ns3
// (s4u-network-ns3-timed) on examples/platforms/onelink.xml and small_platform.xml. They hold for
// our nodes, links and routes under SimGrid's settings: NewReno, segments of 1,000 bytes, every
// segment acknowledged, no timestamps, writes of at most 1,040 bytes, and the time at which the
// sender's connection closes.
#include <gtest/gtest.h>

#include <algorithm>

#include "helper/simulation-scope.h"
#include "model/ecmp-routing.h"
#include "model/packet-network.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

namespace legacy::packet_test {
namespace {

using ns3::Ptr;
using ns3::Socket;

struct Published {
  const char* name;
  int64_t bytes_per_second;
  fabric::TimeNs delay;
  int64_t bytes;
  const char* seconds;
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.name; }

// Writes its bytes, then closes.
class Sender {
 public:
  Sender(Ptr<ns3::Node> node, const ns3::InetSocketAddress& to, int64_t bytes)
      : socket_(Socket::CreateSocket(node, ns3::TcpSocketFactory::GetTypeId())), left_(bytes) {
    socket_->SetSendCallback(ns3::MakeCallback(&Sender::Write, this));
    socket_->SetCloseCallbacks(ns3::MakeCallback(&Sender::Closed, this),
                               ns3::MakeNullCallback<void, Ptr<Socket>>());
    ns3::Simulator::ScheduleNow([this, to] { socket_->Connect(to); });
  }

  double closed() const { return closed_; }

 private:
  void Write(Ptr<Socket>, uint32_t available) {
    while (left_ > 0 && available > 0) {
      const auto bytes = static_cast<uint32_t>(std::min<int64_t>({left_, available, 1040}));
      socket_->Send(ns3::Create<ns3::Packet>(bytes));
      left_ -= bytes;
      available = socket_->GetTxAvailable();
      if (left_ == 0) socket_->Close();
    }
  }
  void Closed(Ptr<Socket>) { closed_ = ns3::Simulator::Now().GetSeconds(); }

  Ptr<Socket> socket_;
  int64_t left_;
  double closed_ = -1;
};

void Drain(Ptr<Socket> socket) {
  while (Ptr<ns3::Packet> packet = socket->Recv()) {
    if (packet->GetSize() == 0) break;
  }
}

class SimGridTest : public testing::TestWithParam<Published> {};

TEST_P(SimGridTest, TakesThePublishedTime) {
  fabric::Transport transport = fabric::MakeTransport("wan");
  transport.congestionControl = "ns3::TcpNewReno";
  transport.segmentBytes = 1000;
  transport.segmentsPerAck = 1;
  transport.minRto = 1'000'000'000;
  transport.attributes = {{"ns3::TcpSocketBase::Timestamp", "false"}};
  const packet::SimulationScope scope(transport, 1, 1);
  fabric::Topology topology;
  const int from = topology.AddHost("from"), to = topology.AddHost("to");
  topology.AddLink({from, to, 8 * GetParam().bytes_per_second, GetParam().delay, 0});
  Ptr<packet::PacketNetwork> network = ns3::CreateObject<packet::PacketNetwork>();
  network->Build(&topology, {from, to}, transport);

  constexpr uint16_t kPort = 80;
  Ptr<Socket> sink = Socket::CreateSocket(network->GetNode(to), ns3::TcpSocketFactory::GetTypeId());
  sink->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), kPort));
  sink->Listen();
  sink->SetAcceptCallback(
      ns3::MakeNullCallback<bool, Ptr<Socket>, const ns3::Address&>(),
      ns3::Callback<void, Ptr<Socket>, const ns3::Address&>(
          [](Ptr<Socket> accepted, const ns3::Address&) {
            accepted->SetRecvCallback(ns3::MakeCallback(&Drain));
            accepted->SetCloseCallbacks(
                ns3::Callback<void, Ptr<Socket>>([](Ptr<Socket> s) { s->Close(); }),
                ns3::MakeNullCallback<void, Ptr<Socket>>());
          }));
  Sender sender(network->GetNode(from),
                ns3::InetSocketAddress(packet::EcmpRouting::AddressOf(to), kPort),
                GetParam().bytes);
  ns3::Simulator::Run();
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", sender.closed());
  EXPECT_STREQ(text, GetParam().seconds);
  ns3::Simulator::Destroy();
}

INSTANTIATE_TEST_SUITE_P(
    Platforms, SimGridTest,
    testing::Values(Published{"onelink", 10'000, 10'000'000, 10'000, "1.104600"},
                    Published{"Tremblay-Jupiter", 41'279'125, 59'904, 100, "0.000249"},
                    Published{"Fafard-Ginette", 7'209'750, 1'461'517, 10'000, "0.007323"}));

}  // namespace
}  // namespace legacy::packet_test
