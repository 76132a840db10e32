// A child is work in a process of its own that says how far it is: the parent has no training and
// no packets, and what kills the child leaves the parent alone. The child dies with its parent.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace legacy {

// A Child is one such process.
class Child {
 public:
  // Says one line to the parent, in the child alone.
  using Say = std::function<void(const std::string& line)>;

  // `work` runs in the child, with its standard output and error appended to `log`; what it returns
  // is the exit status. Signals that ask to stop do not reach the child: its parent stops it.
  // Throws Error where the system refuses.
  Child(const std::filesystem::path& log, const std::function<int(const Say&)>& work);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills the child

  // Returns a file that is readable where the child said something or has ended.
  int file() const { return file_; }

  // Returns whole lines since the last call. `ended` becomes true where there will be no more.
  std::vector<std::string> Read(bool& ended);

  // An End is how the child ended; Wait waits for it.
  struct End {
    int status = -1;  // value that `work` returned; -1: it died of a signal
    // The end for people, with the end of what the child said in its log.
    std::string how;
  };
  End Wait();

 private:
  std::filesystem::path log_;
  std::uintmax_t log_begin_ = 0;  // where the child's own words begin
  pid_t pid_ = -1;
  int file_ = -1;
  std::string text_;
};

}  // namespace legacy
