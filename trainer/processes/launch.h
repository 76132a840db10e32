// A launch says how a process was started as one of several that train together: by torchrun,
// mpirun or srun, by hand with the same variables, or by --processes, which forks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace legacy {

// A Launch is one process's place among the processes, and where they meet.
struct Launch {
  int rank = 0;
  int size = 1;
  int local_size = 1;  // processes of the same machine; they share its cores
  int local_rank = 0;  // this process among them
  std::string by;      // what started it: "torchrun", "mpirun", "srun", "--processes"
  std::string host;    // of process 0
  uint16_t port = 0;   // 0: process 0 takes a free one, and tells the others through `pipe`
  // Ends of a pipe from process 0 to the others, where `port` is 0: it writes 2 bytes for each.
  int pipe_in = -1;
  int pipe_out = -1;
  // True where torchrun's own store serves the processes, under `prefix`; otherwise process 0 does.
  bool agent_store = false;
  std::string prefix = "";
};

// Returns the value of an environment variable, or null.
using EnvironmentLookup = std::function<const char*(const char* name)>;

// Returns the launch that the environment describes; nothing: the process is alone. `at` is the
// address of process 0 as HOST or HOST:PORT, which counts before the environment's; "": that one.
// Throws Error on ranks out of range, and where the address is missing, with what to set.
std::optional<Launch> ReadLaunch(const EnvironmentLookup& environment, const std::string& at);

// Forks into `processes` processes of this machine: it returns in each of them, in process 0 for
// the caller, which stays the parent. The program must have one thread only. Throws Error where the
// system refuses.
Launch ForkProcesses(int processes);

// Waits until the forked processes have ended; those that have not after `seconds` are killed.
// Processes without any return at once.
void ReapProcesses(double seconds);

}  // namespace legacy
