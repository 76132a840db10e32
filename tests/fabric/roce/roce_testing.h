// Helpers of the tests of congestion controls: states of queue pairs, and a network of one queue.
#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "ns3-module/fabric/roce/control.h"
#include "ns3-module/fabric/roce/controls.h"
#include "ns3-module/fabric/roce/marking.h"
#include "ns3-module/fabric/roce/notifier.h"
#include "ns3-module/fabric/roce/pacer.h"

namespace legacy::fabric {

inline constexpr Picoseconds kUs = 1'000'000;

// Prints a row of a table, as docs/rdma.md shows it.
[[gnu::format(printf, 1, 2)]] inline void PrintRow(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::fflush(stdout);
}

// A control with the state of one queue pair.
template <typename State>
class QueuePairOf {
 public:
  QueuePairOf(const std::string& text, const RocePath& path)
      : control_(MakeRoceControl(text, "cc")),
        memory_(control_->StateBytes(path.switches) / sizeof(std::max_align_t) + 1),
        state_(static_cast<State*>(control_->Begin(memory_.data(), path, 0))) {}

  const RoceControl& control() const { return *control_; }
  State& state() { return *state_; }
  bool AtBeginOfMemory() const { return static_cast<const void*>(state_) == memory_.data(); }

  // Makes the calls that are due up to `now`, as a NIC does.
  void Advance(Picoseconds now) {
    while (state_->timer <= now) control_->OnTimer(*state_, state_->timer);
  }
  void Sent(Picoseconds now, int64_t bytes) {
    Advance(now);
    control_->OnSent(*state_, {now, bytes});
  }
  void Cnp(Picoseconds now) {
    Advance(now);
    control_->OnCnp(*state_, now);
  }
  void Ack(const RoceAck& ack) { control_->OnAck(*state_, ack); }

 private:
  std::unique_ptr<const RoceControl> control_;
  std::vector<std::max_align_t> memory_;
  State* state_;
};

// One switch port of rate C, to which N NICs of the same rate send long messages: NIC, link,
// port with ECN and telemetry, link, receiver. ACKs come back without a queue.
struct OneQueue {
  std::string control;
  int flows = 2;
  double rate = 40e9;         // C, bit/s
  Picoseconds delay = kUs;    // of each of the four links there and back
  int64_t payload = 918;      // of a frame
  int64_t frameBytes = 1000;  // on the wire
  int64_t ackBytes = 86;
  size_t longQueue = 2;  // frames beyond which a queue counts as long
  EcnThresholds ecn = {1e18, 2e18, 1};
  Picoseconds secondStarts = 0;
  Picoseconds until = 50'000 * kUs;
  Picoseconds from = 20'000 * kUs;  // beginning of the measurement
};

struct OneQueueResult {
  std::vector<double> rates;  // of each flow, bit/s on the wire through the port
  double queueBytes = 0;      // mean over time
  double longQueueShare = 0;  // of time in which more than `longQueue` frames wait
  double marked = 0;          // share of frames
  double unmarkedShare = 0;   // of time in which the queue is so short that none is marked
  double allMarkedShare = 0;  // of time in which it is so long that all are
  double delay = 0;           // mean round trip, ps
};

class OneQueueRun {
 public:
  explicit OneQueueRun(const OneQueue& setup)
      : setup_(setup), control_(MakeRoceControl(setup.control, "cc")), flows_(setup.flows) {
    const RocePath path{setup.rate, RoundTrip(), setup.frameBytes, 1};
    for (Flow& flow : flows_) {
      flow.memory.resize(control_->StateBytes(1) / sizeof(std::max_align_t) + 1);
      flow.state = control_->Begin(flow.memory.data(), path, 0);
    }
  }

  // T of an idle network.
  Picoseconds RoundTrip() const {
    return 4 * setup_.delay + 2 * Time(setup_.frameBytes) + 2 * Time(setup_.ackBytes);
  }

