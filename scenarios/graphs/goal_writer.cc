#include "scenarios/graphs/goal_writer.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "scenarios/graphs/collective_messages.h"

namespace legacy::graphs {
namespace {

using fabric::OperationKind;
using fabric::StepOperation;
using fabric::StepPlan;

// Labels are the lines in which an operation of a rank begins and ends.
struct Labels {
  std::string begin;
  std::string end;
};

// A PlanWriter writes the lines of all ranks.
class PlanWriter {
 public:
  explicit PlanWriter(const StepPlan& plan)
      : plan_(plan), lines_(plan.ranks), labels_(plan.ranks) {}

  std::string Write() {
    for (const fabric::StepRole& role : plan_.roles) {
      for (size_t i = 0; i < role.ranks.size(); ++i) AddOperations(role, static_cast<int>(i));
    }
    for (size_t c = 0; c < plan_.collectives.size(); ++c) AddMessages(static_cast<int>(c));
    for (const fabric::StepRole& role : plan_.roles) {
      for (const int rank : role.ranks) AddOrder(role, rank);
    }
    std::string text = "num_ranks " + std::to_string(plan_.ranks) + "\n";
    for (int rank = 0; rank < plan_.ranks; ++rank) {
      text += "\nrank " + std::to_string(rank) + " {\n" + lines_[rank] + "}\n";
    }
    return text;
  }

 private:
  void AddLine(int rank, const std::string& label, const std::string& operation) {
    lines_[rank] += label + ": " + operation + "\n";
  }

  void Require(int rank, const std::string& label, const std::string& before) {
    lines_[rank] += label + " requires " + before + "\n";
  }

  // Returns the tag of the next message between two ranks, which no other one has.
  int NextTag(int source, int destination) { return tags_[{source, destination}]++; }

  // Returns the tag of a message of the plan: the n-th send of its tag is the n-th receive.
  int TagOf(int source, int destination, int tag, bool send) {
    auto& known = messages_[{source, destination, tag}];
    auto& [tags, sends, receives] = known;
    size_t& next = send ? sends : receives;
    if (next == tags.size()) tags.push_back(NextTag(source, destination));
    return tags[next++];
  }

  static std::string MessageText(bool send, int64_t bytes, int peer, int tag) {
    return std::string(send ? "send " : "recv ") + std::to_string(bytes) + "b " +
           (send ? "to " : "from ") + std::to_string(peer) + " tag " + std::to_string(tag);
  }

  void AddOperations(const fabric::StepRole& role, int position) {
    const int rank = role.ranks[position];
    for (size_t number = 0; number < role.operations.size(); ++number) {
      const StepOperation& operation = role.operations[number];
      std::string label = "o";
      label += std::to_string(number);
      if (fabric::ByRank(operation.earliest, position, TimeNs{0}) > 0) {
        throw Error("GOAL", "an operation with an earliest time", "those that wait for others");
      }
      const int peer = fabric::ByRank(operation.peer, position, 0);
      labels_[rank].push_back({label, label});
      switch (operation.kind) {
        case OperationKind::Segment:
          AddLine(rank, label,
                  "calc " +
                      std::to_string(fabric::ByRank(operation.duration, position, TimeNs{0})) +
                      " cpu " + std::to_string(plan_.streams[operation.stream].device));
          break;
        case OperationKind::Barrier:
          AddLine(rank, label, "calc 0");
          break;
        case OperationKind::Send:
          AddLine(rank, label,
                  MessageText(true, operation.bytes, peer, TagOf(rank, peer, operation.tag, true)));
          break;
        case OperationKind::Transfer:
          throw Error("GOAL", "a transfer of a given time", "collectives and messages");
        case OperationKind::Receive:
          AddLine(rank, label,
                  MessageText(false, BytesTo(rank, peer, operation.tag), peer,
                              TagOf(peer, rank, operation.tag, false)));
          break;
        case OperationKind::Collective: {
          labels_[rank].back() = {label + "b", label};
          AddLine(rank, label + "b", "calc 0");
          AddLine(rank, label, "calc 0");
          const int collective = fabric::ByRank(operation.collective, position, -1);
          parts_[{collective, rank}] = labels_[rank].back();
        }
      }
    }
  }

