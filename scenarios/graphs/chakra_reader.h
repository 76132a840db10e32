// Readers of Chakra's execution traces: one file for each rank, in protobuf or JSON.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// A ChakraUse is told what a file has.
struct ChakraUse {
  std::function<void(const PlanFields& plan)> plan;  // of a file of ours; before its nodes
  std::function<void(const TraceNode& node)> node;   // in the order of the file
};

// Reads a file of protobuf messages: the schema of today, or 0.0.1, which is known by its fields.
// `differences` is a file of what another rank has in place of that ("": none). Throws Error "PATH:
// byte N: ..." on what is no such file, and on numbers that do not fit.
void ReadChakra(const std::string& path, const ChakraUse& use, const std::string& differences = "");

// Returns the rank from whose file one of differences differs.
int64_t FirstRankOf(const std::string& differences);

// Reads the JSON form: an object with the list "workload_graph". Throws Error naming file and node.
void ReadChakraJson(const std::string& path, const ChakraUse& use);

// Returns "node 7 'aten::mm'" for messages.
std::string NodeText(uint64_t id, const std::string& name);
inline std::string NodeText(const TraceNode& node) { return NodeText(node.id, node.name); }

// Returns what Chakra's number of a node's or a collective's type stands for. Throws Error naming
// `where` on other numbers.
NodeKind KindOf(int64_t type, const std::string& where);
CollectiveType CollectiveOf(int64_t type, const std::string& where);

}  // namespace legacy::graphs
