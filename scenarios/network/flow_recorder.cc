#include "scenarios/network/flow_recorder.h"

#include <cassert>
#include <utility>

namespace legacy {
namespace {

using fabric::TimeNs;

// Forwards to another engine; tells the recorder when a graph is submitted.
class RecordingEngine final : public fabric::Engine {
 public:
  RecordingEngine(std::unique_ptr<fabric::Engine> engine, FlowRecorder& recorder)
      : engine_(std::move(engine)), recorder_(recorder) {
    SetFlowTrace(nullptr);
  }

  std::string Name() const override { return engine_->Name(); }
  bool Random() const override { return engine_->Random(); }
  bool DependsOnTime() const override { return engine_->DependsOnTime(); }
  bool StartsWarm() const override { return engine_->StartsWarm(); }
  std::string Fingerprint() const override { return engine_->Fingerprint(); }
  void Submit(fabric::FlowGraph& graph, TimeNs start) override {
    recorder_.Begin(start);
    engine_->Submit(graph, start);
  }
  bool RunUntil(TimeNs until) override { return engine_->RunUntil(until); }
  TimeNs Now() const override { return engine_->Now(); }
  fabric::EngineCounters Counters() const override { return engine_->Counters(); }
  std::vector<fabric::LinkCounters> Links() const override { return engine_->Links(); }
  void SetFlowTrace(fabric::FlowTrace trace) override {
    engine_->SetFlowTrace(
        [this, trace = std::move(trace)](const fabric::Flow& flow, TimeNs when, bool delivered) {
          recorder_.OnFlow(flow, when, delivered);
          if (trace) trace(flow, when, delivered);
        });
  }
  std::string Save() const override { return engine_->Save(); }
  void Restore(const std::string& state) override { engine_->Restore(state); }

 private:
  std::unique_ptr<fabric::Engine> engine_;
  FlowRecorder& recorder_;
};

}  // namespace

fabric::EngineFactory FlowRecorder::Wrap(fabric::EngineFactory factory) {
  return [this, factory = std::move(factory)](const fabric::EngineRequest& request) {
    return std::make_unique<RecordingEngine>(factory(request), *this);
  };
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
