#include "scenarios/run/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

namespace legacy {
namespace {

// Returns the value in a field of six characters: "76.25%", "118.30".
std::string ValueText(const Metric& metric, double value) {
  return metric.fraction ? fmt::format("{:5.2f}%", 100 * value) : fmt::format("{:6.2f}", value);
}

}  // namespace

Progress::Progress(int64_t total_steps, std::string noun, std::span<const Metric> metrics,
                   const std::string& shown, bool terminal, std::FILE* log, ShareTold told)
    : noun_(std::move(noun)),
      position_(MetricPosition(metrics, shown)),
      metric_(metrics.empty() ? Metric() : metrics[position_]),
      line_(total_steps, noun_ + "s", terminal, log),
      told_(std::move(told)) {}

std::string Progress::Text(const ProgressState& state) const {
  if (metric_.name.empty() || std::isnan(state.loss)) {
    return fmt::format("{:22} seed {:<3} {} {:5}/{}  simulated {:10.4f} s", state.policy,
                       state.seed, noun_, state.step, state.steps, state.simulated_seconds);
  }
  const std::string value =
      state.metrics.empty() ? "   -  " : ValueText(metric_, state.metrics.at(position_));
  return fmt::format("{:22} seed {:<3} {} {:5}/{}  loss {:7.4f}  {} {}  simulated {:10.4f} s",
                     state.policy, state.seed, noun_, state.step, state.steps, state.loss,
                     metric_.title, value, state.simulated_seconds);
}

std::string DurationText(double seconds) {
  constexpr double kShort = 20;
  return seconds < kShort ? "" : "This takes about " + WallTimeInWords(seconds) + ".";
}

void Progress::TryToTellDuration() {
  const std::optional<double> seconds = line_.SettledSeconds();
  if (!seconds) return;
  tells_duration_ = false;
  if (const std::string text = DurationText(*seconds); !text.empty()) line_.Say(text);
}

void Progress::Step(const ProgressState& state) {
  line_.Advance(Text(state));
  if (tells_duration_) TryToTellDuration();
  if (told_) told_(static_cast<double>(state.step) / static_cast<double>(state.steps));
}

void Progress::Evaluated(const ProgressState& state) {
  const bool last = state.step == state.steps;
  if (!line_.OnTerminal() || last) line_.Keep(Text(state));
}

}  // namespace legacy
