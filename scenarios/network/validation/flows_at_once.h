// Internal to scenarios/network/validation.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "ns3-module/fabric/engine/flow-graph.h"

namespace legacy {

// Flows that all start at once, in this order. Keeps when each has arrived.
class FlowsAtOnce : public fabric::FlowGraph {
 public:
  explicit FlowsAtOnce(std::vector<fabric::Flow> flows)
      : flows_(std::move(flows)), arrived_(flows_.size()) {
    for (size_t i = 0; i < flows_.size(); ++i) flows_[i].tag = i;
  }
  void OnStart(fabric::FlowSink& sink) override {
    for (const fabric::Flow& flow : flows_) sink.Send(flow);
  }
  void OnDelivered(const fabric::Flow& flow, fabric::FlowSink& sink) override {
    arrived_[flow.tag] = sink.Now();
    ++count_;
  }
  void OnWake(uint64_t, fabric::FlowSink&) override {}
  bool Done() const override { return count_ == flows_.size(); }
  const std::vector<TimeNs>& Arrived() const { return arrived_; }

 private:
  std::vector<fabric::Flow> flows_;
  std::vector<TimeNs> arrived_;
  size_t count_ = 0;
};

}  // namespace legacy
