#include "scenarios/network/validation/fork_map.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

constexpr char kResult = 'R';   // first byte of a child's answer: its result follows
constexpr char kFailure = 'E';  // first byte of a child's answer: its error follows

void WriteAll(int file, const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t n = write(file, text.data() + written, text.size() - written);
    if (n < 0 && errno != EINTR) _exit(1);
    if (n > 0) written += static_cast<size_t>(n);
  }
}

[[noreturn]] void RunChild(pid_t parent, int file, const std::function<std::string(int)>& work,
                           int index) {
  // If a signal ends the parent, no child continues to compute.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  std::string answer;
  try {
    answer = kResult + work(index);
  } catch (const std::exception& error) {
    answer = kFailure + std::string(error.what());
  }
  WriteAll(file, answer);
  _exit(0);
}

class Child {
 public:
  Child(int index, const std::function<std::string(int)>& work) : index_(index) {
    int ends[2];
    if (pipe(ends) != 0) throw Error(std::string("pipe: ") + std::strerror(errno));
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      RunChild(parent, ends[1], work, index);
    }
    close(ends[1]);
    file_ = ends[0];
    if (pid_ < 0) {
      close(file_);
      throw Error(std::string("fork: ") + std::strerror(errno));
    }
  }
  Child(Child&& other) noexcept
      : index_(other.index_),
        pid_(std::exchange(other.pid_, -1)),
        file_(other.file_),
        answer_(std::move(other.answer_)) {}
  Child& operator=(Child&& other) noexcept {
    std::swap(index_, other.index_);
    std::swap(pid_, other.pid_);
    std::swap(file_, other.file_);
    std::swap(answer_, other.answer_);
    return *this;
  }
  ~Child() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(file_);
  }

  int index() const { return index_; }
  int file() const { return file_; }

  // Reads what the child has written. Returns true at the end.
  bool Read() {
    char buffer[4096];
    const ssize_t n = read(file_, buffer, sizeof buffer);
    if (n > 0) answer_.append(buffer, static_cast<size_t>(n));
    return n == 0 || (n < 0 && errno != EINTR);
  }

  // Returns the child's result. `name` is for messages.
  std::string Take(const std::string& name) {
    int status = 0;
    waitpid(pid_, &status, 0);
    close(file_);
    pid_ = -1;
    if (answer_.empty()) {
      throw Error(name + ": the process ended without a result, status " + std::to_string(status));
    }
    if (answer_.front() == kFailure) throw Error(name + ": " + answer_.substr(1));
    return answer_.substr(1);
  }

 private:
  int index_;
  pid_t pid_ = -1;
  int file_ = -1;
  std::string answer_;
};

}  // namespace

std::vector<std::string> ForkMap(const std::vector<std::string>& names, int processes,
                                 const std::function<std::string(int)>& work,
                                 const std::function<void(int)>& done) {
  const auto count = static_cast<int>(names.size());
  std::vector<std::string> results(count);
  std::vector<Child> children;
  int next = 0;
  while (next < count || !children.empty()) {
    while (next < count && static_cast<int>(children.size()) < processes) {
      children.emplace_back(next++, work);
    }
    std::vector<pollfd> files;
    for (const Child& child : children) files.push_back({child.file(), POLLIN, 0});
    if (poll(files.data(), files.size(), -1) < 0) continue;
    for (size_t i = children.size(); i-- > 0;) {
      if (files[i].revents == 0 || !children[i].Read()) continue;
      Child ended = std::move(children[i]);
      children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
      results[ended.index()] = ended.Take(names[ended.index()]);
      done(ended.index());
    }
  }
  return results;
}

}  // namespace legacy
