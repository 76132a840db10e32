#include "analysis/study/words.h"

#include <set>

#include "analysis/study/crossover.h"
#include "analysis/study/words_parts.h"

namespace legacy::analysis {
namespace {

// A Stretch has neighbouring places of a facet with the same fastest policy.
struct Stretch {
  size_t winner = 0;
  size_t first = 0;
  size_t last = 0;
  int places = 0;
  int close = 0;  // number of its places at which the second cannot be told apart from the first
};

// Returns whether the seeds cannot tell the fastest policies of a ranking apart.
bool NextIsClose(const Study& study, const Place& place, const std::vector<size_t>& ranking) {
  return ranking.size() > 1 && Holds(SpeedupOf(study, place, ranking[0], ranking[1]).interval, 1);
}

std::vector<Stretch> StretchesOf(const Study& study, const Facet& facet) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < facet.places.size(); ++i) {
    const std::vector<size_t> ranking = RankingOf(facet.places[i]);
    if (ranking.empty()) continue;
    if (stretches.empty() || stretches.back().winner != ranking[0]) {
      stretches.push_back({ranking[0], i, i, 0, 0});
    }
    stretches.back().last = i;
    ++stretches.back().places;
    stretches.back().close += NextIsClose(study, facet.places[i], ranking);
  }
  return stretches;
}

std::string AxisText(const Study& study, const Facet& facet, size_t place) {
  return ShowAxisValue(study.axes[facet.axis], facet.places[place].values[facet.axis]);
}

std::string RangeText(const Study& study, const Facet& facet, const Stretch& stretch) {
  if (stretch.first == stretch.last) return "at " + AxisText(study, facet, stretch.first);
  const size_t last = facet.places[stretch.last].values[facet.axis];
  return fmt::format("from {} to {}", AxisText(study, facet, stretch.first),
                     ShowValue(study.axes[facet.axis], last));
}

// Returns the ratio of the winner to the baseline, or of the baseline to the next policy, in words;
// "" where there is no ratio.
std::string LeadText(const Study& study, const Place& place, size_t winner) {
  const std::optional<size_t> base = BaselineIndex(study);
  if (!base) return "";
  if (winner != *base) {
    const Speedup& speedup = place.outcomes[winner].speedup;
    // That it takes at most ten times as long, say, does not tell how much sooner it is.
    if (!speedup.known() || (speedup.bounded() && speedup.ratio < 1)) return "";
    return fmt::format(", {} times sooner than {}", ShowSpeedup(speedup), study.baseline);
  }
  const std::vector<size_t> ranking = RankingOf(place);
  if (ranking.size() < 2) return "";
  const Speedup lead = SpeedupOf(study, place, winner, ranking[1]);
  if (!lead.known()) return "";
  return fmt::format(", {} times sooner than the next, {}", ShowSpeedup(lead),
                     study.policies[ranking[1]]);
}

// Returns who is the fastest at a place and by how much. `range` says where else, `at` which place
// this is; both may be "".
std::string WinnerText(const Study& study, const Place& place, size_t winner,
                       const std::string& range, const std::string& at) {
  const Outcome& outcome = place.outcomes[winner];
  return fmt::format("{} is the fastest{} (TTA {}{}{})", outcome.policy, range,
                     ShowSpread(outcome.time_to_target, "s"), at, LeadText(study, place, winner));
}

std::string StretchText(const Study& study, const Facet& facet, const Stretch& stretch,
                        bool is_last) {
  const size_t shown = is_last ? stretch.last : stretch.first;
  std::string text =
      WinnerText(study, facet.places[shown], stretch.winner, " " + RangeText(study, facet, stretch),
                 stretch.first == stretch.last ? "" : " at " + AxisText(study, facet, shown));
  if (stretch.close == 0) return text;
  if (stretch.places == 1) {
    text += "; the next cannot be told apart from it";
  } else if (stretch.close == stretch.places) {
    text += fmt::format("; at none of these {} values can the next be told apart from it",
                        stretch.places);
  } else {
    text += fmt::format("; at {} of these {} values the next cannot be told apart from it",
                        stretch.close, stretch.places);
  }
  return text + WithSeeds(study);
}

// Returns which policies miss the target: with all seeds at all places, or with some seeds at some
// places.
std::string MissText(const Study& study, const std::vector<Place>& places) {
  std::vector<std::string> never;
  std::string text;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    int reached = 0;
    int missed = 0;
    for (const Place& place : places) {
      reached += place.outcomes[p].reached;
      missed += place.outcomes[p].done - place.outcomes[p].reached;
    }
    if (missed == 0) continue;
    if (reached == 0) {
      never.push_back(study.policies[p]);
    } else {
      text += fmt::format(" {} misses the target in {} of {}.", study.policies[p], missed,
                          ShowCount(reached + missed, "training"));
    }
  }
  if (never.empty()) return text;
  return fmt::format(" {} never {} the target.", JoinWords(never),
                     never.size() == 1 ? "reaches" : "reach") +
         text;
}

