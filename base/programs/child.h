// A child does work in a process of its own and reports its progress. The parent has no training
// and no packets in its process, and whatever kills the child leaves the parent alone. The child
// dies with its parent.
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
  // A Say sends one line to the parent. Only the child calls it.
  using Say = std::function<void(const std::string& line)>;

  // `work` runs in the child, with its standard output and error appended to `log`; it returns the
  // exit status. Signals that ask to stop do not reach the child: its parent stops it. Throws Error
  // where the system refuses.
  Child(const std::filesystem::path& log, const std::function<int(const Say&)>& work);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills the child

  // Returns a file that becomes readable when the child sends a line or ends.
  int file() const { return file_; }

  // Returns the whole lines since the last call. `ended` becomes true where no more will come.
  std::vector<std::string> Read(bool& ended);

  // Sends a signal to the child.
  void Signal(int number) const;

  // An End says how the child ended. Wait waits for it.
  struct End {
    int status = -1;  // value that `work` returned; -1: it died of a signal
    // Text for people, with the end of the child's output in its log.
    std::string how;
  };
  End Wait();

 private:
  std::filesystem::path log_;
  std::uintmax_t log_begin_ = 0;  // start of the child's own output
  pid_t pid_ = -1;
  int file_ = -1;
  std::string text_;
};

// Returns the last lines of a log, for messages.
std::string EndOfLog(const std::filesystem::path& log, std::uintmax_t begin = 0);

}  // namespace legacy