  OneQueueResult Run() {
    for (int f = 0; f < setup_.flows; ++f) Push(f == 1 ? setup_.secondStarts : 0, Kind::kSend, f);
    while (!events_.empty() && events_.top().time < setup_.until) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      Handle(event);
    }
    OneQueueResult result;
    const auto span = static_cast<double>(setup_.until - setup_.from);
    int64_t left = 0;
    for (const Flow& flow : flows_) {
      result.rates.push_back(8e12 * static_cast<double>(flow.left) / span);
      left += flow.left / setup_.frameBytes;
    }
    result.queueBytes = queue_integral_ / span;
    result.longQueueShare = long_time_ / span;
    result.unmarkedShare = unmarked_time_ / span;
    result.allMarkedShare = all_marked_time_ / span;
    result.marked = static_cast<double>(marked_) / static_cast<double>(left);
    result.delay = delay_sum_ / static_cast<double>(delays_);
    return result;
  }

 private:
  enum class Kind { kSend, kArrive, kDepart, kAck, kCnp, kTimer };

  struct Event {
    Picoseconds time = 0;
    uint64_t order = 0;
    Kind kind = Kind::kSend;
    int flow = 0;
    RoceAck ack = {};
    IntRecord record = {};
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  struct Flow {
    std::vector<std::max_align_t> memory;
    RoceState* state = nullptr;
    RocePacer pacer;
    Picoseconds nic_free = 0;
    int64_t in_flight = 0;
    uint64_t next = 0;
    uint64_t acknowledged = 0;
    RoceNotifier notifier;
    Picoseconds send_at = -1;   // time of the pending event
    Picoseconds timer_at = -1;  // time of the pending event
    int64_t left = 0;
  };

  struct Waiting {
    int flow = 0;
    Picoseconds sent = 0;
  };

  Picoseconds Time(int64_t bytes) const {
    return static_cast<Picoseconds>(8e12 * static_cast<double>(bytes) / setup_.rate + 0.5);
  }

  void Push(Picoseconds time, Kind kind, int flow) {
    Event event;
    event.time = time;
    event.order = order_++;
    event.kind = kind;
    event.flow = flow;
    events_.push(event);
  }

  void Handle(const Event& event) {
    Flow& flow = flows_[event.flow];
    switch (event.kind) {
      case Kind::kSend:
        if (flow.send_at == now_) flow.send_at = -1;
        break;
      case Kind::kArrive:
        Measure();
        waiting_.push_back({event.flow, event.ack.sent});
        if (now_ >= port_free_) Depart();
        return;
      case Kind::kDepart:
        if (now_ >= port_free_) Depart();
        return;
      case Kind::kAck: {
        RoceAck ack = event.ack;
        ack.now = now_;
        flow.acknowledged = ack.acknowledged;
        flow.in_flight -= setup_.frameBytes;
        ack.next = flow.next;
        ack.records = &event.record;
        control_->OnAck(*flow.state, ack);
        if (now_ >= setup_.from) {
          delay_sum_ += static_cast<double>(ack.RoundTrip());
          ++delays_;
        }
        break;
      }
      case Kind::kCnp:
        control_->OnCnp(*flow.state, now_);
        break;
      case Kind::kTimer:
        if (flow.timer_at == now_) flow.timer_at = -1;
        if (flow.state->timer <= now_) control_->OnTimer(*flow.state, now_);
        break;
    }
    flow.pacer.OnRate(now_, flow.state->rate);
    TrySend(event.flow);
    if (flow.state->timer != kNoTimer && flow.state->timer != flow.timer_at) {
      flow.timer_at = flow.state->timer;
      Push(flow.timer_at, Kind::kTimer, event.flow);
    }
  }

