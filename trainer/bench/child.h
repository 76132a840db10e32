// A child is a program that a benchmark starts as users do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace legacy::bench {

// A ChildCost is what a program took.
struct ChildCost {
  double wall_seconds = 0;
  double processor_seconds = 0;  // of all its threads
  int64_t peak_bytes = 0;        // largest resident memory, read every few milliseconds
};

// Runs the program with its output in `log`, a file. Throws Error naming the file where it cannot
// be started or does not end with status 0.
ChildCost RunChild(const std::vector<std::string>& command, const std::string& log);

}  // namespace legacy::bench
