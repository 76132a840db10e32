#include "analysis/study/crossover.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace legacy::analysis {
namespace {

// A Scale interpolates along x: over its logarithm if all values of x are positive.
struct Scale {
  bool logarithmic = true;
  double To(double x) const { return logarithmic ? std::log(x) : x; }
  double From(double scaled) const { return logarithmic ? std::exp(scaled) : scaled; }
  double Between(double a, double b, double part) const {
    return From(To(a) + part * (To(b) - To(a)));
  }
};

Scale ScaleOf(const Facet& facet) {
  return {std::ranges::all_of(facet.x, [](double x) { return x > 0; })};
}

// Interpolates times, which is done over their logarithms.
double TimeBetween(double a, double b, double part) { return Scale{}.Between(a, b, part); }

// A Sample compares two policies at one x with one seed.
struct Sample {
  double x = 0;
  double log_ratio = 0;  // logarithm of TTA(other) / TTA(policy)
  Interval range;        // possible log ratios, as TTAs are known to within one evaluation
  double seconds = 0;    // TTA(policy)
  bool exact = false;
  std::optional<int> sign;  // sign of the true log ratio, if it is known
};

struct Time {
  double seconds = 0;
  double before = 0;  // time of the previous evaluation
  bool reached = false;
};

Time TimeOf(const StudyPoint& point, Clock clock) {
  const PointFigures& figures = point.figures;
  if (!figures.time_to_target) {
    const double end = clock == Clock::kSimulated
                           ? figures.simulated_seconds
                           : static_cast<double>(figures.steps) * figures.alpha_beta_step_seconds;
    return {end, end, false};
  }
  const Progress before = BeforeTarget(point);
  if (clock == Clock::kSimulated) return {*figures.time_to_target, before.seconds, true};
  const double step = figures.alpha_beta_step_seconds;
  return {static_cast<double>(*figures.steps_to_target) * step, before.steps * step, true};
}

Sample SampleOf(double x, const Time& policy, const Time& other) {
  Sample sample{x,
                std::log(other.seconds / policy.seconds),
                {std::log(other.before / policy.seconds), std::log(other.seconds / policy.before)},
                policy.seconds,
                policy.reached && other.reached,
                std::nullopt};
  if (!std::isfinite(sample.log_ratio)) {
    sample.exact = false;
  } else if (sample.exact) {
    sample.sign = (sample.log_ratio > 0) - (sample.log_ratio < 0);
  } else if (policy.reached && sample.log_ratio >= 0) {
    sample.sign = 1;  // `other` takes even longer
  } else if (other.reached && sample.log_ratio <= 0) {
    sample.sign = -1;
  }
  return sample;
}

// Returns the samples at which both policies are done, ascending in x.
std::vector<Sample> SamplesOf(const Study& study, const Facet& facet, size_t policy, size_t other,
                              size_t seed, Clock clock) {
  std::vector<Sample> samples;
  for (size_t i = 0; i < facet.places.size(); ++i) {
    const StudyPoint* mine = DonePoint(study, facet.places[i].outcomes[policy], seed);
    const StudyPoint* theirs = DonePoint(study, facet.places[i].outcomes[other], seed);
    if (mine && theirs) {
      samples.push_back(SampleOf(facet.x[i], TimeOf(*mine, clock), TimeOf(*theirs, clock)));
    }
  }
  return samples;
}

// Returns the x nearest to a crossing at which the ratio is certainly on one side of 1, going from
// sample `from` by `step`; the end of the axis if there is none. `side` is 1 if that ratio is above
// 1, else -1.
double CertainFrom(const std::vector<Sample>& samples, size_t from, int step, int side,
                   const Scale& scale) {
  const auto least = [&](const Sample& sample) {
    if (!sample.exact) return sample.log_ratio;
    return side > 0 ? sample.range.low : sample.range.high;
  };
  for (size_t i = from; i < samples.size(); i += static_cast<size_t>(step)) {
    const double here = least(samples[i]);
    if (side * here <= 0) continue;
    const Sample& nearer = samples[i - static_cast<size_t>(step)];
    return scale.Between(samples[i].x, nearer.x, here / (here - least(nearer)));
  }
  return step < 0 ? samples.front().x : samples.back().x;
}

// Returns the crossing between two samples of opposite sign. Samples between them have the ratio 1.
Crossing CrossingOf(const std::vector<Sample>& samples, size_t before, size_t after,
                    const Scale& scale) {
  const Sample& a = samples[before];
  const Sample& b = samples[after];
  const double part = a.log_ratio / (a.log_ratio - b.log_ratio);
  Crossing crossing{scale.Between(a.x, b.x, part),
                    TimeBetween(a.seconds, b.seconds, part),
                    *a.sign > 0,
                    {CertainFrom(samples, before, -1, *a.sign, scale),
                     CertainFrom(samples, after, 1, *b.sign, scale)}};
  if (after - before == 1) return crossing;
  const Sample& first = samples[before + 1];
  const Sample& last = samples[after - 1];
  crossing.x = scale.Between(first.x, last.x, 0.5);
  crossing.seconds = TimeBetween(first.seconds, last.seconds, 0.5);
  return crossing;
}

SeedCrossings CrossingsOf(uint64_t seed, const std::vector<Sample>& samples, const Scale& scale) {
  SeedCrossings result{seed, Verdict::kUnknown, {}};
  if (samples.size() < 2) return result;
  if (!std::ranges::all_of(samples, [](const Sample& s) { return s.sign.has_value(); }))
    return result;
  std::optional<size_t> last;  // last sample whose ratio is not 1
  std::vector<Crossing> crossings;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (*samples[i].sign == 0) continue;
    if (last && *samples[*last].sign != *samples[i].sign) {
      if (!samples[*last].exact || !samples[i].exact) return result;
      crossings.push_back(CrossingOf(samples, *last, i, scale));
    }
    last = i;
  }
  const bool ahead = last && *samples[*last].sign > 0;
  result.verdict = ahead ? Verdict::kAhead : Verdict::kBehind;
  if (!crossings.empty()) result.verdict = Verdict::kCrosses;
  result.crossings = std::move(crossings);
  return result;
}

