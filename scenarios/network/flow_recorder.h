// A flow recorder records when the flows of a graph started and arrived.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "ns3-module/fabric/engine/engine.h"

namespace legacy {

// A RecordedFlow is a flow with its times.
struct RecordedFlow {
  fabric::Flow flow;
  TimeNs start = 0;                           // time from the start of its graph
  TimeNs end = 0;                             // time at which its last byte is at the destination
  std::optional<fabric::RoceFlow> roce = {};  // what became of it, where the engine knows
};

// A FlowListener is called as a fabric::FlowTrace is, with what is known of a delivered flow;
// nullptr: nothing.
using FlowListener = std::function<void(const fabric::Flow& flow, TimeNs when, bool delivered,
                                        const fabric::RoceFlow* roce)>;

// Returns the same engines, which report every flow to `listener` and the start of every submitted
// graph to `begin`, where there is one.
fabric::EngineFactory TraceFlows(fabric::EngineFactory factory, std::function<void(TimeNs)> begin,
                                 FlowListener listener);

// A FlowRecorder keeps the flows of the last graph.
class FlowRecorder {
 public:
  // Returns the same engines, which record into this object; it outlives them. A submitted graph
  // replaces the records of the one before, so that the measured step's remain and the warm-up's do
  // not.
  fabric::EngineFactory Wrap(fabric::EngineFactory factory);

  // Returns the flows in the order in which they arrived.
  const std::vector<RecordedFlow>& Flows() const { return flows_; }
  std::vector<RecordedFlow> Take();

  // Called by the engines of Wrap().
  void Begin(TimeNs start);
  void OnFlow(const fabric::Flow& flow, TimeNs when, bool delivered,
              const fabric::RoceFlow* roce = nullptr);

 private:
  using Key = std::tuple<int, int, uint64_t>;  // source, destination, tag
  // Start times of equal flows in flight, the oldest first.
  std::map<Key, std::vector<TimeNs>> open_;
  std::vector<RecordedFlow> flows_;
  TimeNs origin_ = 0;
};

}  // namespace legacy
