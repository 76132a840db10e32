#include "base/program.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <iostream>
#include <system_error>

namespace legacy {
namespace {

StopFlag g_stop = 0;  // only the signal handler sets it

extern "C" void Stop(int signal) {
  g_stop = 1;
  std::signal(signal, SIG_DFL);
}

StopFlag g_requests = 0;  // only the signal handler counts it

extern "C" void Request(int) { g_requests = g_requests + 1; }

int Run(const char* program, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program, error.what());
    return 1;
  }
}

}  // namespace

int ProgramStatus(const char* program, const std::function<int()>& run) {
  const int status = Run(program, run);
  std::cout.flush();
  const bool now = std::fflush(stdout) != 0;
  const int error = errno;
  if (!now && std::ferror(stdout) == 0 && !std::cout.fail()) return status;
  const std::string reason =
      now ? std::generic_category().message(error) : "an earlier part was lost";
  std::fprintf(stderr, "%s: standard output cannot be written: %s\n", program, reason.c_str());
  return status != 0 ? status : 1;
}

const StopFlag& CatchStop() {
  std::signal(SIGINT, Stop);
  std::signal(SIGTERM, Stop);
  return g_stop;
}

const StopFlag& CatchStop(int signal) {
  std::signal(signal, Stop);
  return g_stop;
}

const StopFlag& CatchRequests() {
  struct sigaction action = {};
  action.sa_handler = Request;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  return g_requests;
}

}  // namespace legacy
