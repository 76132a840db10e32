#include "scenarios/study/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace legacy {
namespace {

constexpr auto kPlainLines = std::chrono::seconds(5);
constexpr double kRateSeconds = 0.5;  // seconds before which rates are only noise

std::string Duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole >= 3600) {
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  }
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

std::string ProgressText(const StudyProgress& progress, double seconds) {
  std::string text;
  if (progress.trainings > 0) {
    text += fmt::format("trainings {}/{}", progress.trainings_ended, progress.trainings);
    if (progress.points > 0) text += "  ";
  }
  if (progress.points > 0 || progress.trainings == 0) {
    text += fmt::format("points {}/{}", progress.points_ended, progress.points);
  }
  if (progress.points_failed > 0) text += fmt::format("  {} failed", progress.points_failed);
  const StudyProgress::Left left = progress.TimeLeft();
  if (left.seconds <= 0 && !left.at_least) return text + "  in " + Duration(seconds);
  if (seconds < kRateSeconds || left.seconds <= 0) return text;
  if (!left.at_least) text += fmt::format("  {:3.0f}%", 100 * seconds / (seconds + left.seconds));
  if (progress.points_ended > 0) {
    text += fmt::format("  {:.1f} points/s", static_cast<double>(progress.points_ended) / seconds);
  }
  return text + (left.at_least ? "  ETA > " : "  ETA ") + Duration(left.seconds);
}

void StudyProgressLine::Show(const StudyProgress& progress) {
  if (line_.OnTerminal()) return line_.Show(ProgressText(progress, Seconds()));
  const auto now = WallClock::now();
  if (now - kept_ < kPlainLines) return;
  kept_ = now;
  std::string text = ProgressText(progress, Seconds());
  if (text != last_) line_.Keep(text);
  last_ = std::move(text);
}

void StudyProgressLine::Finish(const StudyProgress& progress) {
  line_.Keep(ProgressText(progress, Seconds()));
}

double StudyProgressLine::Seconds() const {
  return std::chrono::duration<double>(WallClock::now() - start_).count();
}

}  // namespace legacy
