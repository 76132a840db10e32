// What a study's points say over the seeds: each policy's outcome at each place of the grid, and
// its comparison with the baseline there. Pure functions of the study; deterministic. Points that
// are pending, failed or not in the grid leave holes.
//
// Seeds are paired across policies, so the speed-up is a mean over seeds of TTA(baseline) /
// TTA(policy): the geometric mean, with a 95 % t-interval of the logarithms. A training that ended
// before its target has no TTA; what is known is that the TTA is longer than the training. A ratio
// with one such TTA is a bound, with two it is nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

inline constexpr double kConfidence = 0.95;  // of all intervals

struct Interval {
  double low = 0;
  double high = 0;
};

// Student's t: P(T <= result) = probability, in (0, 1), with that many degrees of freedom, 1 or
// more.
double StudentQuantile(double probability, int degrees);

// 95 % t-interval of a mean; none below two values.
std::optional<Interval> MeanInterval(const Spread& spread);

struct GeometricMean {
  int count = 0;
  double mean = kUnknown;
  std::optional<Interval> interval;  // none below two values
};
GeometricMean GeometricMeanOf(const std::vector<double>& values);  // of positive values

enum class Bound { kExact, kAtLeast, kAtMost };

// TTA(base) / TTA(policy) with one seed.
struct PairedRatio {
  uint64_t seed = 0;
  double ratio = 0;
  Bound bound = Bound::kExact;
};

// Over seeds. Exact where every pair is; a bound (with the bounds in the mean) where all that are
// none are bounds of one kind; unknown (nan) where there is no pair, or bounds of both kinds.
struct Speedup {
  std::vector<PairedRatio> pairs;  // in the order of the study's seeds
  int missed_by_both = 0;          // seeds with which neither reaches the target: no pair
  double ratio = kUnknown;
  Bound bound = Bound::kExact;
  std::optional<Interval> interval;  // of exact ratios, from two pairs up

  bool known() const { return ratio == ratio; }
  bool bounded() const { return known() && bound != Bound::kExact; }
};

// One policy at one place. Spreads are over the seeds that are done.
struct Outcome {
  std::string policy;
  std::vector<int64_t> points;  // of each of the study's seeds, the point's id; -1: not in the grid
  int planned = 0;              // points in the grid; 0: the policy is not at this place
  int done = 0;
  int failed = 0;
  int reached = 0;          // of `done`, the target
  Spread time_to_accuracy;  // empty unless all that are done reached the target
  // Mean TTA with the end of the training for seeds that did not reach the target: the mean TTA is
  // that or more.
  double time_bound = kUnknown;
  // Out of one worker's network card until the target; empty as time_to_accuracy is.
  Spread nic_bytes_to_accuracy;
  Spread simulated_seconds;
  Spread final_accuracy;  // fraction
  Spread best_accuracy;
  Spread accuracy_difference;  // final accuracy less the baseline's, by pairs
  Spread element_ratio;
  Spread payload_ratio;
  Spread traffic_ratio;
  Spread message_bytes;
  Spread nic_bytes;
  double steps = kUnknown;  // mean, of the training
  Spread step_seconds;
  StepSplit step;                             // means
  double alpha_beta_step_seconds = kUnknown;  // mean
  Spread egress_usd;                          // empty where there are no prices
  std::optional<int64_t> decisions;           // as in PolicySummary
  Speedup speedup;                            // over the baseline; nothing for the baseline itself
};

// One combination of values of the axes.
struct Place {
  std::vector<size_t> values;     // position on each axis
  std::vector<Outcome> outcomes;  // of each of the study's policies
};

// All places that points have, ascending by position, the first axis slowest. Throws Error on
// points whose policy, seed or values the study has not.
std::vector<Place> PlacesOf(const Study& study);

// Of the seed at that position; null where its point is not done, or not in the grid.
const PointFigures* FiguresOf(const Study& study, const Outcome& outcome, size_t seed);

// TTA(base) / TTA(policy) at a place; policies by position in the study.
Speedup SpeedupOf(const Study& study, const Place& place, size_t policy, size_t base);

// Position of a policy of the study. Throws Error with the list where there is none of that name.
size_t PolicyIndex(const Study& study, const std::string& name);

// The policy's name, marked (summary.h) where at some place it decided too seldom: for what shows
// all places in one.
std::string MarkedName(const Study& study, const std::string& policy);

// "8 workers, leaf-spine, 1 Gbit/s": what a place is called, axes in `left_out` aside.
std::string PlaceName(const Study& study, const std::vector<size_t>& values,
                      const std::vector<size_t>& left_out = {});

// Axes with numbers and at least two values, in order; and every two of them.
std::vector<size_t> NumericAxes(const Study& study);
std::vector<std::pair<size_t, size_t>> NumericAxisPairs(const Study& study);

// Places that differ in `axis` alone: one chart with that axis as its x.
struct Facet {
  size_t axis = 0;
  std::vector<size_t> values;  // of the other axes; that of `axis` says nothing
  std::string name;            // of the other axes, for people: "8 workers, leaf-spine"; may be ""
  std::string slug;            // the same for file names: [a-z0-9-]
  std::vector<double> x;       // of each place, ascending
  std::vector<Place> places;
};
// `axis` must have numbers.
std::vector<Facet> FacetsOf(const Study& study, size_t axis);

// Places that differ in two numeric axes alone: one heat map for each policy.
struct Plane {
  size_t x_axis = 0;
  size_t y_axis = 0;
  std::vector<size_t> values;  // as in Facet
  std::string name;
  std::string slug;
  std::vector<double> x;  // ascending
  std::vector<double> y;
  std::vector<std::optional<Place>>
      places;  // [position in y * x.size() + position in x]; none: not in the grid
};
std::vector<Plane> PlanesOf(const Study& study, size_t x_axis, size_t y_axis);

}  // namespace legacy::analysis