  void TrySend(int f) {
    Flow& flow = flows_[f];
    if (static_cast<double>(flow.in_flight) >= flow.state->window) return;
    const Picoseconds at = std::max(flow.pacer.next, flow.nic_free);
    if (at > now_) {
      if (flow.send_at != at) Push(flow.send_at = at, Kind::kSend, f);
      return;
    }
    flow.pacer.OnSent(now_, setup_.frameBytes, setup_.payload, false, control_->Traits().burstBytes,
                      flow.state->rate);
    control_->OnSent(*flow.state, {now_, setup_.frameBytes});
    flow.nic_free = now_ + Time(setup_.frameBytes);
    flow.in_flight += setup_.frameBytes;
    ++flow.next;
    Event event;
    event.time = flow.nic_free + setup_.delay;
    event.order = order_++;
    event.kind = Kind::kArrive;
    event.flow = f;
    event.ack.sent = now_;
    events_.push(event);
    TrySend(f);
  }

  // Starts the next frame of the port.
  void Depart() {
    if (waiting_.empty()) return;
    Measure();
    const Waiting frame = waiting_.front();
    waiting_.pop_front();
    Flow& flow = flows_[frame.flow];
    port_free_ = now_ + Time(setup_.frameBytes);
    sent_bytes_ += setup_.frameBytes;
    const auto queued = static_cast<int64_t>(waiting_.size()) * setup_.frameBytes;
    const bool marks = MarkingDraw(1, 0, candidates_++) < setup_.ecn.Probability(queued);
    if (now_ >= setup_.from) {
      flow.left += setup_.frameBytes;
      marked_ += marks;
    }
    const Picoseconds there = port_free_ + setup_.delay;
    const Picoseconds back = there + 2 * (setup_.delay + Time(setup_.ackBytes));
    const RoceTraits& traits = control_->Traits();
    if (traits.notifications && flow.notifier.OnFrame(there, frame.sent, marks, traits)) {
      Push(back, Kind::kCnp, frame.flow);
    }
    Event event;
    event.time = back;
    event.order = order_++;
    event.kind = Kind::kAck;
    event.flow = frame.flow;
    event.record = {setup_.rate, now_, sent_bytes_, queued};
    event.ack.sent = frame.sent;
    event.ack.answeredBytes = setup_.frameBytes;
    event.ack.payload = setup_.payload;
    event.ack.frames = 1;
    event.ack.acknowledged = ++flow_arrived_[frame.flow];
    event.ack.switches = 1;
    events_.push(event);
    Push(port_free_, Kind::kDepart, frame.flow);
  }

  void Measure() {
    const Picoseconds begin = std::max(measured_, setup_.from);
    if (now_ > begin) {
      const auto span = static_cast<double>(now_ - begin);
      const auto bytes = static_cast<int64_t>(waiting_.size()) * setup_.frameBytes;
      const double probability = setup_.ecn.Probability(bytes);
      queue_integral_ += span * static_cast<double>(bytes);
      unmarked_time_ += probability == 0 ? span : 0;
      all_marked_time_ += probability == 1 ? span : 0;
      long_time_ += waiting_.size() > setup_.longQueue ? span : 0;
    }
    measured_ = now_;
  }

  OneQueue setup_;
  std::unique_ptr<const RoceControl> control_;
  std::vector<Flow> flows_;
  std::vector<uint64_t> flow_arrived_ = std::vector<uint64_t>(64);
  std::priority_queue<Event> events_;
  std::deque<Waiting> waiting_;
  uint64_t order_ = 0;
  uint64_t candidates_ = 0;
  Picoseconds now_ = 0;
  Picoseconds port_free_ = 0;
  Picoseconds measured_ = 0;
  int64_t sent_bytes_ = 0;
  int64_t marked_ = 0;
  double queue_integral_ = 0;
  double long_time_ = 0;
  double unmarked_time_ = 0;
  double all_marked_time_ = 0;
  double delay_sum_ = 0;
  int64_t delays_ = 0;
};

}  // namespace legacy::fabric
