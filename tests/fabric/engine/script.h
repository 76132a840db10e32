// A script of flows that are sent, and withdrawn, at given times.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ns3-module/fabric/engine/flow-graph.h"

namespace legacy::fabric {

// A Script is a graph of flows at given times, some of which are withdrawn later.
class Script : public FlowGraph {
 public:
  struct Entry {
    TimeNs start = 0;
    Flow flow;              // its tag is its number
    TimeNs abort = kNever;  // kNever: it is never withdrawn
  };
  explicit Script(std::vector<Entry> entries)
      : entries_(std::move(entries)), arrivals(entries_.size(), kNever) {
    for (size_t i = 0; i < entries_.size(); ++i) entries_[i].flow.tag = i;
  }
  void OnStart(FlowSink& sink) override {
    for (size_t i = 0; i < entries_.size(); ++i) {
      sink.Wake(entries_[i].start, 2 * i);
      if (entries_[i].abort != kNever) sink.Wake(entries_[i].abort, 2 * i + 1);
    }
  }
  void OnWake(uint64_t token, FlowSink& sink) override {
    const Flow& flow = entries_[token / 2].flow;
    if (token % 2 == 0) return sink.Send(flow);
    if (arrivals[token / 2] == kNever) ++ended_;
    sink.Abort(flow);
  }
  void OnDelivered(const Flow& flow, FlowSink& sink) override {
    EXPECT_EQ(arrivals[flow.tag], kNever) << "delivered twice";
    arrivals[flow.tag] = sink.Now();
    ++ended_;
  }
  void OnFailed(const Flow& flow, FlowSink& sink) override {
    if (fails) {
      failed[flow.tag] = sink.Now();
      ++ended_;
      return;
    }
    FlowGraph::OnFailed(flow, sink);
  }
  bool Done() const override { return ended_ == entries_.size(); }

 private:
  std::vector<Entry> entries_;
  size_t ended_ = 0;

 public:
  bool fails = false;  // true: failures are expected
  std::vector<TimeNs> arrivals;
  std::map<uint64_t, TimeNs> failed;
};

}  // namespace legacy::fabric
