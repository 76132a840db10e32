#include "scenarios/graphs/collective_messages.h"

#include <memory>
#include <numeric>
#include <optional>

#include "base/error.h"

namespace legacy::graphs {
namespace {

// An Unrolling carries out a collective without time: messages arrive in the order in which they
// were sent.
class Unrolling : public fabric::FlowSink {
 public:
  Unrolling(const fabric::CollectiveSpec& spec, int ranks) : spec_(spec), since_(ranks) {
    received_.resize(ranks);
    done_.resize(ranks);
    sent_.assign(ranks, false);
    collective_ = fabric::MakeCollective(
        spec, 0, [this](int worker, fabric::FlowSink&) { done_[worker] = EndOf(worker); });
  }

  CollectiveMessages Run() {
    std::vector<int> members = spec_.members;
    if (members.empty()) {
      members.resize(spec_.bytes.size());
      std::iota(members.begin(), members.end(), 0);
    }
    for (const int member : members) collective_->Start(member, *this);
    for (size_t next = 0; next < flows_.size(); ++next) Deliver(static_cast<int>(next));
    if (!collective_->Done()) Refuse("whose messages have no order without times");
    for (const int member : members) result_.ends.push_back(std::move(done_[member]));
    return std::move(result_);
  }

  TimeNs Now() const override { return 0; }
  void Wake(TimeNs, uint64_t) override { Refuse("that computes between its messages"); }
  int64_t Abort(const fabric::Flow&) override { return 0; }
  void Pause() override {}

  void Send(const fabric::Flow& flow) override {
    const auto ranks = static_cast<int>(since_.size());
    if (flow.source >= ranks || flow.destination >= ranks) {
      Refuse("with servers, or switches that sum");
    }
    CollectiveMessage message{flow.source, flow.destination, flow.bytes, {}};
    if (event_) {
      const CollectiveMessage& cause = result_.messages[*event_];
      if (cause.destination == flow.source) {
        message.after = since_[flow.source];
      } else if (cause.source == flow.source) {
        message.after = {{*event_, false}};
      } else {
        Refuse("in which a rank sends when others have a message");
      }
    }
    sent_[flow.source] = true;
    flows_.push_back(flow);
    result_.messages.push_back(std::move(message));
  }

 private:
  [[noreturn]] void Refuse(const std::string& what) const {
    throw Error("GOAL", std::string(fabric::ToString(spec_.algorithm)) + ", a collective " + what,
                "messages between ranks");
  }

  void Deliver(int number) {
    const fabric::Flow flow = flows_[number];
    since_[flow.destination].push_back({number, true});
    received_[flow.destination].push_back({number, true});
    event_ = number;
    collective_->OnDelivered(flow, *this);
    event_.reset();
    for (const int end : {flow.source, flow.destination}) {
      if (sent_[end] && end == flow.destination) since_[end].clear();
      sent_[end] = false;
    }
  }

  // Returns what a worker that is done now has waited for.
  std::vector<MessageEvent> EndOf(int worker) const {
    std::vector<MessageEvent> events = received_[worker];
    if (event_ && result_.messages[*event_].source == worker) events.push_back({*event_, false});
    return events;
  }

  const fabric::CollectiveSpec& spec_;
  std::unique_ptr<fabric::Collective> collective_;
  std::vector<fabric::Flow> flows_;
  std::optional<int> event_;                         // the message that arrives now
  std::vector<std::vector<MessageEvent>> since_;     // by rank: received since it last sent
  std::vector<std::vector<MessageEvent>> received_;  // by rank
  std::vector<std::vector<MessageEvent>> done_;      // by rank
  std::vector<bool> sent_;                           // by rank: within this event
  CollectiveMessages result_;
};

}  // namespace

CollectiveMessages MessagesOf(const fabric::CollectiveSpec& spec, int ranks) {
  return Unrolling(spec, ranks).Run();
}

}  // namespace legacy::graphs
