#include "analysis/study/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"

namespace legacy::analysis {
namespace {

std::optional<PairedRatio> RatioOf(uint64_t seed, const StudyPoint& policy_point,
                                   const StudyPoint& base_point) {
  const PointFigures& policy = policy_point.figures;
  const PointFigures& base = base_point.figures;
  PairedRatio pair{seed};
  if (!policy.time_to_target) pair.bound = Bound::kAtMost;
  if (!base.time_to_target) pair.bound = Bound::kAtLeast;
  pair.ratio = base.time_to_target.value_or(base.simulated_seconds) /
               policy.time_to_target.value_or(policy.simulated_seconds);
  if (policy.time_to_target && base.time_to_target) {
    pair.range = {BeforeTarget(base_point).seconds / *policy.time_to_target,
                  *base.time_to_target / BeforeTarget(policy_point).seconds};
  }
  // Times of 0 have no ratio.
  return pair.ratio > 0 && std::isfinite(pair.ratio) ? std::optional(pair) : std::nullopt;
}

void Combine(Speedup& speedup) {
  std::vector<double> ratios;
  std::vector<Interval> ranges;
  bool at_least = false;
  bool at_most = false;
  for (const PairedRatio& pair : speedup.pairs) {
    ratios.push_back(pair.ratio);
    if (pair.bound == Bound::kExact) ranges.push_back(pair.range);
    at_least |= pair.bound == Bound::kAtLeast;
    at_most |= pair.bound == Bound::kAtMost;
  }
  if (ratios.empty() || (at_least && at_most)) return;
  const GeometricMean mean = GeometricMeanOf(ratios, ranges);
  speedup.ratio = mean.mean;
  if (at_least) speedup.bound = Bound::kAtLeast;
  if (at_most) speedup.bound = Bound::kAtMost;
  if (speedup.bound == Bound::kExact) speedup.interval = mean.interval;
}

// Returns the evaluation that reached the target; the end of the curve if none is known.
std::vector<CurveRow>::const_iterator CurveRowAtTarget(const StudyPoint& point) {
  if (!point.figures.steps_to_target) return point.curve.end();
  return std::ranges::find(point.curve, *point.figures.steps_to_target, &CurveRow::step);
}

// Returns the payload that has left the NIC at the evaluation which reached the target.
std::optional<double> NicBytesToTarget(const StudyPoint& point) {
  const auto row = CurveRowAtTarget(point);
  return row == point.curve.end() ? std::nullopt : std::optional(row->nic_bytes);
}

using Points = std::vector<const StudyPoint*>;

template <class Get>
Spread Over(const Points& points, Get&& get) {
  std::vector<double> values;
  for (const StudyPoint* point : points) values.push_back(get(point->figures));
  return SpreadOf(values);
}

void FillTimes(const Points& points, Outcome& outcome) {
  std::vector<double> times;
  std::vector<double> bytes;
  std::vector<double> ends;
  for (const StudyPoint* point : points) {
    const PointFigures& figures = point->figures;
    if (figures.time_to_target) times.push_back(*figures.time_to_target);
    if (const auto sent = NicBytesToTarget(*point)) bytes.push_back(*sent);
    ends.push_back(figures.time_to_target.value_or(figures.simulated_seconds));
  }
  outcome.reached = static_cast<int>(times.size());
  outcome.time_bound = SpreadOf(ends).mean;
  if (times.size() == points.size()) outcome.time_to_target = SpreadOf(times);
  if (bytes.size() == points.size()) outcome.nic_bytes_to_target = SpreadOf(bytes);
  outcome.simulated_seconds = Over(points, [](const auto& f) { return f.simulated_seconds; });
}

void FillSteps(const Points& points, Outcome& outcome) {
  outcome.step_seconds = Over(points, [](const auto& f) { return f.step_seconds; });
  const auto mean = [&](double PointFigures::*part) {
    return Over(points, [&](const auto& f) { return f.*part; }).mean;
  };
  outcome.step = {outcome.step_seconds.mean,           mean(&PointFigures::compute_seconds),
                  mean(&PointFigures::encode_seconds), mean(&PointFigures::communication_seconds),
                  mean(&PointFigures::decode_seconds), mean(&PointFigures::wait_seconds)};
  outcome.steps = Over(points, [](const auto& f) { return static_cast<double>(f.steps); }).mean;
  outcome.alpha_beta_step_seconds = mean(&PointFigures::alpha_beta_step_seconds);
}

void FillVolumes(const Points& points, Outcome& outcome) {
  outcome.final_metric = Over(points, [](const auto& f) { return f.final_metric; });
  outcome.best_metric = Over(points, [](const auto& f) { return f.best_metric; });
  outcome.element_ratio = Over(points, [](const auto& f) { return f.element_ratio; });
  outcome.payload_ratio = Over(points, [](const auto& f) { return f.payload_ratio; });
  outcome.traffic_ratio = Over(points, [](const auto& f) { return f.traffic_ratio; });
  outcome.message_bytes = Over(points, [](const auto& f) { return f.message_bytes; });
  outcome.nic_bytes = Over(points, [](const auto& f) { return f.nic_bytes; });
  std::vector<double> dollars;
  for (const StudyPoint* point : points) {
    if (point->figures.egress_usd) dollars.push_back(*point->figures.egress_usd);
  }
  if (dollars.size() == points.size()) outcome.egress_usd = SpreadOf(dollars);
}

std::optional<int64_t> FewestDecisions(const Points& points) {
  std::optional<int64_t> fewest;
  for (const StudyPoint* point : points) {
    const std::optional<int64_t>& made = point->figures.decisions;
    if (made) fewest = std::min(fewest.value_or(*made), *made);
  }
  return fewest;
}

void FillOutcome(const Study& study, Outcome& outcome) {
  Points done;
  for (const int64_t id : outcome.points) {
    if (id < 0) continue;
    const StudyPoint& point = study.points[static_cast<size_t>(id)];
    ++outcome.planned;
    if (point.state == StudyState::kDone) done.push_back(&point);
    if (point.state == StudyState::kFailed) ++outcome.failed;
  }
  outcome.done = static_cast<int>(done.size());
  if (done.empty()) return;
  FillTimes(done, outcome);
  FillSteps(done, outcome);
  FillVolumes(done, outcome);
  outcome.decisions = FewestDecisions(done);
}

void CompareWithBaseline(const Study& study, Place& place) {
  const auto found = std::ranges::find(study.policies, study.baseline);
  if (found == study.policies.end()) return;
  const auto base = static_cast<size_t>(found - study.policies.begin());
  for (size_t p = 0; p < place.outcomes.size(); ++p) {
    if (p == base) continue;
    Outcome& outcome = place.outcomes[p];
    outcome.speedup = SpeedupOf(study, place, p, base);
    std::vector<double> differences;
    for (size_t s = 0; s < study.seeds.size(); ++s) {
      const PointFigures* mine = FiguresOf(study, outcome, s);
      const PointFigures* theirs = FiguresOf(study, place.outcomes[base], s);
      if (mine && theirs) differences.push_back(mine->final_metric - theirs->final_metric);
    }
    outcome.metric_difference = SpreadOf(differences);
  }
}

template <class Value>
std::map<Value, size_t> PositionsOf(const std::vector<Value>& values) {
  std::map<Value, size_t> positions;
  for (size_t i = 0; i < values.size(); ++i) positions.emplace(values[i], i);
  return positions;
}

template <class Value>
size_t Find(const std::map<Value, size_t>& positions, const Value& value, int64_t point,
            const std::string& what) {
  const auto found = positions.find(value);
  if (found != positions.end()) return found->second;
  throw Error(fmt::format("point {}: {}", point, what), fmt::format("{}", value),
              "one that the study lists");
}

Place EmptyPlace(const Study& study, const std::vector<size_t>& values) {
  Place place{values, std::vector<Outcome>(study.policies.size())};
  for (size_t p = 0; p < study.policies.size(); ++p) {
    place.outcomes[p].policy = study.policies[p];
    place.outcomes[p].points.assign(study.seeds.size(), -1);
  }
  return place;
}

}  // namespace

Progress BeforeTarget(const StudyPoint& point) {
  const Progress reached = {static_cast<double>(*point.figures.steps_to_target),
                            *point.figures.time_to_target};
  const auto row = CurveRowAtTarget(point);
  if (row == point.curve.end()) return reached;
  if (row == point.curve.begin()) return {1, reached.seconds / reached.steps};
  const CurveRow& before = *std::prev(row);
  return {static_cast<double>(before.step), before.simulated_seconds};
}

const StudyPoint* DonePoint(const Study& study, const Outcome& outcome, size_t seed) {
  const int64_t id = outcome.points[seed];
  if (id < 0) return nullptr;
  const StudyPoint& point = study.points[static_cast<size_t>(id)];
  return point.state == StudyState::kDone ? &point : nullptr;
}

const PointFigures* FiguresOf(const Study& study, const Outcome& outcome, size_t seed) {
  const StudyPoint* point = DonePoint(study, outcome, seed);
  return point ? &point->figures : nullptr;
}

Standing StandingOf(const Speedup& speedup) {
  if (!speedup.known()) return Standing::kUnknown;
  const auto all = [&](auto side) {
    return side(speedup.ratio, 1.0) &&
           std::ranges::all_of(speedup.pairs,
                               [&](const PairedRatio& pair) { return side(pair.ratio, 1.0); });
  };
  switch (speedup.bound) {
    case Bound::kAtLeast:
      return all(std::greater()) ? Standing::kSooner : Standing::kUnknown;
    case Bound::kAtMost:
      return all(std::less()) ? Standing::kLater : Standing::kUnknown;
    case Bound::kExact:
      break;
  }
  // With one seed there is no interval, and a TTA is known to within one evaluation.
  const Interval range = speedup.interval.value_or(speedup.pairs.front().range);
  if (range.low > 1) return Standing::kSooner;
  return range.high < 1 ? Standing::kLater : Standing::kSame;
}

Speedup SpeedupOf(const Study& study, const Place& place, size_t policy, size_t base) {
  Speedup speedup;
  if (!study.target) return speedup;
  for (size_t s = 0; s < study.seeds.size(); ++s) {
    const StudyPoint* mine = DonePoint(study, place.outcomes[policy], s);
    const StudyPoint* theirs = DonePoint(study, place.outcomes[base], s);
    if (!mine || !theirs) continue;
    if (!mine->figures.time_to_target && !theirs->figures.time_to_target) {
      ++speedup.missed_by_both;
    } else if (const auto pair = RatioOf(study.seeds[s], *mine, *theirs)) {
      speedup.pairs.push_back(*pair);
    }
  }
  Combine(speedup);
  return speedup;
}

std::vector<size_t> RankingOf(const Place& place) {
  std::vector<size_t> ranking;
  for (size_t p = 0; p < place.outcomes.size(); ++p) {
    const Outcome& outcome = place.outcomes[p];
    if (outcome.planned > 0 && outcome.reached == outcome.planned) ranking.push_back(p);
  }
  std::ranges::stable_sort(ranking, {},
                           [&](size_t p) { return place.outcomes[p].time_to_target.mean; });
  return ranking;
}

std::vector<size_t> TiesWith(const Study& study, const Place& place, size_t policy,
                             const std::vector<size_t>& others) {
  std::vector<size_t> ties;
  for (const size_t p : others) {
    if (p == policy) continue;
    if (StandingOf(SpeedupOf(study, place, policy, p)) == Standing::kSame) ties.push_back(p);
  }
  return ties;
}

std::vector<Place> PlacesOf(const Study& study) {
  std::vector<std::map<std::string, size_t>> axes;
  for (const StudyAxis& axis : study.axes) axes.push_back(PositionsOf(axis.values));
  const auto policies = PositionsOf(study.policies);
  const auto seeds = PositionsOf(study.seeds);
  std::map<std::vector<size_t>, Place> places;
  for (const StudyPoint& point : study.points) {
    std::vector<size_t> values;
    for (size_t a = 0; a < axes.size(); ++a) {
      values.push_back(Find(axes[a], point.values.at(a), point.id, study.axes[a].name));
    }
    auto [entry, is_new] = places.try_emplace(values);
    if (is_new) entry->second = EmptyPlace(study, values);
    Outcome& outcome = entry->second.outcomes[Find(policies, point.policy, point.id, "method")];
    outcome.points[Find(seeds, point.seed, point.id, "seed")] = point.id;
  }
  std::vector<Place> result;
  for (auto& [values, place] : places) {
    for (Outcome& outcome : place.outcomes) FillOutcome(study, outcome);
    CompareWithBaseline(study, place);
    result.push_back(std::move(place));
  }
  return result;
}

std::string MarkedName(const Study& study, const std::string& policy) {
  Points done;
  for (const StudyPoint& point : study.points) {
    if (point.policy == policy && point.state == StudyState::kDone) done.push_back(&point);
  }
  return MarkedName(policy, FewestDecisions(done));
}

size_t PolicyIndex(const Study& study, const std::string& name) {
  const auto found = std::ranges::find(study.policies, name);
  if (found != study.policies.end()) return static_cast<size_t>(found - study.policies.begin());
  throw Error("method", name, fmt::format("{}", fmt::join(study.policies, ", ")));
}

}  // namespace legacy::analysis
