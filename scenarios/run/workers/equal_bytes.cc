#include "scenarios/run/workers/equal_bytes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/number.h"
#include "compress/options.h"
#include "compress/policies/equal_volume.h"
#include "compress/policies/parameter_scale.h"
#include "compress/policy.h"
#include "scenarios/options/methods.h"

namespace legacy {
namespace {

const PolicyRow& RowOf(const Stage& stage) { return FindRow("policy", stage.name, PolicyTable()); }

double ScaledNumber(const ScaledOption& option, const ParameterSpec& spec, double number,
                    double factor) {
  if (option.rule == VolumeRule::kParameter) return ScaleParameter(spec, number, factor);
  const double scaled = option.rule == VolumeRule::kDivided ? number / factor : number * factor;
  return std::clamp(scaled, option.minimum, option.maximum);
}

// Returns the policy with its options scaled; options that are "auto" follow the anchor.
std::string ScaledPolicy(const std::string& policy, const ParameterSpec& spec, double factor) {
  std::vector<Stage> stages = ParseStages(policy);
  Stage& stage = stages.front();
  const PolicyRow& row = RowOf(stage);
  const OptionReader reader(stage, row.info.options);
  Stage scaled = stage;
  for (const ScaledOption& option : row.scaled) {
    if (reader.Text(option.name) == "auto") continue;
    constexpr double kAny = 1e300;
    const double number = reader.Number(option.name, -kAny, kAny);
    scaled.options[option.name] = FormatNumber(ScaledNumber(option, spec, number, factor));
  }
  stage = scaled;
  return FormatStages(stages);
}

struct Tried {
  double x = 0;  // logarithm of the factor
  double y = 0;  // logarithm of the ratio of bytes sent to those requested
};

// Returns the next guess. If there are pilots on both sides of the request, it lies between them,
// else on the line through the last two. The first guess assumes that bytes are proportional to the
// factor.
double NextGuess(const std::optional<Tried>& less, const std::optional<Tried>& more,
                 const std::optional<Tried>& before, const Tried& last) {
  if (less && more) {
    constexpr double kMargin = 0.1;  // least distance from either, as a share of their distance
    const double share = std::clamp(-less->y / (more->y - less->y), kMargin, 1 - kMargin);
    return less->x + share * (more->x - less->x);
  }
  constexpr double kLeastSlope = 0.05;
  double slope = before ? (last.y - before->y) / (last.x - before->x) : 1;
  if (std::abs(slope) < kLeastSlope) slope = kLeastSlope;
  const double longest = std::log(8.0);  // longest step
  return last.x - std::clamp(last.y / slope, -longest, longest);
}

// Returns true if the bytes jump between two factors that hardly differ: a policy with few options
// chooses a different one there.
bool Jumps(const std::optional<Tried>& less, const std::optional<Tried>& more) {
  constexpr double kHardly = 0.05;
  return less && more && std::abs(more->x - less->x) < kHardly;
}

// Returns a guess away from a jump: with the choices of a policy in one pilot, bytes are
// proportional to the factor. Pilots whose guess was already tried are skipped.
double BesideJump(const std::vector<Tried>& all) {
  constexpr double kSame = 0.01;
  std::vector<Tried> nearest = all;
  std::ranges::sort(nearest, {}, [](const Tried& one) { return std::abs(one.y); });
  for (const Tried& one : nearest) {
    const double guess = one.x - one.y;
    const auto same = [&](const Tried& other) { return std::abs(other.x - guess) < kSame; };
    if (!std::ranges::any_of(all, same)) return guess;
  }
  return all.back().x;  // this ends the search
}

bool SameTraining(const Method& a, const Method& b) {
  return a.parameter == b.parameter && a.policy == b.policy;
}

}  // namespace

bool EqualBytes::Reached() const {
  return std::abs(piloted - requested) <= kBytesTolerance * requested;
}

Method ScaledMethod(const Method& method, const ParameterSpec& spec, double anchor, double factor) {
  Method scaled = method;
  scaled.policy = ScaledPolicy(method.policy, spec, factor);
  // If a budget is given, Kimad only starts from its anchor.
  const Stage stage = ParseStages(method.policy).front();
  const bool starts_there = stage.name == "kimad" &&
                            OptionReader(stage, RowOf(stage).info.options).Text("budget") != "auto";
  scaled.parameter = starts_there ? anchor : ScaleParameter(spec, anchor, factor);
  return scaled;
}

EqualBytes SolveEqualBytes(const Method& method, const ParameterSpec& spec, double anchor,
                           double requested, const PilotBytes& pilot) {
  EqualBytes best{.method = method, .requested = requested};
  constexpr int kMostNudges = 20;
  constexpr double kNudge = 0.1;  // step of the logarithm of the factor
  std::optional<Tried> less, more, before;
  std::vector<Tried> all;
  std::vector<Method> tried;
  double nearest = 0;
  double x = 0;
  while (best.pilots < kMostPilots) {
    Method candidate = ScaledMethod(method, spec, anchor, std::exp(x));
    const auto same = [&](const Method& other) { return SameTraining(other, candidate); };
    // For a whole number, the guess moves on until the number is one that was not tried.
    for (int i = 0; i < kMostNudges && spec.integer && !(less && more) && !tried.empty() &&
                    std::ranges::any_of(tried, same);
         ++i) {
      x += less ? kNudge : -kNudge;
      candidate = ScaledMethod(method, spec, anchor, std::exp(x));
    }
    if (std::ranges::any_of(tried, same)) break;
    const double bytes = pilot(candidate);
    tried.push_back(candidate);
    ++best.pilots;
    const Tried now{x, std::log(bytes / requested)};
    if (best.pilots == 1 || std::abs(now.y) < nearest) {
      nearest = std::abs(now.y);
      best.method = std::move(candidate);
      best.piloted = bytes;
    }
    if (best.Reached() || !std::isfinite(now.y)) break;
    (now.y < 0 ? less : more) = now;
    all.push_back(now);
    x = Jumps(less, more) ? BesideJump(all) : NextGuess(less, more, before, now);
    before = now;
  }
  if (!best.Reached()) {
    best.reason =
        "the nearest of " + std::to_string(best.pilots) + (best.pilots == 1 ? " pilot" : " pilots");
    if (ParseStages(method.policy).front().name == "gravac") {
      best.reason += ", as it sends more where no factor keeps eps";
    }
    if (spec.integer) best.reason += ", as " + spec.name + " is a whole number";
    if (Jumps(less, more)) best.reason += ", as its choices jump from less to more";
  }
  return best;
}

bool NeedsPilots(const Method& method) {
  const std::string name = ParseStages(method.policy).front().name;
  const std::vector<std::string> known = LegacyPolicyNames();
  return name != "legacy-auto" && std::ranges::find(known, name) == known.end();
}

namespace {

// Returns the bytes that `method` should send; `anchor` is its anchor.
std::optional<double> BytesOf(const MethodAnchor& anchor, const Method& method,
                              const Scenario& scenario, std::span<const Unit> units) {
  if (anchor.scheme->Parameter().Kind() == ParameterKind::kNone) return std::nullopt;
  for (const Unit& unit : units) {
    if (!anchor.scheme->MessageBytes(unit, anchor.parameter)) return std::nullopt;
  }
  const VolumeModel model{units, anchor.scheme.get(), scenario.steps, VolumeMeasure::kBytes};
  return UniformVolume(model, anchor.parameter) / static_cast<double>(method.local_steps);
}

}  // namespace

std::optional<double> RequestedBytes(const Method& method, const Scenario& scenario,
                                     std::span<const Unit> units) {
  if (*scenario.legacy.volume != VolumeMeasure::kBytes) return std::nullopt;
  return BytesOf(AnchorOf(method, scenario, units), method, scenario, units);
}

std::optional<EqualBytes> EqualBytesOf(const Method& method, const Scenario& scenario,
                                       std::span<const Unit> units, std::optional<double> requested,
                                       const PilotBytes& pilot) {
  if (!requested || !NeedsPilots(method)) return std::nullopt;
  const MethodAnchor anchor = AnchorOf(method, scenario, units);
  return SolveEqualBytes(method, anchor.scheme->Parameter(), anchor.parameter, *requested, pilot);
}

}  // namespace legacy
