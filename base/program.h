// How programs end.
#pragma once

#include <csignal>
#include <functional>

namespace legacy {

// Runs a program's own part and returns its exit status. What it throws is said on standard error,
// behind the program's name: status 1. Standard output that did not take everything, as on a full
// disk, is said there, too, and makes a status of 0 a 1.
int ProgramStatus(const char* program, const std::function<int()>& run);

// What long work looks at between its steps: other than 0 where it should end.
using StopFlag = volatile std::sig_atomic_t;

// From now on SIGINT and SIGTERM set the flag that is returned; a second one ends the program at
// once.
const StopFlag& CatchStop();

}  // namespace legacy
