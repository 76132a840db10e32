// The reader of GOAL schedules (Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language",
// ICPP'09), as LogGOPSim and ATLAHS write them: a text with the sends, receives and computations of
// all ranks.
//
//   num_ranks 2
//   rank 0 {
//     l1: calc 5000 cpu 0
//     l2: send 1024b to 1 tag 7 cpu 0 nic 0
//     l2 requires l1
//   }
//   rank 1 { l1: recv 1024b from 0 tag 7 }
//
// `requires` waits for the end of an operation, `irequires` for its start. tag, cpu and nic may be
// left out; times are nanoseconds. Blanks and line breaks separate words, and // and /* */ are
// comments.
#pragma once

#include <functional>
#include <string>

#include "scenarios/graphs/trace_node.h"

namespace legacy::graphs {

// A GoalUse is told what a file has.
struct GoalUse {
  std::function<void(int ranks)> begin;
  // The operations of a rank follow; ids count from 0. Ranks come in order, each once, and those
  // without operations too.
  std::function<void(int rank)> rank;
  std::function<void(const TraceNode& node)> node;
};

// Reads a file. Throws Error "PATH:LINE: ..." on what is no such text.
void ReadGoal(const std::string& path, const GoalUse& use);

}  // namespace legacy::graphs
