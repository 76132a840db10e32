// A collective on a named topology at packet fidelity, in one call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "helper/packet-engine-helper.h"
#include "ns3-module/fabric/import/make.h"
#include "ns3-module/fabric/step/step.h"

namespace legacy::packet_test {

struct Scenario {
  std::string topology = "star";
  int workers = 4;
  bool server = false;
  int64_t rate_bps = 1'000'000'000;
  TimeNs delay = 10'000;
  fabric::Transport transport = fabric::MakeTransport("datacenter");
  fabric::CollectiveSpec collective;
};

// A scenario's topology and placement, which do not move, as the request points to them.
struct Fabric {
  explicit Fabric(const Scenario& scenario)
      : topology(MakeTopology(scenario)),
        placement(fabric::MakePlacement({"packed", scenario.workers, scenario.server}, topology)) {
    request.topology = &topology;
    request.placement = &placement;
    request.transport = scenario.transport;
  }
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  static fabric::Topology MakeTopology(const Scenario& scenario) {
    fabric::TopologyRequest request;
    request.text = scenario.topology;
    request.rateBps = scenario.rate_bps;
    request.delay = scenario.delay;
    request.hostsNeeded = scenario.workers + (scenario.server ? 1 : 0);
    return fabric::MakeTopology(request);
  }

  fabric::Topology topology;
  fabric::Placement placement;
  fabric::EngineRequest request;
};

inline fabric::StepTraffic OneCollective(int workers, const fabric::CollectiveSpec& collective) {
  fabric::StepTraffic traffic;
  traffic.workers = workers;
  traffic.deviceFree.assign(workers, 0);
  fabric::CallTraffic call;
  call.collective = collective;
  fabric::BucketTraffic bucket;
  bucket.ready.assign(workers, 0);
  bucket.calls.push_back(call);
  bucket.decode.assign(workers, 0);
  traffic.buckets.push_back(bucket);
  return traffic;
}

inline fabric::StepTiming Simulate(const Scenario& scenario) {
  const Fabric fabric(scenario);
  fabric::StepSimulator simulator(fabric::MakePacketEngine, fabric.request);
  return simulator.Simulate(OneCollective(scenario.workers, scenario.collective), 0);
}

// A graph that sends given flows at its start and keeps their arrival times, by tag.
class Burst : public fabric::FlowGraph {
 public:
  explicit Burst(std::vector<fabric::Flow> flows)
      : flows_(std::move(flows)), arrived(flows_.size(), -1) {
    for (size_t i = 0; i < flows_.size(); ++i) flows_[i].tag = i;
  }
  void OnStart(fabric::FlowSink& sink) override {
    for (const fabric::Flow& flow : flows_) sink.Send(flow);
  }
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    arrived[flow.tag] = sink.Now();
    ++count_;
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  bool Done() const override { return count_ == flows_.size(); }

 private:
  std::vector<fabric::Flow> flows_;
  size_t count_ = 0;

 public:
  std::vector<TimeNs> arrived;
};

}  // namespace legacy::packet_test
