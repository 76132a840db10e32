#include "base/programs/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "base/files/own_file.h"

namespace legacy {
namespace {

namespace fs = std::filesystem;

constexpr size_t kEndOfLog = 400;  // bytes

void WriteLine(int file, const std::string& line) {
  const std::string text = line + '\n';
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) _exit(1);  // the parent does not read any more
    if (n > 0) written += static_cast<size_t>(n);
  }
}

[[noreturn]] void RunChild(pid_t parent, int pipe, int log,
                           const std::function<int(const Child::Say&)>& work) {
  // A terminal's Ctrl-C and a scheduler's notice reach every process of the group, but only the
  // parent reacts to them.
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) signal(signal_number, SIG_IGN);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);  // the parent ended before prctl took effect
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  int status = 1;
  try {
    status = work([pipe](const std::string& line) { WriteLine(pipe, line); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace

Child::Child(const fs::path& log, const std::function<int(const Say&)>& work) : log_(log) {
  std::string refused;
  const int log_file = OpenOwnFile(log, O_WRONLY | O_CREAT | O_APPEND, refused);
  if (log_file < 0) throw Error(log.string() + ": cannot be written: " + refused);
  log_begin_ = fs::file_size(log);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    close(log_file);
    throw Error(std::string("pipe: ") + std::strerror(errno));
  }
  std::fflush(nullptr);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    RunChild(parent, ends[1], log_file, work);
  }
  const int reason = errno;
  close(ends[1]);
  close(log_file);
  file_ = ends[0];
  if (pid_ < 0) {
    close(file_);
    throw Error(std::string("fork: ") + std::strerror(reason));
  }
}

Child::~Child() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(file_);
}

std::vector<std::string> Child::Read(bool& ended) {
  char buffer[4096];
  const ssize_t n = read(file_, buffer, sizeof buffer);
  ended = n == 0 || (n < 0 && errno != EINTR);
  if (n > 0) text_.append(buffer, static_cast<size_t>(n));
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    lines.push_back(text_.substr(begin, end - begin));
  }
  text_.erase(0, begin);
  return lines;
}

Child::End Child::Wait() {
  int raw = 0;
  while (waitpid(pid_, &raw, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  End end;
  if (WIFEXITED(raw)) {
    end.status = WEXITSTATUS(raw);
    end.how = "its process ended with status " + std::to_string(end.status);
  } else {
    end.how = "its process died of signal " + std::to_string(WTERMSIG(raw)) + " (" +
              strsignal(WTERMSIG(raw)) + ")";
  }
  const std::string words = EndOfLog(log_, log_begin_);
  if (!words.empty()) end.how += ": " + words;
  return end;
}

void Child::Signal(int number) const {
  if (pid_ > 0) kill(pid_, number);
}

std::string EndOfLog(const fs::path& log, std::uintmax_t begin) {
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  std::string text(std::istreambuf_iterator<char>(file), {});
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  if (text.size() > kEndOfLog) text.erase(0, text.size() - kEndOfLog);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace legacy
