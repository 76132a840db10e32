// A crossover is the value of a numeric axis at which two policies' times to target cross. With
// the baseline along bandwidth it is the break-even bandwidth. For each seed, log(TTA ratio) is
// interpolated over log(x) between neighbouring values of the axis (over x where the axis has
// values <= 0). The mean over seeds is the geometric one with a 95 % t-interval of the logarithms
// (the arithmetic one where x is interpolated as it is), which is no narrower than one evaluation
// makes it, within the values of the axis.
//
// A second crossover is computed from the times that the textbook predicts, steps to target x
// alpha-beta time of a step (Hockney 1994; Thakur et al. 2005). It needs no simulation, and is
// shown next to the first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/statistics.h"

namespace legacy::analysis {

struct Crossing {
  double x = 0;
  double seconds = 0;  // TTA of both policies at x
  // True where the policy is faster just below x and slower just above; false for the reverse.
  bool faster_below = true;
  Interval range;  // possible values of x, as TTAs are known to within one evaluation
};

enum class Verdict {
  kCrosses,  // there is at least one crossing
  kAhead,    // TTA(other) / TTA(policy) is >= 1 at all values, and > 1 at one
  kBehind,   // the ratio is <= 1 at all values
  // The ratio is known at fewer than two values, or censored times leave open whether or where it
  // crosses 1.
  kUnknown,
};

struct SeedCrossings {
  uint64_t seed = 0;
  Verdict verdict = Verdict::kUnknown;
  std::vector<Crossing> crossings;  // ascending in x
};

// A Crossover compares `policy` with `other` over one facet.
struct Crossover {
  std::string policy;
  std::string other;
  std::vector<SeedCrossings> seeds;  // crossings of all seeds of the study
  int crossing = 0;                  // numbers of seeds by verdict
  int ahead = 0;
  int behind = 0;
  int unknown = 0;
  // x and seconds of the break-even: mean over the crossing seeds of their highest crossing.
  // `crossing` counts them. A seed whose highest crossing has the opposite direction to most is
  // left out, and counted in `contrary`.
  int contrary = 0;
  double x = kUnknown;
  double seconds = kUnknown;
  bool faster_below = true;
  std::optional<Interval> interval;  // interval of x, with two seeds or more

  bool crosses() const { return x == x; }
};

enum class Clock { kSimulated, kTextbook };

Crossover CrossoverOf(const Study& study, const Facet& facet, size_t policy, size_t other,
                      Clock clock);

// A BreakEven has a crossover and that of the textbook.
struct BreakEven {
  Crossover simulated;
  Crossover textbook;
  GeometricMean ratio;  // textbook's x / simulated x, over the seeds that cross in both
};

// Returns the break-even of each policy with the baseline, in the study's order, without the
// baseline itself. Empty where the baseline is not a policy of the study.
std::vector<BreakEven> BreakEvensOf(const Study& study, const Facet& facet);

// Returns the bandwidth in bit/s up to which compressing pays by a simple condition: the bytes that
// it saves would take longer on the wire than its codec takes. `ratio` is bytes without compression
// / bytes with it, and `codec_seconds_per_byte` the codec's time for each byte without it. It pays
// below (1 - 1 / ratio) / codec_seconds_per_byte bytes per second; that is, iff ratio > 1 / (1 -
// bandwidth x codec_seconds_per_byte). 0: never, infinite: always.
double SimpleBreakEven(double ratio, double codec_seconds_per_byte);

// Returns SimpleBreakEven of the mean bytes and codec times of a step in a facet, against `other`.
// It assumes equal numbers of steps to the target. nan where they are unknown.
double SimpleBreakEvenOf(const Facet& facet, size_t policy, size_t other);

}  // namespace legacy::analysis
