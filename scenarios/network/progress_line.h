// Progress of work in equal parts: one rewritten line on a terminal with rate and time left, nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace legacy {

class ProgressLine {
 public:
  // `unit`: what is counted, as in "steps". Writes to standard error.
  ProgressLine(int64_t total, std::string unit, bool terminal);

  // One more is done; `text` is what to say about it, at most a few times a second.
  void Advance(const std::string& text);
  // A line that stays; on a terminal it takes the place of the rewritten one.
  void Keep(const std::string& text);
  void Finish();  // leaves the rewritten line
  void Clear();   // takes it away

  bool OnTerminal() const { return terminal_; }

 private:
  std::string Line(const std::string& text) const;
  std::string Left() const;

  using WallClock = std::chrono::steady_clock;
  int64_t total_;
  int64_t done_ = 0;
  std::string unit_;
  bool terminal_;
  bool open_ = false;  // a rewritten line stands on the terminal
  WallClock::time_point start_;
  WallClock::time_point shown_;
};

}  // namespace legacy
