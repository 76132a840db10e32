// The progress of work in equal parts is one rewritten line on a terminal, with rate and time left,
// and nothing elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace legacy {

// Returns a wall time in words, rounded to two digits or to a whole number: "40 seconds",
// "1.5 minutes", "400 days".
std::string WallTimeInWords(double seconds);

// A RewrittenLine is a line of `log` that is rewritten where that is a terminal.
class RewrittenLine {
 public:
  explicit RewrittenLine(bool terminal, std::FILE* log = stderr) : terminal_(terminal), log_(log) {}

  // Shows a text on a terminal, at most a few times a second.
  void Show(const std::string& text);
  // Writes a line that stays, in place of the rewritten one.
  void Keep(const std::string& text);
  // Ends the rewritten line, which stays.
  void Finish();
  // Removes the rewritten line.
  void Clear();

  bool OnTerminal() const { return terminal_; }

 private:
  bool terminal_;
  std::FILE* log_;
  bool open_ = false;  // true while a rewritten line is on the terminal
  std::chrono::steady_clock::time_point shown_ = std::chrono::steady_clock::now();
};

// A ProgressLine counts the parts that are done.
class ProgressLine {
 public:
  // `unit` names the parts, as in "steps". The line is written to `log`.
  ProgressLine(int64_t total, std::string unit, bool terminal, std::FILE* log = stderr);

  // Counts one more part. The line shows `text`, at most a few times a second.
  void Advance(const std::string& text);
  // Writes a line that stays; on a terminal it takes the place of the rewritten one.
  void Keep(const std::string& text);
  // Writes such a line without rate and time left.
  void Say(const std::string& text) { line_.Keep(text); }
  // Returns the seconds that all parts take at the rate so far, once it has settled: the estimate
  // is formed when a second and two parts are over, and again after each doubling of the time,
  // until it agrees with the one before within a factor of 1.5. First parts may take much longer
  // than those that repeat them.
  std::optional<double> SettledSeconds();
  void Finish() { line_.Finish(); }
  void Clear() { line_.Clear(); }

  bool OnTerminal() const { return line_.OnTerminal(); }

 private:
  std::string Line(const std::string& text) const;
  std::string Left() const;
  double Elapsed() const;  // seconds

  using WallClock = std::chrono::steady_clock;
  int64_t total_;
  int64_t done_ = 0;
  std::string unit_;
  RewrittenLine line_;
  WallClock::time_point start_;
  double next_look_ = 1;  // seconds after which the estimate is formed
  double estimate_ = 0;   // the last one; 0: none yet
};

}  // namespace legacy
