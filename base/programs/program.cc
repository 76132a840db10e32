#include "base/programs/program.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/programs/patience.h"
#include "base/programs/terminal.h"

namespace legacy {
namespace {

StopFlag g_stop = 0;  // only the signal handler sets it

std::atomic<int> g_scopes = 0;        // StopScopes that exist
std::atomic<unsigned> g_seconds = 0;  // limit of the innermost scope
std::atomic<bool> g_armed = false;    // the alarm of that limit is set
static_assert(std::atomic<int>::is_always_lock_free);

extern "C" void EndNow(int) { _exit(kInterrupted); }

extern "C" void OnAlarm(int) {
  if (!BeLate()) _exit(kInterrupted);
  alarm(kSecondsToGiveUp);
}

void SetAlarm() {
  alarm(g_seconds);
  g_armed = true;
}

extern "C" void Stop(int signal) {
  if (g_scopes == 0) _exit(kInterrupted);
  g_stop = 1;
  std::signal(signal, EndNow);
  if (g_seconds > 0) SetAlarm();
}

extern "C" void StopAlways(int signal) {
  g_stop = 1;
  std::signal(signal, SIG_DFL);
  if (g_seconds > 0 && IsPatient()) SetAlarm();
}

StopFlag g_requests = 0;  // only the signal handler counts it

extern "C" void Request(int) { g_requests = g_requests + 1; }

int Run(const char* program, const std::function<int()>& run) {
  try {
    return run();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: the memory of this machine is not enough\n", program);
    return kFailed;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", ErrorMessage(program, error.what()).c_str());
    return error.IsRefusal() ? kRefused : kFailed;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", ErrorMessage(program, error.what()).c_str());
    return kFailed;
  }
}

}  // namespace

std::string CommandOf(const std::string& program) {
  const char* const launcher = std::getenv("LEGACY_LAUNCHER");
  return launcher == nullptr || *launcher == 0 ? program : std::string(launcher) + " " + program;
}

int ProgramStatus(const char* program, const std::function<int()>& run) {
  const int status = Run(program, run);
  std::cout.flush();
  const bool now = std::fflush(stdout) != 0;
  const int error = errno;
  if (!now && std::ferror(stdout) == 0 && !std::cout.fail()) return status;
  const std::string reason =
      now ? std::generic_category().message(error) : "an earlier part was lost";
  std::fprintf(stderr, "%s: standard output cannot be written: %s\n", program, reason.c_str());
  return status != 0 ? status : kFailed;
}

void RunProgram(const char* program, const std::function<int()>& run) {
  const int status = ProgramStatus(program, run);
#ifdef LEGACY_SANITIZED
  std::exit(status);
#else
  std::fflush(nullptr);
  _exit(status);
#endif
}

const StopFlag& CatchStop() {
  std::signal(SIGINT, Stop);
  std::signal(SIGTERM, Stop);
  std::signal(SIGALRM, OnAlarm);
  return g_stop;
}

StopScope::StopScope(unsigned seconds) : outer_(g_seconds.exchange(seconds)) {
  ++g_scopes;
  // Work that begins after the signal is given its time from now on.
  if (g_stop != 0 && seconds > 0 && IsPatient()) SetAlarm();
}

StopScope::~StopScope() {
  --g_scopes;
  if (g_armed.exchange(false)) alarm(0);
  g_seconds = outer_;
}

const StopFlag& CatchStop(int signal) {
  std::signal(signal, StopAlways);
  std::signal(SIGALRM, OnAlarm);
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