bool GoesWith(const SeedCrossings& seed, bool faster_below) {
  return !seed.crossings.empty() && seed.crossings.back().faster_below == faster_below;
}

// Sets the mean of the highest crossings of the seeds that cross in the direction of most.
void Average(const Scale& scale, Crossover& crossover) {
  const auto with = [&](bool below) {
    return static_cast<int>(std::ranges::count_if(
        crossover.seeds, [&](const SeedCrossings& seed) { return GoesWith(seed, below); }));
  };
  crossover.faster_below = with(true) >= with(false);
  crossover.contrary = with(!crossover.faster_below);
  std::vector<double> scaled;
  std::vector<double> seconds;
  std::vector<Interval> ranges;
  for (const SeedCrossings& seed : crossover.seeds) {
    if (!GoesWith(seed, crossover.faster_below)) continue;
    const Crossing& crossing = seed.crossings.back();
    scaled.push_back(scale.To(crossing.x));
    seconds.push_back(crossing.seconds);
    ranges.push_back({scale.To(crossing.range.low), scale.To(crossing.range.high)});
  }
  if (scaled.empty()) return;
  const Spread spread = SpreadOf(scaled);
  crossover.x = scale.From(spread.mean);
  crossover.seconds = GeometricMeanOf(seconds).mean;
  if (const auto interval = MeanInterval(spread, ranges)) {
    crossover.interval = Interval{scale.From(interval->low), scale.From(interval->high)};
  }
}

GeometricMean RatioOf(const Crossover& simulated, const Crossover& textbook) {
  std::vector<double> ratios;
  for (size_t s = 0; s < simulated.seeds.size(); ++s) {
    if (!GoesWith(simulated.seeds[s], simulated.faster_below)) continue;
    if (!GoesWith(textbook.seeds[s], simulated.faster_below)) continue;
    const double ratio =
        textbook.seeds[s].crossings.back().x / simulated.seeds[s].crossings.back().x;
    if (ratio > 0 && std::isfinite(ratio)) ratios.push_back(ratio);
  }
  return GeometricMeanOf(ratios);
}

}  // namespace

Crossover CrossoverOf(const Study& study, const Facet& facet, size_t policy, size_t other,
                      Clock clock) {
  const Scale scale = ScaleOf(facet);
  Crossover crossover;
  crossover.policy = study.policies[policy];
  crossover.other = study.policies[other];
  for (size_t s = 0; s < study.seeds.size(); ++s) {
    crossover.seeds.push_back(
        CrossingsOf(study.seeds[s], SamplesOf(study, facet, policy, other, s, clock), scale));
    const Verdict verdict = crossover.seeds.back().verdict;
    crossover.crossing += verdict == Verdict::kCrosses;
    crossover.ahead += verdict == Verdict::kAhead;
    crossover.behind += verdict == Verdict::kBehind;
    crossover.unknown += verdict == Verdict::kUnknown;
  }
  Average(scale, crossover);
  return crossover;
}

std::vector<BreakEven> BreakEvensOf(const Study& study, const Facet& facet) {
  std::vector<BreakEven> result;
  const auto found = std::ranges::find(study.policies, study.baseline);
  if (found == study.policies.end()) return result;
  const auto base = static_cast<size_t>(found - study.policies.begin());
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (p == base) continue;
    BreakEven even{CrossoverOf(study, facet, p, base, Clock::kSimulated),
                   CrossoverOf(study, facet, p, base, Clock::kTextbook),
                   {}};
    even.ratio = RatioOf(even.simulated, even.textbook);
    result.push_back(std::move(even));
  }
  return result;
}

double SimpleBreakEven(double ratio, double codec_seconds_per_byte) {
  const double saved = 1 - 1 / ratio;
  if (saved <= 0) return 0;
  if (codec_seconds_per_byte <= 0) return std::numeric_limits<double>::infinity();
  return 8 * saved / codec_seconds_per_byte;
}

double SimpleBreakEvenOf(const Facet& facet, size_t policy, size_t other) {
  std::vector<double> ratios;
  std::vector<double> codecs;
  for (const Place& place : facet.places) {
    const Outcome& mine = place.outcomes[policy];
    const Outcome& theirs = place.outcomes[other];
    if (mine.done == 0 || theirs.done == 0) continue;
    const double bytes = theirs.nic_bytes.mean / theirs.steps;
    ratios.push_back(bytes / (mine.nic_bytes.mean / mine.steps));
    codecs.push_back(
        (mine.step.encode + mine.step.decode - theirs.step.encode - theirs.step.decode) / bytes);
  }
  const double ratio = SpreadOf(ratios).mean;
  const double codec = SpreadOf(codecs).mean;
  return std::isfinite(ratio) && std::isfinite(codec) ? SimpleBreakEven(ratio, codec) : kUnknown;
}

}  // namespace legacy::analysis
