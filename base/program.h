// How programs end.
#pragma once

#include <functional>

namespace legacy {

// Runs a program's own part and returns its exit status. What it throws is said on standard error,
// behind the program's name: status 1. Standard output that did not take everything, as on a full
// disk, is said there, too, and makes a status of 0 a 1.
int ProgramStatus(const char* program, const std::function<int()>& run);

}  // namespace legacy
