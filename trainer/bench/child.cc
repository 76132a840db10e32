#include "trainer/bench/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"

namespace legacy::bench {
namespace {

// Returns VmHWM of a process, or 0 if it has ended. The kernel's own figure (ru_maxrss) begins with
// the memory of the process that started it.
int64_t PeakBytes(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  constexpr int64_t kUnit = 1024;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return kUnit * std::atoll(line.c_str() + 6);
  }
  return 0;
}

double SecondsOf(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Starts the program. Returns once it has replaced the copy of this process.
pid_t Start(const std::vector<std::string>& command, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_CREAT | O_TRUNC | O_WRONLY, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t process = 0;
  const int error =
      posix_spawn(&process, arguments.front(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw Error(command.front() + ": " + std::strerror(error));
  return process;
}

}  // namespace

ChildCost RunChild(const std::vector<std::string>& command, const std::string& log) {
  const auto start = std::chrono::steady_clock::now();
  const pid_t process = Start(command, log);
  ChildCost cost;
  int status = 0;
  rusage usage{};
  while (wait4(process, &status, WNOHANG, &usage) == 0) {
    cost.peak_bytes = std::max(cost.peak_bytes, PeakBytes(process));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  cost.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  cost.processor_seconds = SecondsOf(usage.ru_utime) + SecondsOf(usage.ru_stime);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    throw Error(command.front() + " failed; its output is in " + log);
  }
  return cost;
}

}  // namespace legacy::bench
