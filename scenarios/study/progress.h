// A study's progress is one rewritten line on a terminal, and a plain line every few seconds
// elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "base/programs/progress_line.h"
#include "scenarios/study/run.h"

namespace legacy {

// Returns "trainings 2/6  points 35/112  1 failed   41%  3.2 points/s  ETA 0:42", `seconds` after
// the beginning.
std::string ProgressText(const StudyProgress& progress, double seconds);

// A StudyProgressLine shows the progress on standard error.
class StudyProgressLine {
 public:
  explicit StudyProgressLine(bool terminal) : line_(terminal) {}

  void Show(const StudyProgress& progress);
  void Finish(const StudyProgress& progress);  // writes a last line

 private:
  using WallClock = std::chrono::steady_clock;
  double Seconds() const;

  RewrittenLine line_;
  WallClock::time_point start_ = WallClock::now();
  WallClock::time_point kept_ = WallClock::now();
  std::string last_;  // text of the last line
};

}  // namespace legacy
