// Words about time to target: which policy is the fastest, by how much and why, and where that
// cannot be told.
#include <set>

#include "analysis/reasons.h"
#include "analysis/study/crossover.h"
#include "analysis/study/words.h"
#include "analysis/study/words_parts.h"

namespace legacy::analysis {
namespace {

// Largest number of policies that a sentence names among those that cannot be told apart from the
// first, if it then leaves out more than one.
constexpr size_t kMostTies = 2;

// A Ranking has the policies that reached the target at a place, the fastest first, and those of
// them that cannot be told apart from the first.
struct Ranking {
  std::vector<size_t> order;
  std::vector<size_t> ties;

  bool IsTold() const { return ties.empty(); }
};

Ranking RankingAt(const Study& study, const Place& place) {
  Ranking ranking{RankingOf(place), {}};
  if (!ranking.order.empty()) {
    ranking.ties = TiesWith(study, place, ranking.order.front(), ranking.order);
  }
  return ranking;
}

// A Stretch has neighbouring places of a facet at which the same policy is the fastest, or at which
// none is known to be.
struct Stretch {
  Ranking ranking;  // that of its first place
  size_t first = 0;
  size_t last = 0;

  bool Goes(const Ranking& next) const {
    return ranking.IsTold() == next.IsTold() &&
           (!ranking.IsTold() || ranking.order.front() == next.order.front());
  }
};

std::vector<Stretch> StretchesOf(const Study& study, const Facet& facet) {
  std::vector<Stretch> stretches;
  for (size_t i = 0; i < facet.places.size(); ++i) {
    const Ranking ranking = RankingAt(study, facet.places[i]);
    if (ranking.order.empty()) continue;
    if (stretches.empty() || !stretches.back().Goes(ranking)) stretches.push_back({ranking, i, i});
    stretches.back().last = i;
  }
  return stretches;
}

std::string AxisText(const Study& study, const Facet& facet, size_t place) {
  return ShowAxisValue(study.axes[facet.axis], facet.places[place].values[facet.axis]);
}

std::string RangeText(const Study& study, const Facet& facet, const Stretch& stretch) {
  if (stretch.first == stretch.last) return " at " + AxisText(study, facet, stretch.first);
  const size_t last = facet.places[stretch.last].values[facet.axis];
  return fmt::format(" from {} to {}", AxisText(study, facet, stretch.first),
                     ShowValue(study.axes[facet.axis], last));
}

// Returns the ratio of the winner to the baseline, or of the baseline to the next policy, in words;
// "" if there is no ratio.
std::string LeadText(const Study& study, const Place& place, size_t winner) {
  const std::optional<size_t> base = BaselineIndex(study);
  if (!base) return "";
  if (winner != *base) {
    const Speedup& speedup = place.outcomes[winner].speedup;
    // That the winner takes at most ten times as long, say, does not show how much sooner it is.
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

// Returns which policy is the fastest at a place and by how much, or which ones cannot be told
// apart. `range` says where else, `at` which place this is; both may be "".
std::string FirstText(const Study& study, const Place& place, const Ranking& ranking,
                      const std::string& range, const std::string& at) {
  const Outcome& first = place.outcomes[ranking.order.front()];
  const std::string time = "TTA " + ShowSpread(first.time_to_target, "s") + at;
  if (ranking.IsTold()) {
    return fmt::format("{} is the fastest{} ({}{})", first.policy, range, time,
                       LeadText(study, place, ranking.order.front()));
  }
  std::vector<std::string> names = {fmt::format("{} ({})", first.policy, time)};
  const size_t named = ranking.ties.size() > kMostTies + 1 ? kMostTies : ranking.ties.size();
  for (size_t i = 0; i < named; ++i) {
    const Speedup behind = SpeedupOf(study, place, ranking.order.front(), ranking.ties[i]);
    names.push_back(
        fmt::format("{} ({} times as long)", study.policies[ranking.ties[i]], ShowSpeedup(behind)));
  }
  if (const size_t more = ranking.ties.size() - named; more > 0) {
    names.push_back(ShowCount(static_cast<int64_t>(more), "other"));
  }
  return fmt::format("{} cannot tell which method is the fastest{}: {}",
                     ShowCount(static_cast<int64_t>(study.seeds.size()), "seed"), range,
                     JoinWords(names));
}

constexpr const char* kMoreSeeds = " More seeds, or more frequent evaluations, may tell.";

// Returns the policy with which the fastest is compared, as in verdicts on runs: the baseline, or
// the next one if the fastest is the baseline or the baseline has no time; none if no policy is
// known to be the fastest, or if it is alone.
std::optional<size_t> RivalOf(const Study& study, const Ranking& ranking) {
  if (!ranking.IsTold() || ranking.order.size() < 2) return std::nullopt;
  const std::optional<size_t> base = BaselineIndex(study);
  const bool ranked = base && std::ranges::find(ranking.order, *base) != ranking.order.end();
  return ranked && *base != ranking.order.front() ? *base : ranking.order[1];
}

Contender ContenderOf(const Place& place, size_t policy) {
  const Outcome& outcome = place.outcomes[policy];
  return {outcome.policy, outcome.step, outcome.time_to_target.mean / outcome.step.total};
}

// Returns why the fastest at a place is faster than its rival, if it has one.
std::string WhyText(const Study& study, const Place& place, const Ranking& ranking) {
  return WhyFaster(ContenderOf(place, ranking.order.front()),
                   ContenderOf(place, *RivalOf(study, ranking)));
}

// Returns what would turn the order of the two.
std::string TurnText(const Study& study, const Place& place, const Ranking& ranking) {
  return WhatWouldTurn(ContenderOf(place, ranking.order.front()),
                       ContenderOf(place, *RivalOf(study, ranking)));
}

// Returns the place that stands for a stretch. For the last stretch, the end of its range is more
// informative than the beginning.
size_t StretchPlace(const std::vector<Stretch>& stretches, size_t i) {
  return i > 0 && i + 1 == stretches.size() ? stretches[i].last : stretches[i].first;
}

std::string StretchesText(const Study& study, const Facet& facet,
                          const std::vector<Stretch>& stretches) {
  std::string text;
  bool told = true;
  for (size_t i = 0; i < stretches.size(); ++i) {
    const Stretch& stretch = stretches[i];
    const size_t shown = StretchPlace(stretches, i);
    const Place& place = facet.places[shown];
    text += (i > 0 ? " " : "") +
            FirstText(study, place, RankingAt(study, place), RangeText(study, facet, stretch),
                      stretch.first == stretch.last ? "" : " at " + AxisText(study, facet, shown)) +
            ".";
    told = told && stretch.ranking.IsTold();
  }
  return told ? text : text + kMoreSeeds;
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

// Returns where the winners break even with the baseline.
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

// Returns whether the break-even of two policies, one of which is the baseline, lies on the facet's
// axis.
bool BreaksEven(const Study& study, const Facet& facet, size_t a, size_t b) {
  return std::ranges::any_of(BreakEvensOf(study, facet), [&](const BreakEven& even) {
    const std::string& policy = even.simulated.policy;
    return even.simulated.crosses() && (policy == study.policies[a] || policy == study.policies[b]);
  });
}

// Returns why the first and the last of the policies that are found to be the fastest are that, and
// what would turn the order of the first, unless its break-even says that.
std::string ReasonsText(const Study& study, const Facet& facet,
                        const std::vector<Stretch>& stretches) {
  std::vector<size_t> told;
  for (size_t i = 0; i < stretches.size(); ++i) {
    if (RivalOf(study, stretches[i].ranking)) told.push_back(i);
  }
  if (told.empty()) return "";
  const auto why = [&](size_t i) {
    const size_t shown = StretchPlace(stretches, i);
    const Place& place = facet.places[shown];
    return "at " + AxisText(study, facet, shown) + " " +
           WhyText(study, place, RankingAt(study, place));
  };
  const Ranking& ranking = stretches[told.front()].ranking;
  std::string text = " Why: " + why(told.front());
  if (stretches[told.back()].ranking.order.front() != ranking.order.front()) {
    text += "; " + why(told.back());
  }
  text += ".";
  if (BreaksEven(study, facet, ranking.order.front(), *RivalOf(study, ranking))) return text;
  return text + " " + TurnText(study, facet.places[StretchPlace(stretches, told.front())], ranking);
}

std::vector<const Place*> Pointers(const std::vector<Place>& places) {
  std::vector<const Place*> pointers;
  for (const Place& place : places) pointers.push_back(&place);
  return pointers;
}

template <class Test>
bool Any(const std::vector<Place>& places, Test&& test) {
  return std::ranges::any_of(
      places, [&](const Place& place) { return std::ranges::any_of(place.outcomes, test); });
}

// Returns the words about a facet, with reasons or without.
std::string TextOf(const Study& study, const Facet& facet, bool reasons) {
  if (!study.target || !Any(facet.places, [](const Outcome& o) { return o.done > 0; })) return "";
  if (!MissedWords(study).empty()) return "";  // the report says this once, for the whole study
  const std::vector<Stretch> stretches = StretchesOf(study, facet);
  std::string text = StretchesText(study, facet, stretches);
  if (!Any(facet.places, [](const Outcome& o) { return o.reached > 0; })) {
    text =
        fmt::format("no method reaches {}.", ShowTarget(ShownMetric(study), study.target->value));
  } else {
    std::set<size_t> winners;
    for (const Stretch& stretch : stretches) {
      if (stretch.ranking.IsTold()) winners.insert(stretch.ranking.order.front());
    }
    if (reasons) text += ReasonsText(study, facet, stretches);
    text += EvenText(study, facet, winners) + MissText(study, facet.places);
  }
  text += NoteOfHoles(Pointers(facet.places)) + NoteOfOneSeed(study);
  // The text is not empty here, because a policy that is not compared has missed the target or
  // lacks a seed.
  return Opening(facet.name) + text.substr(text.find_first_not_of(' '));
}

}  // namespace

std::string TimeWords(const Study& study, const Facet& facet) {
  return TextOf(study, facet, false);
}

std::string ReasonedTimeWords(const Study& study, const Facet& facet) {
  return TextOf(study, facet, true);
}

std::string FirstWords(const Study& study, const Place& place) {
  const Ranking ranking = RankingAt(study, place);
  if (ranking.order.empty()) return MissText(study, {place});
  std::string text = FirstText(study, place, ranking, "", "") + ".";
  if (!ranking.IsTold()) text += kMoreSeeds;
  if (RivalOf(study, ranking)) {
    text += fmt::format(" Why: {}. {}", WhyText(study, place, ranking),
                        TurnText(study, place, ranking));
  }
  return text + MissText(study, {place});
}

}  // namespace legacy::analysis
