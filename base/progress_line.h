// Progress of work in equal parts: one rewritten line on a terminal with rate and time left,
// nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace legacy {

// A line on standard error that is rewritten where that is a terminal.
class RewrittenLine {
 public:
  explicit RewrittenLine(bool terminal) : terminal_(terminal) {}

  void Show(const std::string& text);  // on a terminal, at most a few times a second
  void Keep(const std::string& text);  // a line that stays; it takes the place of the rewritten one
  void Finish();                       // leaves the rewritten line
  void Clear();                        // takes it away

  bool OnTerminal() const { return terminal_; }

 private:
  bool terminal_;
  bool open_ = false;  // a rewritten line stands on the terminal
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

class ProgressLine {
 public:
  // `unit`: what is counted, as in "steps". Writes to standard error.
  ProgressLine(int64_t total, std::string unit, bool terminal);

  // One more is done; `text` is what to say about it, at most a few times a second.
  void Advance(const std::string& text);
  // A line that stays; on a terminal it takes the place of the rewritten one.
  void Keep(const std::string& text);
  void Finish() { line_.Finish(); }
  void Clear() { line_.Clear(); }

  bool OnTerminal() const { return line_.OnTerminal(); }

 private:
  std::string Line(const std::string& text) const;
  std::string Left() const;

  using WallClock = std::chrono::steady_clock;
  int64_t total_;
  int64_t done_ = 0;
  std::string unit_;
  RewrittenLine line_;
  WallClock::time_point start_;
};

}  // namespace legacy
