#include "scenarios/run/progress.h"

#include <fmt/format.h>

#include <cmath>

namespace legacy {
namespace {

std::string Text(const ProgressState& state) {
  if (std::isnan(state.loss)) {
    return fmt::format("{:22} seed {:<3} step {:5}/{}  simulated {:10.4f} s", state.policy,
                       state.seed, state.step, state.steps, state.simulated_seconds);
  }
  const std::string accuracy =
      state.accuracy < 0 ? "   -  " : fmt::format("{:5.2f}%", 100 * state.accuracy);
  return fmt::format(
      "{:22} seed {:<3} step {:5}/{}  loss {:7.4f}  accuracy {}  simulated {:10.4f} s",
      state.policy, state.seed, state.step, state.steps, state.loss, accuracy,
      state.simulated_seconds);
}

}  // namespace

void Progress::Step(const ProgressState& state) { line_.Advance(Text(state)); }

void Progress::Evaluated(const ProgressState& state) {
  const bool last = state.step == state.steps;
  if (!line_.OnTerminal() || last) line_.Keep(Text(state));
}

}  // namespace legacy
