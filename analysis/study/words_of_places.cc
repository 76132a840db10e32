#include <cmath>
#include <set>

#include "analysis/study/words.h"
#include "analysis/study/words_parts.h"
#include "analysis/tables.h"

namespace legacy::analysis {
namespace {

// Counts of the places of a plane by a policy's speed-up.
struct MapCounts {
  const Place* lowest = nullptr;
  const Place* highest = nullptr;
  int known = 0;
  int sooner = 0;
  int later = 0;
  int even = 0;     // number of places whose interval contains 1
  int bounded = 0;  // number of places of which only a bound is known
};

MapCounts CountMap(const Plane& plane, size_t policy) {
  MapCounts counts;
  for (const std::optional<Place>& place : plane.places) {
    if (!place) continue;
    const Speedup& speedup = place->outcomes[policy].speedup;
    if (!speedup.known()) continue;
    if (speedup.bounded()) {
      ++counts.bounded;
      continue;
    }
    const auto ratio = [&](const Place* p) { return p->outcomes[policy].speedup.ratio; };
    if (!counts.lowest || speedup.ratio < ratio(counts.lowest)) counts.lowest = &*place;
    if (!counts.highest || speedup.ratio > ratio(counts.highest)) counts.highest = &*place;
    ++counts.known;
    const bool even = Holds(speedup.interval, 1) || speedup.ratio == 1;
    counts.even += even;
    counts.sooner += !even && speedup.ratio > 1;
    counts.later += !even && speedup.ratio < 1;
  }
  return counts;
}

// Returns the values of a plane's axes at a place: "10 Mbit/s, 16 workers".
std::string Spot(const Study& study, const Plane& plane, const Place& place) {
  return ShowAxisValue(study.axes[plane.x_axis], place.values[plane.x_axis]) + ", " +
         ShowAxisValue(study.axes[plane.y_axis], place.values[plane.y_axis]);
}

std::string Extreme(const Study& study, const Plane& plane, const Place& place, size_t policy) {
  return fmt::format("{} ({})", ShowSpeedup(place.outcomes[policy].speedup),
                     Spot(study, plane, place));
}

std::string CountsText(const Study& study, const MapCounts& counts) {
  std::vector<std::string> parts;
  if (counts.sooner > 0) parts.push_back(fmt::format("sooner at {}", counts.sooner));
  if (counts.later > 0) parts.push_back(fmt::format("later at {}", counts.later));
  if (counts.even > 0) {
    parts.push_back(fmt::format("not to be told apart{} at {}", WithSeeds(study), counts.even));
  }
  return fmt::format("Of {} it is {}.", ShowCount(counts.known, "place"), JoinWords(parts));
}

// Returns the parts of a step of 1 % and more, the largest first: "12.3 ms: 83 % compute, 10 %
// communication".
std::string SplitText(const Outcome& outcome) {
  const StepSplit& step = outcome.step;
  std::vector<std::pair<double, std::string>> parts = {{step.compute, "compute"},
                                                       {step.encode, "encode"},
                                                       {step.communication, "communication"},
                                                       {step.decode, "decode"},
                                                       {step.wait, "wait"}};
  std::ranges::stable_sort(parts, std::ranges::greater(), [](const auto& p) { return p.first; });
  std::vector<std::string> texts;
  for (const auto& [seconds, name] : parts) {
    const double percent = 100 * seconds / step.total;
    if (percent >= 1) texts.push_back(fmt::format("{:.0f} % {}", percent, name));
  }
  std::string text = ShowQuantity(step.total, "s");
  return texts.empty() ? text : text + ": " + fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<size_t> DonePolicies(const Place& place) {
  std::vector<size_t> done;
  for (size_t p = 0; p < place.outcomes.size(); ++p) {
    if (place.outcomes[p].done > 0) done.push_back(p);
  }
  return done;
}

// Returns the bytes until the target of the policy that sends the least, and of the baseline.
std::string BytesText(const Study& study, const Place& place) {
  const auto bytes = [&](size_t p) { return place.outcomes[p].nic_bytes_to_target; };
  std::optional<size_t> least;
  for (const size_t p : DonePolicies(place)) {
    if (bytes(p).count > 0 && (!least || bytes(p).mean < bytes(*least).mean)) least = p;
  }
  if (!least || !study.target) return "";
  std::string text = fmt::format("until {} one worker sends the least with {}, {}",
                                 ShowTarget(ShownMetric(study), study.target->value),
                                 study.policies[*least], ShowSpread(bytes(*least), "B"));
  const std::optional<size_t> base = BaselineIndex(study);
  if (base && *base != *least && bytes(*base).count > 0) {
    text += fmt::format(", {} times less than the {} with {}",
                        ShowNumber(bytes(*base).mean / bytes(*least).mean),
                        ShowSpread(bytes(*base), "B"), study.baseline);
  }
  return text + ". ";
}

// Returns a text such as "randomk ends 4.30 points below it [-5.10, -3.50]".
std::string DifferenceText(const Metric& metric, const Outcome& outcome) {
  const Spread& spread = outcome.metric_difference;
  return fmt::format(
      "{} ends {}{} {} it{}", outcome.policy,
      Fixed(std::abs(spread.mean) * metric.Scale(), DifferenceDecimals(metric, spread)),
      metric.fraction ? " points" : "", spread.mean < 0 ? "below" : "above",
      ShowDifferenceInterval(metric, spread));
}

}  // namespace

std::string SpeedupMapWords(const Study& study, const Plane& plane, size_t policy) {
  const MapCounts counts = CountMap(plane, policy);
  std::string text = Opening(plane.name);
  if (counts.known == 0 && counts.bounded == 0) return "";
  if (counts.known > 0) {
    text += fmt::format("{} reaches the target from {} to {} times as soon as {}. ",
                        study.policies[policy], Extreme(study, plane, *counts.lowest, policy),
                        Extreme(study, plane, *counts.highest, policy), study.baseline);
    text += CountsText(study, counts);
  }
  if (counts.bounded > 0) {
    text += fmt::format("{}f its ratio to {} there is only a bound at {}.",
                        counts.known > 0 ? " O" : study.policies[policy] + ": o", study.baseline,
                        ShowCount(counts.bounded, "place"));
  }
  return text;
}

std::string StepWords(const Study& study, const Place& place) {
  const std::vector<size_t> done = DonePolicies(place);
  if (done.empty()) return "";
  const auto total = [&](size_t p) { return place.outcomes[p].step.total; };
  const size_t shortest = *std::ranges::min_element(done, {}, total);
  const size_t longest = *std::ranges::max_element(done, {}, total);
  const auto with = [&](size_t p) {
    return fmt::format("{} ({})", study.policies[p], SplitText(place.outcomes[p]));
  };
  const std::string opening = Opening(PlaceName(study, place.values));
  std::string text = opening + (opening.empty() ? "A" : "a");
  if (done.size() == 1) return text + " step of " + with(done[0]) + ".";
  text += fmt::format(" step is the shortest with {} and the longest with {}", with(shortest),
                      with(longest));
  const std::optional<size_t> base = BaselineIndex(study);
  if (base && *base != shortest && *base != longest && place.outcomes[*base].done > 0) {
    text += "; with " + with(*base);
  }
  return text + ".";
}

std::string DifferenceWords(const Study& study, const Place& place) {
  const std::optional<size_t> base = BaselineIndex(study);
  if (!base || place.outcomes[*base].done == 0) return "";
  const Metric metric = ShownMetric(study);
  std::vector<std::string> parts = {
      fmt::format("{} ends at {}{}", study.baseline, metric.fraction ? "" : metric.title + " ",
                  ShowSpread(place.outcomes[*base].final_metric, metric.Unit(), 4))};
  std::vector<std::string> close;
  for (const Outcome& outcome : place.outcomes) {
    const Spread& difference = outcome.metric_difference;
    if (difference.count == 0) continue;
    if (difference.mean == 0 || Holds(MeanInterval(difference), 0)) {
      close.push_back(outcome.policy);
    } else {
      parts.push_back(DifferenceText(metric, outcome));
    }
  }
  if (!close.empty()) {
    parts.push_back(JoinWords(close) + " cannot be told apart from it" + WithSeeds(study));
  }
  return fmt::format("{}.", fmt::join(parts, "; "));
}

std::string MetricWords(const Study& study, const Place& place) {
  const std::string said = BytesText(study, place) + DifferenceWords(study, place);
  if (said.empty()) return "";
  return Opening(PlaceName(study, place.values)) + said + NoteOfHoles({&place}) +
         NoteOfOneSeed(study);
}

}  // namespace legacy::analysis
