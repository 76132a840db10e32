#include "base/programs/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>

#include "base/error.h"

namespace legacy {
namespace {

constexpr char kReturned = '+';  // first character of a result; that of an exception differs

[[noreturn]] void Answer(int file, unsigned seconds, const std::function<std::string()>& work) {
  for (const int fault : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM}) {
    signal(fault, SIG_DFL);
  }
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  alarm(seconds);
  std::string answer;
  try {
    answer = kReturned + work();
  } catch (const std::exception& error) {
    answer = std::string("-") + error.what();
  } catch (...) {
    answer = "-it threw something other than a std::exception";
  }
  for (size_t written = 0; written < answer.size();) {
    const ssize_t n = write(file, answer.data() + written, answer.size() - written);
    if (n < 0 && errno != EINTR) break;
    if (n > 0) written += static_cast<size_t>(n);
  }
  _exit(0);
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(file, buffer, sizeof buffer)) != 0;) {
    if (n > 0) text.append(buffer, static_cast<size_t>(n));
    if (n < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

std::string RunApart(unsigned seconds, const std::function<std::string()>& work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw Error(std::string("pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Answer(ends[1], seconds, work);
  }
  const int reason = errno;
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    throw Error(std::string("fork: ") + std::strerror(reason));
  }
  const std::string answer = ReadAll(ends[0]);
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    if (number == SIGALRM) throw Error("it did not end in " + std::to_string(seconds) + " s");
    throw Error("it ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")");
  }
  if (answer.empty()) throw Error("it ended the program");
  if (answer.front() != kReturned) throw Error(answer.substr(1));
  return answer.substr(1);
}

}  // namespace legacy
