#include "scenarios/network/flow_recorder.h"

#include <cassert>
#include <utility>

namespace legacy {
namespace {

using fabric::TimeNs;

// A TracedEngine forwards to another engine, and reports submitted graphs and flows.
class TracedEngine final : public fabric::Engine {
 public:
  TracedEngine(std::unique_ptr<fabric::Engine> engine, std::function<void(TimeNs)> begin,
               fabric::FlowTrace trace)
      : engine_(std::move(engine)), begin_(std::move(begin)), told_(std::move(trace)) {
    SetFlowTrace(nullptr);
  }

  std::string Name() const override { return engine_->Name(); }
  bool Random() const override { return engine_->Random(); }
  bool DependsOnTime() const override { return engine_->DependsOnTime(); }
  bool StartsWarm() const override { return engine_->StartsWarm(); }
  std::string Fingerprint() const override { return engine_->Fingerprint(); }
  void Submit(fabric::FlowGraph& graph, TimeNs start) override {
    if (begin_) begin_(start);
    engine_->Submit(graph, start);
  }
  void SubmitBackground(fabric::FlowGraph& graph, TimeNs start) override {
    engine_->SubmitBackground(graph, start);
  }
  void SetScheduleTime(TimeNs time) override { engine_->SetScheduleTime(time); }
  bool RunUntil(TimeNs until) override { return engine_->RunUntil(until); }
  TimeNs Now() const override { return engine_->Now(); }
  fabric::EngineCounters Counters() const override { return engine_->Counters(); }
  std::vector<fabric::LinkCounters> Links() const override { return engine_->Links(); }
  void SetFlowTrace(fabric::FlowTrace trace) override {
    engine_->SetFlowTrace(
        [this, trace = std::move(trace)](const fabric::Flow& flow, TimeNs when, bool delivered) {
          told_(flow, when, delivered);
          if (trace) trace(flow, when, delivered);
        });
  }
  std::string Save() const override { return engine_->Save(); }
  void Restore(const std::string& state) override { engine_->Restore(state); }

 private:
  std::unique_ptr<fabric::Engine> engine_;
  std::function<void(TimeNs)> begin_;
  fabric::FlowTrace told_;
};

}  // namespace

fabric::EngineFactory TraceFlows(fabric::EngineFactory factory, std::function<void(TimeNs)> begin,
                                 fabric::FlowTrace trace) {
  return [factory = std::move(factory), begin = std::move(begin),
          trace = std::move(trace)](const fabric::EngineRequest& request) {
    return std::make_unique<TracedEngine>(factory(request), begin, trace);
  };
}

fabric::EngineFactory FlowRecorder::Wrap(fabric::EngineFactory factory) {
  return TraceFlows(
      std::move(factory), [this](TimeNs start) { Begin(start); },
      [this](const fabric::Flow& flow, TimeNs when, bool delivered) {
        OnFlow(flow, when, delivered);
      });
}

std::vector<RecordedFlow> FlowRecorder::Take() { return std::exchange(flows_, {}); }

void FlowRecorder::Begin(TimeNs start) {
  assert(open_.empty());  // one graph at a time
  flows_.clear();
  origin_ = start;
}

void FlowRecorder::OnFlow(const fabric::Flow& flow, TimeNs when, bool delivered) {
  const Key key(flow.source, flow.destination, flow.tag);
  if (!delivered) {
    open_[key].push_back(when - origin_);
    return;
  }
  const auto found = open_.find(key);
  assert(found != open_.end());
  flows_.push_back({flow, found->second.front(), when - origin_});
  found->second.erase(found->second.begin());
  if (found->second.empty()) open_.erase(found);
}

}  // namespace legacy
