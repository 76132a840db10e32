#include "base/programs/progress_line.h"

#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <utility>

#include "base/programs/terminal.h"

namespace legacy {

std::string WallTimeInWords(double seconds) {
  struct Unit {
    const char* name;
    double seconds;
    double limit;  // of this unit; from the limit on the next unit is used
  };
  constexpr Unit units[] = {
      {"second", 1, 99.5}, {"minute", 60, 99.5}, {"hour", 3600, 47.5}, {"day", 86400, 0}};
  const Unit* unit = units;
  while (unit + 1 != std::end(units) && seconds / unit->seconds >= unit->limit) ++unit;
  const double value = seconds / unit->seconds;
  const std::string number =
      value < 9.95 ? fmt::format("{:.2g}", value) : fmt::format("{:.0f}", value);
  return number + " " + unit->name + (number == "1" ? "" : "s");
}

void RewrittenLine::Show(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  // A line that a terminal breaks cannot be rewritten.
  std::string line = text;
  const size_t columns = ErrorColumns() - 1;
  for (size_t end = 0, width = 0; end < line.size(); ++end) {
    if ((static_cast<unsigned char>(line[end]) & 0xC0) != 0x80 && ++width > columns) {
      line.resize(end);
    }
  }
  std::fprintf(log_, "\r%s\x1b[K", line.c_str());
  open_ = true;
}

void RewrittenLine::Keep(const std::string& text) {
  std::fprintf(log_, "%s%s%s\n", open_ ? "\r" : "", text.c_str(), open_ ? "\x1b[K" : "");
  open_ = false;
}

void RewrittenLine::Finish() {
  if (open_) std::fputc('\n', log_);
  open_ = false;
}

void RewrittenLine::Clear() {
  if (open_) std::fputs("\r\x1b[K", log_);
  open_ = false;
}

ProgressLine::ProgressLine(int64_t total, std::string unit, bool terminal, std::FILE* log)
    : total_(total), unit_(std::move(unit)), line_(terminal, log), start_(WallClock::now()) {}

void ProgressLine::Advance(const std::string& text) {
  ++done_;
  line_.Show(Line(text));
}

void ProgressLine::Keep(const std::string& text) { line_.Keep(Line(text)); }

std::string ProgressLine::Line(const std::string& text) const {
  const double share = static_cast<double>(done_) / static_cast<double>(total_);
  return fmt::format("{}  {:3.0f}%  {}", text, 100 * share, Left());
}

double ProgressLine::Elapsed() const {
  return std::chrono::duration<double>(WallClock::now() - start_).count();
}

std::optional<double> ProgressLine::SettledSeconds() {
  constexpr int64_t kLeastParts = 2;
  constexpr double kAgreement = 1.5;
  const double elapsed = Elapsed();
  if (elapsed < next_look_ || done_ < kLeastParts) return {};
  const double before =
      std::exchange(estimate_, elapsed * static_cast<double>(total_) / static_cast<double>(done_));
  next_look_ = 2 * elapsed;
  if (estimate_ > kAgreement * before || before > kAgreement * estimate_) return {};
  return estimate_;
}

std::string ProgressLine::Left() const {
  const double elapsed = Elapsed();
  if (done_ == 0 || elapsed < 0.5) return "";
  const double rate = static_cast<double>(done_) / elapsed;
  const auto left = static_cast<int64_t>(static_cast<double>(total_ - done_) / rate + 0.5);
  return fmt::format("{:.1f} {}/s  ETA {}:{:02}", rate, unit_, left / 60, left % 60);
}

}  // namespace legacy
