// Flows over RoCEv2 at packet fidelity, on topologies of the tests' own.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "helper/roce-trial.h"
#include "helper/simulator-lease.h"
#include "model/packet-engine.h"
#include "model/roce/roce-carrier.h"
#include "ns3/simulator.h"
#include "tests/packet/scenario.h"

namespace legacy::packet_test {

// Hosts 0 to `hosts` - 1 around one switch, all links of one rate.
inline fabric::Topology Star(int hosts, int64_t rate, TimeNs delay) {
  return fabric::RoceStar(hosts, rate, delay);
}

// An engine of RoCEv2 with its ports at hand.
class RoceRun {
 public:
  RoceRun(const fabric::Topology& topology, const std::string& transport, uint64_t seed = 1)
      : topology_(topology),
        placement_(fabric::MakePlacement({"packed", static_cast<int>(topology.Hosts().size())},
                                         topology_)),
        transport_(fabric::MakeTransport(transport)),
        engine_(ns3::CreateObject<packet::PacketEngine>()) {
    engine_->Build(&topology_, &placement_, transport_, [&](packet::CarrierListener* listener) {
      auto carrier =
          std::make_unique<packet::RoceCarrier>(&topology_, *transport_.roce, seed, 0, listener);
      carrier_ = carrier.get();
      return carrier;
    });
  }
  ~RoceRun() { engine_->Dispose(); }
  RoceRun(const RoceRun&) = delete;
  RoceRun& operator=(const RoceRun&) = delete;

  // Returns when each flow has arrived.
  std::vector<TimeNs> Run(const std::vector<fabric::Flow>& flows) {
    Burst burst(flows);
    Run(burst);
    return burst.arrived;
  }

  void Run(fabric::FlowGraph& graph) {
    engine_->Submit(graph, packet::PacketEngine::Now());
    EXPECT_TRUE(engine_->RunUntil(kNever));
  }

  // Returns the record of each flow.
  std::vector<fabric::RoceFlow> Records(const std::vector<fabric::Flow>& flows) {
    std::vector<fabric::RoceFlow> records(flows.size());
    engine_->SetFlowTrace([&](const fabric::Flow& flow, TimeNs, bool delivered) {
      if (!delivered) return;
      ASSERT_NE(engine_->GetDelivered(), nullptr);
      records[flow.tag] = *engine_->GetDelivered();
    });
    Run(flows);
    EXPECT_EQ(engine_->GetDelivered(), nullptr);
    engine_->SetFlowTrace(nullptr);
    return records;
  }

  // Returns the message of the Error with which the run ends; "" if it does not.
  std::string Failure(const std::vector<fabric::Flow>& flows) {
    try {
      Run(flows);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // Lets the frames that are under way arrive.
  static void Drain(TimeNs time = 10'000'000) {
    ns3::Simulator::Stop(ns3::NanoSeconds(time));
    ns3::Simulator::Run();
  }

  packet::RoceNetwork& ports() { return carrier_->GetPorts(); }
  packet::QueuePairs& pairs() { return carrier_->GetPairs(); }
  bool IsRandom() const { return engine_->IsRandom(); }
  fabric::EngineCounters Counters() const { return engine_->GetCounters(); }
  std::vector<fabric::LinkCounters> Links() const { return engine_->GetLinks(); }
  const fabric::Transport& transport() const { return transport_; }
  const fabric::Topology& topology() const { return topology_; }

  // Return sums over all links.
  int64_t Drops() const { return SumOf(&fabric::LinkCounters::drops); }
  int64_t Pauses() const { return SumOf(&fabric::LinkCounters::pauses); }
  int64_t Marks() const { return SumOf(&fabric::LinkCounters::marks); }

 private:
  int64_t SumOf(int64_t fabric::LinkCounters::*member) const {
    int64_t sum = 0;
    for (const fabric::LinkCounters& link : Links()) sum += link.*member;
    return sum;
  }

  const packet::SimulatorLease lease_{true};
  const fabric::Topology topology_;
  const fabric::Placement placement_;
  const fabric::Transport transport_;
  ns3::Ptr<packet::PacketEngine> engine_;
  packet::RoceCarrier* carrier_ = nullptr;
};

// Loses the first frame of that kind and number on a link.
struct LoseOnce {
  fabric::DirectedLink link;
  packet::FrameKind kind;
  uint64_t psn;
  bool operator()(fabric::DirectedLink at, const packet::Frame& frame) {
    return at == link && frame.kind == kind && frame.psn == psn && count++ == 0;
  }
  int count = 0;
};

// Returns `topology` with losses on one link, in the direction in which it was added.
inline fabric::Topology Lossy(const fabric::Topology& topology, int link, double share) {
  return topology.WithLinks(
      [=](int index, fabric::Link& one) { one.ports[0].errorRate = index == link ? share : 0; });
}

// Returns the nanoseconds of this many bytes on the wire.
inline double Nanoseconds(int64_t bytes, int64_t rate) {
  return 8e9 * static_cast<double>(bytes) / static_cast<double>(rate);
}

}  // namespace legacy::packet_test
