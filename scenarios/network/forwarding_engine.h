// A forwarding engine does what another engine does; a derived one observes it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

class ForwardingEngine : public fabric::Engine {
 public:
  explicit ForwardingEngine(std::unique_ptr<fabric::Engine> engine) : engine_(std::move(engine)) {}

  std::string Name() const override { return engine_->Name(); }
  bool Random() const override { return engine_->Random(); }
  bool DependsOnTime() const override { return engine_->DependsOnTime(); }
  bool StartsWarm() const override { return engine_->StartsWarm(); }
  std::string Fingerprint() const override { return engine_->Fingerprint(); }
  void Submit(fabric::FlowGraph& graph, TimeNs start) override { engine_->Submit(graph, start); }
  void SubmitBackground(fabric::FlowGraph& graph, TimeNs start) override {
    engine_->SubmitBackground(graph, start);
  }
  void SetScheduleTime(TimeNs time) override { engine_->SetScheduleTime(time); }
  bool RunUntil(TimeNs until) override { return engine_->RunUntil(until); }
  TimeNs Now() const override { return engine_->Now(); }
  fabric::EngineCounters Counters() const override { return engine_->Counters(); }
  std::vector<fabric::LinkCounters> Links() const override { return engine_->Links(); }
  std::vector<fabric::LinkActivity> Activity() const override { return engine_->Activity(); }
  fabric::RoceActivity Roce() const override { return engine_->Roce(); }
  const fabric::RoceFlow* Delivered() const override { return engine_->Delivered(); }
  void SetFlowTrace(fabric::FlowTrace trace) override { engine_->SetFlowTrace(std::move(trace)); }
  std::string Save() const override { return engine_->Save(); }
  void Restore(const std::string& state) override { engine_->Restore(state); }

 protected:
  fabric::Engine& inner() { return *engine_; }
  const fabric::Engine& inner() const { return *engine_; }

 private:
  std::unique_ptr<fabric::Engine> engine_;
};

}  // namespace legacy
