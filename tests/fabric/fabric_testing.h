// Helpers of the fabric's tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "ns3-module/fabric/collective/collective.h"
#include "ns3-module/fabric/engine/flow-graph.h"

namespace legacy::fabric {

// Returns the message of the Error that `action` throws; "" if it throws none.
inline std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Returns a folder for this process only, as tests run side by side. The path ends with a slash.
inline std::string OwnFolder() {
  const std::string folder = testing::TempDir() + "fabric-" + std::to_string(getpid()) + "/";
  std::filesystem::create_directories(folder);
  return folder;
}

// Returns the path of a file of real measurements, which are kept next to the project, or "" if
// they are absent.
inline std::string SharedData(const std::string& file) {
  for (const char* folder : {"/../shared/data/", "/../../shared/data/"}) {
    const std::string path = LEGACY_SOURCE_DIR + std::string(folder) + file;
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

// A graph of one collective, whose workers all start with the graph.
class CollectiveGraph : public FlowGraph {
 public:
  explicit CollectiveGraph(const CollectiveSpec& spec)
      : workers_(static_cast<int>(spec.bytes.size())),
        collective_(MakeCollective(spec, 0, [this](int, FlowSink& sink) { end_ = sink.Now(); })) {}
  void OnStart(FlowSink& sink) override {
    for (int w = 0; w < workers_; ++w) collective_->Start(w, sink);
  }
  void OnDelivered(const Flow& flow, FlowSink& sink) override {
    collective_->OnDelivered(flow, sink);
  }
  void OnWake(uint64_t token, FlowSink& sink) override {
    collective_->OnWake(CollectiveOfWake(token).value().mark, sink);
  }
  bool Done() const override { return collective_->Done(); }
  TimeNs end() const { return end_; }

 private:
  int workers_;
  TimeNs end_ = 0;
  std::unique_ptr<Collective> collective_;
};

// A network in which every flow takes a random time, so that flows overtake each other; nonempty
// flows between the same two endpoints keep their order. Callbacks receive the events.
class RandomNetwork : public FlowSink {
 public:
  explicit RandomNetwork(uint64_t seed) : seed_(seed) {}

  TimeNs Now() const override { return now_; }
  void Send(const Flow& flow) override {
    if (on_send) on_send(flow);
    TimeNs when = now_ + Draw();
    if (flow.bytes > 0) {
      TimeNs& last = last_[{flow.source, flow.destination}];
      when = last = std::max(last, when);
    }
    Push(when - now_, [this, flow] { on_delivered(flow); });
  }
  void Wake(TimeNs delay, uint64_t token) override {
    Push(delay, [this, token] { on_wake(token); });
  }
  int64_t Abort(const Flow&) override {
    ADD_FAILURE() << "nothing here is withdrawn";
    return 0;
  }
  void Pause() override { ADD_FAILURE() << "nothing here pauses"; }

  // Runs `action` after a random time.
  void Later(std::function<void()> action) { Push(Draw(), std::move(action)); }

  void Run() {
    while (!events_.empty()) {
      auto event = events_.extract(events_.begin());
      now_ = event.key().first;
      event.mapped()();
    }
  }

  std::function<void(const Flow&)> on_send;
  std::function<void(const Flow&)> on_delivered;
  std::function<void(uint64_t)> on_wake;

 private:
  TimeNs Draw() { return static_cast<TimeNs>(Reduce(HashWords({seed_, draws_++}), 10'000)); }
  void Push(TimeNs delay, std::function<void()> action) {
    events_.emplace(std::make_pair(now_ + delay, events_made_++), std::move(action));
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
  uint64_t events_made_ = 0;
  TimeNs now_ = 0;
  std::map<std::pair<int, int>, TimeNs> last_;  // arrival, by source and destination
  std::map<std::pair<TimeNs, uint64_t>, std::function<void()>> events_;
};

}  // namespace legacy::fabric
