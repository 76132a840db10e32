// Traces of all ranks become one step plan (fabric/step/step-plan.h), which any engine can run.
// Ranks with equal nodes, but for ids, durations, peers and groups, become one role.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "ns3-module/fabric/step/step-plan.h"
#include "scenarios/graphs/rank_operations.h"
#include "scenarios/graphs/trace_groups.h"
#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// A Roofline prices nodes by their arithmetic and their tensors.
struct Roofline {
  double operations_per_second = 0;
  double bytes_per_second = 0;
};

// ImportOptions say what a trace leaves open.
struct ImportOptions {
  // True: comm_size of an all-gather counts all of its bytes; false: those that a rank gives.
  bool gathered_sizes = false;
  // Compute takes what was recorded, or what its arithmetic and tensors take.
  std::optional<Roofline> roofline;
  // One collective or send of a rank at a time, in the order of its file, as ASTRA-sim has it;
  // false: a stream for each group, and messages as they come.
  bool one_stream = false;
  // Nodes wait for what they depend on by control, too, and a collective without a type is an
  // error. False: only dependencies of data count, as in ASTRA-sim, since PyTorch's converter
  // writes the call stack as control; and such a collective takes the time that was recorded.
  bool strict = false;
  fabric::CollectiveAlgorithm all_reduce = fabric::CollectiveAlgorithm::RingAllReduce;
  fabric::CollectiveAlgorithm all_gather = fabric::CollectiveAlgorithm::RingAllGather;
  fabric::CollectiveAlgorithm reduce_scatter = fabric::CollectiveAlgorithm::RingReduceScatter;
};

// ImportCounts say what a trace had, and what was made of it.
struct ImportCounts {
  int64_t nodes = 0;
  int64_t dropped = 0;   // dependencies of control that are not followed
  int64_t replayed = 0;  // collectives without a type, which take their recorded time
  int64_t timeless = 0;  // nodes that compute something in no time, as they have no duration
  int64_t operations = 0;
  int64_t collectives = 0;
  int64_t messages = 0;
};

// An ImportedPlan is a plan, with what was counted while it was read.
struct ImportedPlan {
  fabric::StepPlan plan;
  // True for collectives of which the file says all, and so the network nothing.
  std::vector<bool> settled;
  ImportCounts counts;
};

// A PlanMaker takes the nodes of one rank after the other.
class PlanMaker {
 public:
  // `groups` are those of the user's file.
  PlanMaker(TraceGroups groups, int ranks, const ImportOptions& options);
  ~PlanMaker();
  PlanMaker(const PlanMaker&) = delete;
  PlanMaker& operator=(const PlanMaker&) = delete;

  // Begins the file of a rank: 0, 1, 2, ... `file` is for messages.
  void BeginRank(int rank, const std::string& file);
  // Takes what a file of ours says of the plan, before its nodes. Throws Error where others of its
  // files said something else.
  void Take(const PlanFields& plan);
  // Takes a node. Throws Error "node 7 'name': ...".
  void Take(const TraceNode& node);
  // Ends the file. Throws Error with file and node as RankOperations::Finish does, and where ranks
  // contradict each other.
  void EndRank();
  // Returns the plan. Throws Error with file, node and name where a rank is missing in a
  // collective, or a message has one end, and as CheckPlan does.
  ImportedPlan Finish();

 private:
  // A Use is a rank's part in a collective.
  struct Use {
    int node = 0;  // in the file
    CollectiveType type = CollectiveType::kAllReduce;
    int group = 0;
    int64_t bytes = 0;
    int64_t tag = -1;  // -1: none
    int root = 0;      // rank; -1: the first member
    std::optional<OwnFields> own;
  };

  // An Instance is a collective with the ranks that take part so far.
  struct Instance {
    Use first;
    std::string where;  // of the first rank's node
    fabric::CollectiveSpec spec;
    std::vector<bool> taking;  // by member
    int left = 0;              // members that are missing
  };

  // A MessageEnd is a send or a receive.
  struct MessageEnd {
    bool send = false;
    int rank = 0;
    int place = 0;  // in the order of its rank
    uint64_t id = 0;
  };
  using MessageKey = std::tuple<int, int, int>;  // sender, receiver, tag

  fabric::StepOperation OperationOf(const TraceNode& node);
  void SetSegment(const TraceNode& node, fabric::StepOperation& operation);
  void SetMessage(const TraceNode& node, fabric::StepOperation& operation);
  void SetCollective(const TraceNode& node, fabric::StepOperation& operation);
  void SetOwn(const TraceNode& node, fabric::StepOperation& operation) const;
  TimeNs DurationOf(const TraceNode& node);
  int StreamNamed(const std::string& name, bool ordered, int device = 0);
  int StreamOfGroup(int group);
  void AddUses();
  void AddMessages();
  void AddRole();
  bool Fits(size_t role) const;
  Instance MakeInstance(const Use& use, const std::string& where) const;
  void SetAlgorithm(const Use& use, fabric::CollectiveSpec& spec) const;
  void Join(Instance& instance, const Use& use) const;
  void SetRoot(Instance& instance) const;
  void AddCollectives(ImportedPlan& imported);
  void CheckMessageEnds() const;
  std::string Where(const MessageEnd& end) const;

  const int ranks_;
  const ImportOptions options_;
  TraceGroups groups_;
  std::optional<PlanFields> own_;
  fabric::StepPlan plan_;
  ImportCounts counts_;
  RankOperations rank_;
  std::vector<Use> uses_;                 // of collectives, in the file of this rank
  std::map<int, int> group_streams_;      // of this rank, by group
  std::map<size_t, int> groups_of_size_;  // of this rank: number of groups by their size
  std::map<std::tuple<int, int64_t, int64_t>, int> instance_of_;
  std::vector<Instance> instances_;
  std::map<MessageKey, std::vector<MessageEnd>> ends_;  // that have no other end yet
  std::unordered_multimap<uint64_t, size_t> roles_;     // by hash
  std::vector<std::unordered_map<int, int>> places_;    // by role: operation of each collective
  std::vector<size_t> role_of_;                         // by rank
  std::vector<std::string> files_;                      // by rank
};

}  // namespace legacy::graphs
