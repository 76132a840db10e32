// Lists of flows in the formats of other simulators.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "ns3-module/fabric/import/import.h"

namespace legacy {

// A ListedFlow is a line of a list, whose hosts are numbers of that simulator.
struct ListedFlow {
  int64_t source = 0;
  int64_t destination = 0;
  int64_t bytes = 0;  // 0 in htsim's files: without an end
  TimeNs start = 0;
  std::string where;  // "file:line:column"
};

// A ListedFlows is a whole list.
struct ListedFlows {
  int64_t nodes = 0;  // hosts that the list is for; 0: it does not say
  std::string nodes_where;
  std::vector<ListedFlow> flows;
  fabric::ImportReport report;  // what the list says that has no meaning here
};

// Returns the reader that fits a file's first line, or nullptr for any other file (CSV):
// * htsim's connection matrix: "Nodes 16", "Connections 2", and lines "0->5 id 1 start 0 size
//   2000000" with the start in picoseconds and the size in bytes; id and prio have no meaning here;
// * HPCC's flows: their number, and as many lines "source destination group port bytes start", with
//   the start in seconds; group, port and further lines have no meaning here.
// The reader throws Error with file and line on words that are not numbers, on counts that are
// wrong, and on what cannot be carried out: triggers, failures.
using FlowReader = ListedFlows (*)(const std::string& path, std::string text);
FlowReader FlowReaderOf(const std::string& text);

}  // namespace legacy
