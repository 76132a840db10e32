#include "scenarios/study/shell.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "base/error.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr auto kPatience = std::chrono::seconds(10);  // time allowed after SIGTERM
constexpr int kNoProgram = 127;  // exit status of shells if a program is not found

[[noreturn]] void Become(const std::vector<std::string>& words, int log, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);
  for (const int signal_number : {SIGINT, SIGTERM}) signal(signal_number, SIG_DFL);
  setpgid(0, 0);  // this program reacts to a terminal's Ctrl-C, and not the child
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(kNoProgram);
}

// Returns true and sets the exit status once the process has ended.
bool HasEnded(pid_t pid, int& status) {
  int raw = 0;
  if (waitpid(pid, &raw, WNOHANG) != pid) return false;
  status = WIFEXITED(raw) ? WEXITSTATUS(raw) : -1;
  return true;
}

void Stop(pid_t pid) {
  int status = 0;
  kill(pid, SIGTERM);
  for (const auto end = std::chrono::steady_clock::now() + kPatience;
       std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(kBetweenLooks)) {
    if (HasEnded(pid, status)) return;
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

}  // namespace

std::string ShellWord(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("-_./:=,%+@", c) != nullptr;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string ShellLine(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + ShellWord(word);
  return line;
}

std::string ProgramLine(const std::string& program, const std::vector<std::string>& words) {
  return CommandOf(program) + (words.empty() ? "" : " ") + ShellLine(words);
}

ShellResult RunShell(const std::string& line) {
  ShellResult result;
  std::fflush(nullptr);
  FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error(line + ": " + std::strerror(errno));
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof buffer, pipe)) result.text.append(buffer, n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

int RunProgram(const std::vector<std::string>& words, const fs::path& log,
               const std::function<void()>& tick, const StopFlag& stop) {
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw Error(log.string() + ": cannot be written: " + std::strerror(errno));
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(words, file, parent);
  close(file);
  if (pid < 0) throw Error(std::string("fork: ") + std::strerror(errno));
  int status = -1;
  while (!HasEnded(pid, status)) {
    if (stop) {
      Stop(pid);
      return -1;
    }
    tick();
    std::this_thread::sleep_for(kBetweenLooks);
  }
  if (status == kNoProgram) throw Error(words.front() + ": no such program is installed");
  return status;
}

}  // namespace legacy
