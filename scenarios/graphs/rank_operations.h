// The nodes of one rank become operations of a step plan (fabric/step/step-plan.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ns3-module/fabric/step/step-plan.h"
#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// A RankOperations collects the nodes of one file, and orders them. Operations have everything but
// what they wait for until Finish.
class RankOperations {
 public:
  // `file` is for messages. `control`: nodes wait for what they depend on by control, too; else
  // these dependencies are counted.
  void Begin(int rank, std::string file, bool control);

  // Adds a node, whose operation this is.
  void Add(const TraceNode& node, fabric::StepOperation operation);

  // Resolves dependencies, and orders the operations: as in the file where each node follows those
  // that it waits for, else the earliest in the file that may come goes first. Where a node waits
  // for the start of another, it waits for what that one waits for. Throws Error with file, node
  // and name on dependencies on nodes that are not in the file, on ids that are there twice, and on
  // circles.
  void Finish();

  int rank() const { return rank_; }
  const std::string& file() const { return file_; }
  int64_t Count() const { return static_cast<int64_t>(operations_.size()); }
  // Returns the operations in their order. Those of the file's i-th node are at PlaceOf(i).
  std::vector<fabric::StepOperation>& Operations() { return operations_; }
  const std::vector<fabric::StepOperation>& Operations() const { return operations_; }
  int64_t PlaceOf(int64_t node) const { return places_.empty() ? node : places_[node]; }
  // Returns "FILE: node 7 'name'" of an operation in its order, after Finish.
  std::string Where(int64_t place) const;
  uint64_t IdOf(int64_t place) const { return ids_[place]; }
  // Returns how many dependencies of control are not followed.
  int64_t Dropped() const { return dropped_; }

 private:
  // A Wait is a dependency of a node by its id.
  struct Wait {
    uint64_t id;
    int node;
    bool start;  // for the start of that node, and not for its end
  };

  std::string NodeAt(int64_t node) const;
  void IndexIds();
  int Find(uint64_t id) const;
  void Resolve();
  void InheritStarts();
  void Sort();
  [[noreturn]] void ThrowCircle(const std::vector<int>& waiting) const;

  int rank_ = 0;
  std::string file_;
  bool control_ = false;
  std::vector<fabric::StepOperation> operations_;
  std::vector<uint64_t> ids_;
  std::vector<Wait> waits_;
  std::vector<std::pair<uint64_t, int>> index_;  // by id; empty where ids count from the first one
  std::vector<std::pair<int, int>> starts_;      // a node, and one that has begun before it
  std::vector<int64_t> places_;                  // empty: the order of the file
  int64_t dropped_ = 0;
};

}  // namespace legacy::graphs
