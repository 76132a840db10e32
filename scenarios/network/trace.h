// A trace shows steps in chrome://tracing and ui.perfetto.dev (Chrome's JSON trace event format).
// It has a process for each endpoint, with a track of its device's work, one of its waits, and
// lanes of the flows that it sends and receives; arrows lead from senders to receivers. Steps of
// divided models have a track for each of their streams as well.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step.h"
#include "scenarios/network/flow_recorder.h"

namespace legacy {

// A TracedStep is one step. Traffic and timing belong together; both are left out where there are
// only flows. Times count from the step's start.
struct TracedStep {
  std::string name;  // name: "step 3"; precedes the names of slices where it is not empty
  TimeNs start = 0;  // start of the step in the trace
  const fabric::StepTraffic* traffic = nullptr;
  const fabric::StepTiming* timing = nullptr;
  // [bucket][worker]: encoding time, which is the last part of the device work before `ready`.
  // Empty: all is compute.
  std::vector<std::vector<TimeNs>> encode;
  std::vector<RecordedFlow> flows;
  // A step of a divided model has its plan with times instead of traffic and timing, and the rank
  // of the plan that each worker is, by worker.
  const fabric::StepPlan* plan = nullptr;
  const fabric::PlanTiming* ran = nullptr;
  std::vector<int> ranks = {};
};

// A Trace collects steps and writes them as JSON.
class Trace {
 public:
  // `endpoints` are names, by number. `shown` has the endpoints to trace; a flow is drawn at each
  // of its ends that is shown.
  Trace(std::vector<std::string> endpoints, std::set<int> shown);

  // Adds a step to the trace.
  void Add(const TracedStep& step);

  // Adds a value of a track of links at a time: a step of its curve, in `unit`.
  void AddCounter(const std::string& name, const std::string& unit, TimeNs when, double value);

  // Returns the JSON document. Nothing can be added afterwards.
  std::string Finish();

  // A Content is what was added so far.
  struct Content {
    // Times from which lanes are free, [endpoint][lane].
    std::vector<std::vector<TimeNs>> sending;
    std::vector<std::vector<TimeNs>> receiving;
    std::map<int, std::string> streams = {};  // names of tracks of streams
    uint64_t arrows = 0;
    bool counters = false;
    std::string events = {};
    template <class Archive>
    friend void Fields(Archive& archive, Content& c) {
      archive(c.sending, c.receiving, c.streams, c.arrows, c.counters, c.events);
    }
  };
  const Content& content() const { return content_; }
  // Continues from the content of a trace of the same endpoints.
  void SetContent(Content content) { content_ = std::move(content); }

 private:
  void Slice(int endpoint, int track, const std::string& name, TimeNs start, TimeNs end,
             const std::string& arguments = "");
  void AddDevice(const TracedStep& step, int worker);
  void AddPlan(const TracedStep& step, int worker);
  void AddFlows(const TracedStep& step);
  int Lane(std::vector<std::vector<TimeNs>>& lanes, int endpoint, TimeNs start, TimeNs end);
  void Arrow(const char* phase, int endpoint, int track, TimeNs when);
  void Event(const std::string& fields);

  std::vector<std::string> endpoints_;
  std::set<int> shown_;
  Content content_;
};

// Reads endpoints from 0 to `count` - 1: "0-3,7" or "all". Throws Error naming `option`.
std::set<int> ParseEndpoints(const std::string& text, int count, const std::string& option);

// Returns "worker 0 (host0)", "server 0 (host16)", "aggregator 0 (switch3)".
std::vector<std::string> EndpointNames(const fabric::Topology& topology,
                                       const fabric::Placement& placement);

}  // namespace legacy
