// These are the statistics of a study over the seeds: each policy's outcome at each place of the
// grid, and its comparison with the baseline there. All are pure, deterministic functions of the
// study. Points that are pending, failed or not in the grid are left out.
//
// All values of a metric are those of ShownMetric(study).
//
// Seeds are paired across policies, so the speed-up is a mean over seeds of TTA(baseline) /
// TTA(policy): the geometric mean, with a 95 % t-interval of the logarithms. A TTA is known to
// within one evaluation, and no interval is narrower than that. A training that ended before its
// target has no TTA, but the TTA is known to be longer than the training. A ratio with one such TTA
// is a bound; with two it is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/intervals.h"
#include "analysis/study/study.h"
#include "analysis/summary.h"

namespace legacy::analysis {

enum class Bound { kExact, kAtLeast, kAtMost };

// A PairedRatio is TTA(base) / TTA(policy) with one seed.
struct PairedRatio {
  uint64_t seed = 0;
  double ratio = 0;
  Bound bound = Bound::kExact;
  Interval range = {};  // possible ratios, as both TTAs are known to within one evaluation
};

// A Speedup is the mean ratio over seeds. It is exact where every pair is exact. It is a bound,
// with the bounds in the mean, where all other pairs are bounds of one kind. It is unknown (nan)
// where there is no pair, or there are bounds of both kinds.
struct Speedup {
  std::vector<PairedRatio> pairs;  // pairs in the order of the study's seeds
  // Number of seeds with which neither reaches the target. They are no pair.
  int missed_by_both = 0;
  double ratio = kUnknown;
  Bound bound = Bound::kExact;
  std::optional<Interval> interval;  // interval of exact ratios, with two pairs or more

  bool known() const { return ratio == ratio; }
  bool bounded() const { return known() && bound != Bound::kExact; }
};

// A Standing compares a policy with another by its speed-up: it is sooner where the 95 % interval
// lies above 1 and later where it lies below. Otherwise the two cannot be told apart. With one seed
// there is no interval, and the ratio alone decides. Bounds from trainings that missed the target
// decide where all seeds are on that side.
enum class Standing { kSooner, kLater, kSame, kUnknown };
Standing StandingOf(const Speedup& speedup);

// An Outcome has the results of one policy at one place. Spreads are over the seeds that are done.
struct Outcome {
  std::string policy;
  // Id of the point with each of the study's seeds; -1: not in the grid.
  std::vector<int64_t> points;
  int planned = 0;  // number of points in the grid; 0: the policy is not at this place
  int done = 0;
  int failed = 0;
  int reached = 0;        // number of those that are done and reached the target
  Spread time_to_target;  // empty unless all seeds that are done reached the target
  // Lower bound of the mean TTA: the mean with the end of the training for seeds that did not reach
  // the target.
  double time_bound = kUnknown;
  // Payload out of one worker's NIC until the target; empty where time_to_target is.
  Spread nic_bytes_to_target;
  Spread simulated_seconds;
  Spread final_metric;
  Spread best_metric;
  Spread metric_difference;  // final metric less the baseline's, by pairs
  Spread element_ratio;
  Spread payload_ratio;
  Spread traffic_ratio;
  Spread message_bytes;
  Spread nic_bytes;
  double steps = kUnknown;  // mean number of steps of a training
  Spread step_seconds;
  StepSplit step;                             // means over seeds
  double alpha_beta_step_seconds = kUnknown;  // mean
  Spread egress_usd;                          // price; empty where links have none
  std::optional<int64_t> decisions;           // decisions as in PolicySummary
  Speedup speedup;  // speed-up over the baseline; nothing for the baseline itself
};

// A Place is one combination of values of the axes.
struct Place {
  std::vector<size_t> values;     // position of the value on each axis
  std::vector<Outcome> outcomes;  // outcomes of each of the study's policies
};

// Returns all places that points have, ascending by position, where the first axis changes most
// slowly. Throws Error on points whose policy, seed or values are not in the study.
std::vector<Place> PlacesOf(const Study& study);

// Progress is a number of steps done, and the time.
struct Progress {
  double steps = 0;
  double seconds = 0;
};
// Returns the evaluation before the one that reached the target, or a first step where there is
// none: the target was reached between the two. Without a curve it is the TTA itself.
Progress BeforeTarget(const StudyPoint& point);

// Returns the point with the seed at that position; null where it is not done, or not in the grid.
const StudyPoint* DonePoint(const Study& study, const Outcome& outcome, size_t seed);
// Returns the figures with the seed at that position; null where its point is not done, or not in
// the grid.
const PointFigures* FiguresOf(const Study& study, const Outcome& outcome, size_t seed);

// Returns TTA(base) / TTA(policy) at a place. Policies are given by their positions in the study.
Speedup SpeedupOf(const Study& study, const Place& place, size_t policy, size_t base);

// Returns the policies that reached the target with all their seeds at a place, the fastest first.
// A policy that still lacks a seed is not compared.
std::vector<size_t> RankingOf(const Place& place);

// Returns those of the other policies that cannot be told apart from a policy at a place, in their
// order.
std::vector<size_t> TiesWith(const Study& study, const Place& place, size_t policy,
                             const std::vector<size_t>& others);

// Returns the position of a policy of the study. Throws Error with the list where there is none of
// that name.
size_t PolicyIndex(const Study& study, const std::string& name);

// Returns the policy's name, marked (summary.h) where at some place it decided too seldom. It is
// for figures and tables that show all places together.
std::string MarkedName(const Study& study, const std::string& policy);

// Returns the name of a place, without the axes in `left_out`: "8 workers, leaf-spine, 1 Gbit/s".
std::string PlaceName(const Study& study, const std::vector<size_t>& values,
                      const std::vector<size_t>& left_out = {});

// Return the axes with numbers and at least two values, in order, and all pairs of them.
std::vector<size_t> NumericAxes(const Study& study);
std::vector<std::pair<size_t, size_t>> NumericAxisPairs(const Study& study);

// A Facet has places that differ in `axis` alone: one chart with that axis as its x.
struct Facet {
  size_t axis = 0;
  std::vector<size_t> values;  // positions on the other axes; that on `axis` has no meaning
  std::string name;            // name of the other axes' values: "8 workers, leaf-spine"; may be ""
  std::string slug;            // name for files, of [a-z0-9-]
  std::vector<double> x;       // x of each place, ascending
  std::vector<Place> places;
};
// Returns all facets along `axis`, which must have numbers.
std::vector<Facet> FacetsOf(const Study& study, size_t axis);

// A Plane has places that differ in two numeric axes alone: one heat map for each policy.
struct Plane {
  size_t x_axis = 0;
  size_t y_axis = 0;
  std::vector<size_t> values;  // positions on the other axes, as in Facet
  std::string name;
  std::string slug;
  std::vector<double> x;  // ascending
  std::vector<double> y;
  // Places at [position in y * x.size() + position in x]; none: not in the grid.
  std::vector<std::optional<Place>> places;
};
std::vector<Plane> PlanesOf(const Study& study, size_t x_axis, size_t y_axis);

}  // namespace legacy::analysis
