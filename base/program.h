// A program ends with a status, a message, or at a signal.
#pragma once

#include <csignal>
#include <functional>

namespace legacy {

// Runs a program's own part and returns its exit status. What it throws is written to standard
// error behind the program's name, with status 1. Standard output that did not take everything, as
// on a full disk, is reported there too, and makes a status of 0 a 1.
int ProgramStatus(const char* program, const std::function<int()>& run);

// A StopFlag is read by long work between its steps; other than 0, it should end.
using StopFlag = volatile std::sig_atomic_t;

// Makes SIGINT and SIGTERM set the flag that is returned; a second signal ends the program at once.
const StopFlag& CatchStop();
// Makes one signal set that flag, in a process that another one stops.
const StopFlag& CatchStop(int signal);

// Makes SIGUSR1, which Slurm sends before its limit, count up the number that is returned. It does
// not end the program.
const StopFlag& CatchRequests();

}  // namespace legacy
