// Where two policies' times to accuracy cross along a numeric axis: with the baseline along
// bandwidth, the break-even bandwidth. Seed by seed, between neighbouring values of the axis,
// log(TTA ratio) is interpolated over log(x) (over x where the axis holds values <= 0). The mean
// over seeds is the geometric one with a 95 % t-interval of the logarithms (the plain one over x as
// it is).
//
// The same is done with the times that the textbook predicts, steps to accuracy x alpha-beta time
// of a step (Hockney 1994; Thakur et al. 2005), so that each crossover stands beside the one which
// needs no simulation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/study/statistics.h"

namespace legacy::analysis {

struct Crossing {
  double x = 0;
  double seconds = 0;  // TTA of both there
  bool faster_below =
      true;  // the policy is ahead just below x and behind just above; else the other way round
};

enum class Verdict {
  kCrosses,  // at least one crossing
  kAhead,    // TTA(other) / TTA(policy) >= 1 at all values, and more at one
  kBehind,   // <= 1 at all values
  // Fewer than two values where it is known, or censored values leave open whether or where.
  kUnknown,
};

struct SeedCrossings {
  uint64_t seed = 0;
  Verdict verdict = Verdict::kUnknown;
  std::vector<Crossing> crossings;  // ascending in x
};

// `policy` against `other`, over one facet.
struct Crossover {
  std::string policy;
  std::string other;
  std::vector<SeedCrossings> seeds;  // all of the study's
  int crossing = 0;                  // seeds of each verdict
  int ahead = 0;
  int behind = 0;
  int unknown = 0;
  // The break-even: mean over the crossing seeds of their highest crossing. `crossing` counts them;
  // a seed whose highest crossing goes the other way than most is left out and counted in
  // `contrary`.
  int contrary = 0;
  double x = kUnknown;
  double seconds = kUnknown;
  bool faster_below = true;
  std::optional<Interval> interval;  // from two seeds up

  bool crosses() const { return x == x; }
};

enum class Clock { kSimulated, kTextbook };

Crossover CrossoverOf(const Study& study, const Facet& facet, size_t policy, size_t other,
                      Clock clock);

// A crossover beside the textbook's.
struct BreakEven {
  Crossover simulated;
  Crossover textbook;
  GeometricMean ratio;  // textbook's x / simulated x, over the seeds that cross in both
};

// Each policy against the baseline, in the study's order, without the baseline; empty where the
// baseline is no policy of the study.
std::vector<BreakEven> BreakEvensOf(const Study& study, const Facet& facet);

// Every two policies whose curves cross with some seed, by the simulated clock: for marks in
// figures.
std::vector<Crossover> CrossoversOf(const Study& study, const Facet& facet);

// The simple condition under which compressing pays: while the bytes that it saves would take
// longer on the wire than its codec takes. With `ratio` = bytes without / bytes with it, and codec
// time for each byte without it, it pays below (1 - 1 / ratio) / codec_seconds_per_byte bytes per
// second; that is, iff ratio > 1 / (1 - bandwidth x codec_seconds_per_byte). In bit/s; 0: never,
// infinite: always.
double SimpleBreakEven(double ratio, double codec_seconds_per_byte);

// The same from the mean bytes and codec times of a step in a facet, against `other`; equal steps
// to the target are assumed. nan where nothing is known of them.
double SimpleBreakEvenOf(const Facet& facet, size_t policy, size_t other);

}  // namespace legacy::analysis