std::string EvenText(const Study& study, const Facet& facet, const std::set<size_t>& winners) {
  std::vector<std::string> parts;
  for (const BreakEven& even : BreakEvensOf(study, facet)) {
    const Crossover& crossover = even.simulated;
    if (!crossover.crosses() || !winners.contains(PolicyIndex(study, crossover.policy))) continue;
    parts.push_back(
        fmt::format("{} at {}", crossover.policy,
                    ShowCrossing(study.axes[facet.axis], crossover.x, crossover.interval)));
  }
  if (parts.empty()) return "";
  return fmt::format(" Break-even with {}: {}.", study.baseline, JoinWords(parts));
}

std::vector<const Place*> Pointers(const std::vector<Place>& places) {
  std::vector<const Place*> pointers;
  for (const Place& place : places) pointers.push_back(&place);
  return pointers;
}

// Returns how many more places the report has than the one that was told of. `where` may be "".
std::string NoteOfOthers(size_t places, const std::string& where) {
  if (places == 1) return "";
  return fmt::format(" The report has {}{}.",
                     ShowCount(static_cast<int64_t>(places - 1), "other place"), where);
}

// Returns who is the fastest at one place, and who misses the target there.
std::string PlaceTimeText(const Study& study, const Place& place) {
  const std::vector<size_t> ranking = RankingOf(place);
  if (ranking.empty()) return MissText(study, {place});
  std::string text = WinnerText(study, place, ranking[0], "", "");
  if (NextIsClose(study, place, ranking)) {
    text += "; the next cannot be told apart from it" + WithSeeds(study);
  }
  return text + "." + MissText(study, {place});
}

// Returns what the first place with results shows: times to target and final metrics, or without a
// target the parts of a step.
std::string FirstPlaceText(const Study& study) {
  const std::vector<Place> places = PlacesOf(study);
  const auto first = std::ranges::find_if(places, [](const Place& place) {
    return std::ranges::any_of(place.outcomes, [](const Outcome& o) { return o.done > 0; });
  });
  if (first == places.end()) return "";
  const Place& place = *first;
  if (!study.target) return StepWords(study, place) + NoteOfOthers(places.size(), "");
  const std::string times = PlaceTimeText(study, place), ends = DifferenceWords(study, place);
  return Opening(PlaceName(study, place.values)) +
         times.substr(std::min(times.size(), times.find_first_not_of(' '))) +
         (times.empty() || ends.empty() ? "" : " ") + ends + NoteOfHoles({&place}) +
         NoteOfOneSeed(study) + NoteOfOthers(places.size(), "");
}

template <class Test>
bool Any(const std::vector<Place>& places, Test&& test) {
  return std::ranges::any_of(
      places, [&](const Place& place) { return std::ranges::any_of(place.outcomes, test); });
}

// Returns a text such as "below 40.3 [10.5, 154] Gbit/s (alpha-beta model: 44 Gbit/s)".
std::string CrossingText(const StudyAxis& axis, const BreakEven& even) {
  const Crossover& simulated = even.simulated;
  std::vector<std::string> notes;
  const int counted = simulated.crossing - simulated.contrary;
  if (const auto seeds = static_cast<int>(simulated.seeds.size()); counted < seeds) {
    notes.push_back(fmt::format("{} of {} seeds", counted, seeds));
  }
  if (even.ratio.count > 0) {
    notes.push_back("alpha-beta model: " + ShowEstimate(even.textbook.x, std::nullopt, axis.unit));
  }
  std::string text = fmt::format("{} {}", simulated.faster_below ? "below" : "above",
                                 ShowCrossing(axis, simulated.x, simulated.interval));
  return notes.empty() ? text : text + fmt::format(" ({})", fmt::join(notes, "; "));
}

// A Group makes texts such as "a, b (2 of 3 seeds) pay over the whole range".
class Group {
 public:
  Group(std::string one, std::string many) : one_(std::move(one)), many_(std::move(many)) {}
  void Add(const Crossover& crossover, int seeds) {
    std::string name = crossover.policy;
    const auto all = static_cast<int>(crossover.seeds.size());
    if (seeds < all) name += fmt::format(" ({} of {} seeds)", seeds, all);
    names_.push_back(name);
  }
  void AppendTo(std::vector<std::string>& parts) const {
    if (names_.empty()) return;
    parts.push_back(fmt::format("{} {}", JoinWords(names_), names_.size() == 1 ? one_ : many_));
  }

 private:
  std::string one_;
  std::string many_;
  std::vector<std::string> names_;
};

}  // namespace

