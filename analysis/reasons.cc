#include "analysis/reasons.h"

#include <fmt/format.h>

#include <cmath>

#include "analysis/quantities.h"

namespace legacy::analysis {
namespace {

// If links would have to be faster by a larger factor, no figure is named, as nobody builds such
// links.
constexpr int kMostTimesFaster = 100;

std::string Seconds(double seconds) { return ShowQuantity(seconds, "s"); }

double CodecSeconds(const StepSplit& step) { return step.encode + step.decode; }

// Returns the factor by which the links would have to be faster for the two to take equally long;
// nan if no factor does that.
double LevelRate(const Contender& winner, const Contender& rival) {
  const auto rest = [](const Contender& one) {
    return one.steps * (one.step.total - one.step.communication);
  };
  const auto traffic = [](const Contender& one) { return one.steps * one.step.communication; };
  const double rate = (traffic(rival) - traffic(winner)) / (rest(winner) - rest(rival));
  return rate > 0 && std::isfinite(rate) ? rate : kUnknown;
}

}  // namespace

std::string WhyFaster(const Contender& winner, const Contender& rival) {
  const double step_gain = rival.step.total / winner.step.total;
  const double steps_gain = rival.steps / winner.steps;
  const std::string steps = fmt::format("needs {:.0f} steps to the target and {} {:.0f}",
                                        winner.steps, rival.name, rival.steps);
  if (step_gain <= 1 && steps_gain > 1) return winner.name + " " + steps;
  const double codec = CodecSeconds(rival.step) - CodecSeconds(winner.step);
  const double traffic = rival.step.communication - winner.step.communication;
  const bool by_codec = codec > traffic;
  const auto part = [&](const Contender& one) {
    return Seconds(by_codec ? CodecSeconds(one.step) : one.step.communication);
  };
  std::string text = fmt::format(
      "a step of {} takes {} and one of {} {}, of which {} {} and {}", winner.name,
      Seconds(winner.step.total), rival.name, Seconds(rival.step.total),
      by_codec ? "encoding and decoding are" : "communication is", part(winner), part(rival));
  if (by_codec && traffic < 0) {
    text += fmt::format(": more than the {} of communication that {} saves", Seconds(-traffic),
                        rival.name);
  }
  if (steps_gain > 1 && step_gain < steps_gain) text += "; it also " + steps;
  return text;
}

std::string WhatWouldTurn(const Contender& winner, const Contender& rival) {
  const double rate = LevelRate(winner, rival);
  if (rate > kMostTimesFaster) {
    return fmt::format("{} would be level only on links more than {} times as fast.", rival.name,
                       kMostTimesFaster);
  }
  if (rate > 1) {
    return fmt::format(
        "On links {} times as fast {} would be level, if communication shrinks in proportion.",
        ShowNumber(rate), rival.name);
  }
  if (rate < 1) {
    return fmt::format(
        "On links {} times slower {} would be level, if communication grows in proportion.",
        ShowNumber(1 / rate), rival.name);
  }
  return fmt::format("No other rate of the links alone brings {} level.", rival.name);
}

}  // namespace legacy::analysis
