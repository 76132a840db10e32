// A trace's node is one operation of one rank, as a file of Chakra or GOAL has it: what readers
// hand on, node by node, and writers take. docs/execution-traces.md says what fields mean.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"

namespace legacy::graphs {

// The most ranks of a trace.
inline constexpr int64_t kMostTraceRanks = 1 << 20;

// A NodeKind says what a node is.
enum class NodeKind : uint8_t {
  kOther,  // metadata: it takes no time, but others may wait for it
  kCompute,
  kMemory,  // a load or a store
  kSend,
  kReceive,
  kCollective,
};

// A CollectiveType is Chakra's number of a collective.
enum class CollectiveType : uint8_t {
  kAllReduce,
  kReduce,
  kAllGather,
  kGather,
  kScatter,
  kBroadcast,
  kAllToAll,
  kReduceScatter,
  kReduceScatterBlock,
  kBarrier,
};
inline constexpr int kCollectiveTypes = 10;

// Returns its name: "all-reduce".
const char* ToString(CollectiveType type);

// OwnFields are what our plans say of a node and Chakra has no word for. Numbers are indices of the
// lists in PlanFields.
struct OwnFields {
  int stream = 0;
  int label = 0;  // fabric::SegmentLabel
  std::optional<TimeNs> earliest;
  std::optional<int> collective;  // number of the collective in the plan
  std::string algorithm;          // of fabric::CollectiveSpec
  std::string spec;               // what else it says, as bytes; "": what follows from the node
  int communicator = -1;
  int issue = 0;
};

// PlanFields are what our plans say of all ranks.
struct PlanFields {
  int64_t ranks = 0;
  std::vector<std::string> streams;
  std::vector<int64_t> ordered;  // by stream: 0 or 1
  std::vector<int64_t> devices;  // by stream
  std::vector<std::string> communicators;
  double contention = 0;
  int64_t host_limit = 0;

  bool operator==(const PlanFields&) const = default;
};

// A TraceNode is one node.
struct TraceNode {
  uint64_t id = 0;
  std::string name;
  NodeKind kind = NodeKind::kOther;
  std::vector<uint64_t> data_after;     // ids of nodes whose results it reads
  std::vector<uint64_t> control_after;  // ids of nodes that end before it for other reasons
  std::vector<uint64_t> after_start;    // ids of nodes that have begun before it
  std::optional<TimeNs> duration;       // as recorded
  int device = 0;                       // of its rank; 1: its processor (is_cpu_op)
  int64_t operations = 0;               // arithmetic ones
  int64_t tensor_bytes = 0;
  std::optional<CollectiveType> type;
  std::optional<int64_t> bytes;  // of a message, or of a rank's part of a collective
  std::optional<int64_t> tag;
  std::optional<int64_t> source;
  std::optional<int64_t> destination;
  std::string group;           // name; "": all ranks
  bool all_dimensions = true;  // false: of a hierarchy of ASTRA-sim, only some take part
  std::string groups;          // JSON: list of groups that a metadata node defines; "": none
  std::optional<OwnFields> own;

  // Returns to what a new node is. Texts and lists keep their memory.
  void Clear();
};

}  // namespace legacy::graphs