std::string MissedWords(const Study& study) {
  const Metric metric = ShownMetric(study);
  const StudyPoint* best = nullptr;
  for (const StudyPoint& point : study.points) {
    if (!study.target || point.state != StudyState::kDone) continue;
    if (point.figures.time_to_target) return "";
    if (!best || metric.IsBetter(point.figures.best_metric, best->figures.best_metric)) {
      best = &point;
    }
  }
  if (!best) return "";
  std::vector<std::string> where = {fmt::format("{} with seed {}", best->policy, best->seed)};
  for (size_t a = 0; a < study.axes.size(); ++a) {
    const StudyAxis& axis = study.axes[a];
    const auto value = std::ranges::find(axis.values, best->values.at(a));
    if (axis.values.size() > 1 && value != axis.values.end()) {
      where.push_back(ShowAxisValue(axis, static_cast<size_t>(value - axis.values.begin())));
    }
  }
  return fmt::format(
      "No training reached the target {} of {}. The best that was reached is "
      "{}: {}.",
      metric.title, ShowValue(metric, study.target->value),
      ShowQuantity(best->figures.best_metric, metric.Unit()), fmt::join(where, ", "));
}

std::string TimeWords(const Study& study, const Facet& facet) {
  if (!study.target || !Any(facet.places, [](const Outcome& o) { return o.done > 0; })) return "";
  if (!MissedWords(study).empty()) return "";  // the report says this once, of the whole study
  const std::vector<Stretch> stretches = StretchesOf(study, facet);
  std::string text;
  const bool reached = Any(facet.places, [](const Outcome& o) { return o.reached > 0; });
  if (!reached) {
    text =
        fmt::format("no policy reaches {}.", ShowTarget(ShownMetric(study), study.target->value));
  }
  std::set<size_t> winners;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const bool is_last = i + 1 == stretches.size();
    // For the last winner, the end of its range is more informative than the beginning.
    text += StretchText(study, facet, stretches[i], is_last && i > 0) + (is_last ? "." : ". ");
    winners.insert(stretches[i].winner);
  }
  if (reached) text += EvenText(study, facet, winners) + MissText(study, facet.places);
  text += NoteOfHoles(Pointers(facet.places)) + NoteOfOneSeed(study);
  // The text is not empty here, because a policy that is not compared has missed the target or
  // lacks a seed.
  return Opening(facet.name) + text.substr(text.find_first_not_of(' '));
}

std::string BreakEvenWords(const Study& study, const Facet& facet) {
  if (!study.target) return "";
  std::vector<std::string> parts;
  Group ahead("pays over the whole range", "pay over the whole range");
  Group behind("never pays", "never pay");
  const std::string nowhere = "can nowhere be told apart from " + study.baseline;
  Group level(nowhere, nowhere);
  Group split("pays over the whole range with some seeds and never with others",
              "pay over the whole range with some seeds and never with others");
  for (const BreakEven& even : BreakEvensOf(study, facet)) {
    const Crossover& simulated = even.simulated;
    if (simulated.crosses()) {
      parts.push_back(fmt::format("{}{} {}", simulated.policy, parts.empty() ? " pays" : "",
                                  CrossingText(study.axes[facet.axis], even)));
    } else if (simulated.ahead > 0 && simulated.behind > 0) {
      split.Add(simulated, simulated.ahead + simulated.behind);
    } else if (simulated.ahead > 0) {
      (ToldApart(facet, simulated.policy) ? ahead : level).Add(simulated, simulated.ahead);
    } else if (simulated.behind > 0) {
      (ToldApart(facet, simulated.policy) ? behind : level).Add(simulated, simulated.behind);
    }
  }
  if (!parts.empty()) parts = {JoinWords(parts)};
  ahead.AppendTo(parts);
  behind.AppendTo(parts);
  level.AppendTo(parts);
  split.AppendTo(parts);
  if (parts.empty()) return "";
  return fmt::format("{}against {} along {}, {}.{}", Opening(facet.name), study.baseline,
                     ShowAxisName(study.axes[facet.axis]), fmt::join(parts, "; "),
                     NoteOfOneSeed(study));
}

std::string StudyVerdict(const Study& study) {
  const std::string missed = MissedWords(study);
  const std::vector<size_t> axes = NumericAxes(study);
  if (!missed.empty()) return missed;
  if (axes.empty() || !study.target) return FirstPlaceText(study);
  const size_t axis =
      *std::ranges::max_element(axes, {}, [&](size_t a) { return study.axes[a].values.size(); });
  const std::vector<Facet> facets = FacetsOf(study, axis);
  if (facets.empty()) return "";
  const std::string words = TimeWords(study, facets.front());
  return words.empty() ? words : words + NoteOfOthers(facets.size(), " along that axis");
}

}  // namespace legacy::analysis
