#include "scenarios/progress.h"

#include <cstdio>

namespace legacy {

Progress::Progress(int64_t total_steps, bool terminal)
    : total_(total_steps), terminal_(terminal), start_(WallClock::now()), shown_(start_) {}

void Progress::Step(const ProgressState& state) {
  ++done_;
  const auto now = WallClock::now();
  if (!terminal_ || now - shown_ < std::chrono::milliseconds(200)) return;
  shown_ = now;
  std::fprintf(stderr, "\r%s\x1b[K", Line(state).c_str());
  open_ = true;
}

void Progress::Evaluated(const ProgressState& state) {
  const bool last = state.step == state.steps;
  if (terminal_ && !last) return;
  std::fprintf(stderr, "%s%s%s\n", open_ ? "\r" : "", Line(state).c_str(), open_ ? "\x1b[K" : "");
  open_ = false;
}

void Progress::Finish() {
  if (open_) std::fputc('\n', stderr);
  open_ = false;
}

std::string Progress::Line(const ProgressState& state) const {
  char accuracy[16] = "   -  ";
  if (state.accuracy >= 0) {
    std::snprintf(accuracy, sizeof(accuracy), "%5.2f%%", 100 * state.accuracy);
  }
  char line[256];
  std::snprintf(line, sizeof(line),
                "%-22s seed %-3llu step %5lld/%lld  loss %7.4f  accuracy %s  simulated %10.4f s  "
                "%3.0f%%  %s",
                state.policy.c_str(), static_cast<unsigned long long>(state.seed),
                static_cast<long long>(state.step), static_cast<long long>(state.steps), state.loss,
                accuracy, state.simulated_seconds,
                100.0 * static_cast<double>(done_) / static_cast<double>(total_), Eta().c_str());
  return line;
}

std::string Progress::Eta() const {
  const double elapsed = std::chrono::duration<double>(WallClock::now() - start_).count();
  if (done_ == 0 || elapsed < 0.5) return "";
  const double rate = static_cast<double>(done_) / elapsed;
  const auto left = static_cast<long long>(static_cast<double>(total_ - done_) / rate + 0.5);
  char text[64];
  std::snprintf(text, sizeof(text), "%.1f steps/s  ETA %lld:%02lld", rate, left / 60, left % 60);
  return text;
}

}  // namespace legacy
