// Work in a child process that says how far it is: no training and no packets in the parent, and
// what kills the child leaves the parent alone. The child dies with its parent.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace legacy {

class Child {
 public:
  // Says one line to the parent; in the child alone.
  using Say = std::function<void(const std::string& line)>;

  // `work` runs in the child, its standard output and error behind what `log` has; what it returns
  // is the exit status. Signals that ask to stop go by the child: its parent stops it. Throws Error
  // where the system refuses.
  Child(const std::filesystem::path& log, const std::function<int(const Say&)>& work);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();  // kills

  // Readable where the child said something or has ended.
  int file() const { return file_; }

  // Whole lines since the last call; `ended` where there will be no more.
  std::vector<std::string> Read(bool& ended);

  // Waits for the end.
  struct End {
    int status = -1;  // what `work` returned; -1: it died of a signal
    std::string how;  // for people, with the end of what it said in its log
  };
  End Wait();

 private:
  std::filesystem::path log_;
  std::uintmax_t log_begin_ = 0;  // where its own words begin
  pid_t pid_ = -1;
  int file_ = -1;
  std::string text_;
};

}  // namespace legacy