  // Returns the bytes of the next message of that tag that a rank receives. GOAL names them at both
  // ends.
  int64_t BytesTo(int rank, int sender, int tag) {
    if (sizes_.empty()) {
      for (const fabric::StepRole& role : plan_.roles) {
        for (const StepOperation& operation : role.operations) {
          if (operation.kind != OperationKind::Send) continue;
          for (size_t i = 0; i < role.ranks.size(); ++i) {
            const int peer = fabric::ByRank(operation.peer, static_cast<int>(i), 0);
            sizes_[{role.ranks[i], peer, operation.tag}].first.push_back(operation.bytes);
          }
        }
      }
    }
    auto& [bytes, next] = sizes_[{sender, rank, tag}];
    return bytes[next++];
  }

  void AddMessages(int collective) {
    const fabric::CollectiveSpec& spec = plan_.collectives[collective];
    const CollectiveMessages all = MessagesOf(spec, plan_.ranks);
    const auto label = [&](int message, bool received) {
      return parts_
                 .at({collective,
                      received ? all.messages[message].destination : all.messages[message].source})
                 .end +
             (received ? "r" : "s") + std::to_string(message);
    };
    for (int m = 0; m < static_cast<int>(all.messages.size()); ++m) {
      const CollectiveMessage& message = all.messages[m];
      const int tag = NextTag(message.source, message.destination);
      const std::string send = label(m, false), receive = label(m, true);
      AddLine(message.source, send, MessageText(true, message.bytes, message.destination, tag));
      AddLine(message.destination, receive, MessageText(false, message.bytes, message.source, tag));
      Require(message.source, send, parts_.at({collective, message.source}).begin);
      Require(message.destination, receive, parts_.at({collective, message.destination}).begin);
      for (const MessageEvent& event : message.after) {
        Require(message.source, send, label(event.message, event.received));
      }
    }
    for (size_t i = 0; i < all.ends.size(); ++i) {
      const int rank = spec.members.empty() ? static_cast<int>(i) : spec.members[i];
      const Labels& own = parts_.at({collective, rank});
      Require(rank, own.end, own.begin);
      for (const MessageEvent& event : all.ends[i]) {
        Require(rank, own.end, label(event.message, event.received));
      }
    }
  }

  // Adds what operations of a rank wait for: `after`, and those before them in their streams and
  // communicators.
  void AddOrder(const fabric::StepRole& role, int rank) {
    const auto require = [&](int operation, int before) {
      Require(rank, labels_[rank][operation].begin, labels_[rank][before].end);
    };
    std::vector<int> newest(plan_.streams.size(), -1);
    std::vector<std::tuple<int, int, int>> issues;  // communicator, issue, operation
    for (int number = 0; number < static_cast<int>(role.operations.size()); ++number) {
      const StepOperation& operation = role.operations[number];
      for (const int before : operation.after) require(number, before);
      const int previous = std::exchange(newest[operation.stream], number);
      if (plan_.streams[operation.stream].ordered && previous >= 0) require(number, previous);
      if (operation.kind == OperationKind::Collective && operation.communicator >= 0) {
        issues.emplace_back(operation.communicator, operation.issue, number);
      }
    }
    std::ranges::sort(issues);
    for (size_t i = 1; i < issues.size(); ++i) {
      const bool same = std::get<0>(issues[i]) == std::get<0>(issues[i - 1]);
      if (same) require(std::get<2>(issues[i]), std::get<2>(issues[i - 1]));
    }
  }

  // Messages of one tag between two ranks: their tags in the text, and how many ends have them.
  using Tags = std::tuple<std::vector<int>, size_t, size_t>;

  const StepPlan& plan_;
  std::vector<std::string> lines_;               // by rank
  std::vector<std::vector<Labels>> labels_;      // by rank and operation
  std::map<std::pair<int, int>, Labels> parts_;  // by collective and rank
  std::map<std::pair<int, int>, int> tags_;      // the next one, by sender and receiver
  std::map<std::tuple<int, int, int>, Tags> messages_;
  std::map<std::tuple<int, int, int>, std::pair<std::vector<int64_t>, size_t>> sizes_;
};

}  // namespace

std::string GoalText(const StepPlan& plan) {
  if (plan.contention > 0) {
    throw Error("GOAL", "a plan whose collectives slow compute", "a plan without contention");
  }
  if (plan.hostLimit > 0) {
    throw Error("GOAL", "a plan with a limit of the host", "a plan without one");
  }
  return PlanWriter(plan).Write();
}

}  // namespace legacy::graphs
