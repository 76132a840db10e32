#include "scenarios/network/flow_recorder.h"

#include <cassert>
#include <utility>

#include "scenarios/network/forwarding_engine.h"

namespace legacy {
namespace {

// A TracedEngine reports submitted graphs and flows.
class TracedEngine final : public ForwardingEngine {
 public:
  TracedEngine(std::unique_ptr<fabric::Engine> engine, std::function<void(TimeNs)> begin,
               FlowListener listener)
      : ForwardingEngine(std::move(engine)), begin_(std::move(begin)), told_(std::move(listener)) {
    SetFlowTrace(nullptr);
  }

  void Submit(fabric::FlowGraph& graph, TimeNs start) override {
    if (begin_) begin_(start);
    inner().Submit(graph, start);
  }
  void SetFlowTrace(fabric::FlowTrace trace) override {
    inner().SetFlowTrace(
        [this, trace = std::move(trace)](const fabric::Flow& flow, TimeNs when, bool delivered) {
          told_(flow, when, delivered, delivered ? inner().Delivered() : nullptr);
          if (trace) trace(flow, when, delivered);
        });
  }

 private:
  std::function<void(TimeNs)> begin_;
  FlowListener told_;
};

}  // namespace

fabric::EngineFactory TraceFlows(fabric::EngineFactory factory, std::function<void(TimeNs)> begin,
                                 FlowListener listener) {
  return [factory = std::move(factory), begin = std::move(begin),
          listener = std::move(listener)](const fabric::EngineRequest& request) {
    return std::make_unique<TracedEngine>(factory(request), begin, listener);
  };
}

fabric::EngineFactory FlowRecorder::Wrap(fabric::EngineFactory factory) {
  return TraceFlows(
      std::move(factory), [this](TimeNs start) { Begin(start); },
      [this](const fabric::Flow& flow, TimeNs when, bool delivered, const fabric::RoceFlow* roce) {
        OnFlow(flow, when, delivered, roce);
      });
}

std::vector<RecordedFlow> FlowRecorder::Take() { return std::exchange(flows_, {}); }

void FlowRecorder::Begin(TimeNs start) {
  assert(open_.empty());  // one graph at a time
  flows_.clear();
  origin_ = start;
}

void FlowRecorder::OnFlow(const fabric::Flow& flow, TimeNs when, bool delivered,
                          const fabric::RoceFlow* roce) {
  const Key key(flow.source, flow.destination, flow.tag);
  if (!delivered) {
    open_[key].push_back(when - origin_);
    return;
  }
  const auto found = open_.find(key);
  assert(found != open_.end());
  flows_.push_back({flow, found->second.front(), when - origin_});
  if (roce != nullptr) flows_.back().roce = *roce;
  found->second.erase(found->second.begin());
  if (found->second.empty()) open_.erase(found);
}

}  // namespace legacy
