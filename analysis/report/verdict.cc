#include "analysis/report/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/intervals.h"
#include "analysis/quantities.h"
#include "analysis/reasons.h"
#include "analysis/tables.h"

namespace legacy::analysis {
namespace {

using Policies = std::vector<const PolicySummary*>;

std::string Seconds(double seconds) { return ShowQuantity(seconds, "s"); }

// Returns the names of policies, of which the first `most` are named.
std::string Names(const Policies& policies, size_t most) {
  std::vector<std::string> names;
  for (const PolicySummary* policy : policies) {
    if (names.size() < most) names.push_back(policy->name);
  }
  if (policies.size() > most) {
    names.push_back(ShowCount(static_cast<int64_t>(policies.size() - most), "other"));
  }
  return JoinWords(names);
}

// A Race ranks the policies of one network by their times: those to the target, or those of a step
// if the run has no target.
class Race {
 public:
  explicit Race(const Summary& summary) : summary_(summary) {
    for (const PolicySummary& policy : summary.policies) {
      (std::isfinite(TimeOf(policy)) ? ranked_ : missed_).push_back(&policy);
    }
    std::ranges::stable_sort(ranked_, {}, [this](const auto* policy) { return TimeOf(*policy); });
  }

  bool HasTarget() const { return summary_.target.has_value(); }
  // Policies with a time, the fastest first, and those that did not reach the target with all
  // seeds.
  const Policies& ranked() const { return ranked_; }
  const Policies& missed() const { return missed_; }
  const PolicySummary& first() const { return *ranked_.front(); }

  // Mean over the seeds; nan if it is unknown.
  double TimeOf(const PolicySummary& policy) const {
    return HasTarget() ? policy.time_to_target.spread.mean : policy.step_seconds.mean;
  }
  Contender ContenderOf(const PolicySummary& policy) const {
    return {policy.name, policy.step, HasTarget() ? TimeOf(policy) / policy.step.total : 1};
  }
  // Returns why the first beats a rival, and what would turn the order.
  std::string Why(const PolicySummary& rival) const {
    return WhyFaster(ContenderOf(first()), ContenderOf(rival));
  }
  std::string Turn(const PolicySummary& rival) const {
    return WhatWouldTurn(ContenderOf(first()), ContenderOf(rival));
  }

  // Returns how many times longer a policy takes than the first, as the table does.
  double GainOver(const PolicySummary& policy) const {
    const std::optional<CensoredSpread>& dense = first().speedup_dense;
    const bool known = HasTarget() && policy.name == "dense" && dense && dense->spread.count > 0;
    return known ? dense->spread.mean : TimeOf(policy) / TimeOf(first());
  }

  // Returns the others that cannot be told apart from the first.
  Policies Ties() const {
    Policies ties;
    for (size_t i = 1; i < ranked_.size(); ++i) {
      if (!IsSlower(*ranked_[i])) ties.push_back(ranked_[i]);
    }
    return ties;
  }

  // Returns the policy with which the first is compared: the baseline, or the next one if the first
  // is the baseline or the baseline has no time; null if the first is alone.
  const PolicySummary* Rival() const {
    const PolicySummary* base = FindPolicy(summary_, summary_.baseline);
    if (base != &first() && std::isfinite(TimeOf(*base))) return base;
    return ranked_.size() > 1 ? ranked_[1] : nullptr;
  }

 private:
  // Returns whether a policy surely takes longer than the first.
  bool IsSlower(const PolicySummary& policy) const {
    std::vector<double> ratios;
    for (size_t s = 0; s < policy.seeds.size(); ++s) {
      const SeedSummary& mine = policy.seeds[s];
      const SeedSummary& best = first().seeds[s];
      const double ratio = HasTarget() ? *mine.time_before_target / *best.time_to_target
                                       : mine.step.total / best.step.total;
      if (!(ratio > 0)) return false;
      ratios.push_back(ratio);
    }
    const GeometricMean mean = GeometricMeanOf(ratios);
    return (mean.interval ? mean.interval->low : mean.mean) > 1;
  }

  const Summary& summary_;
  Policies ranked_;
  Policies missed_;
};

std::string TargetText(const Summary& summary) {
  return ShowTarget(summary.metric, *summary.target);
}

std::string SeedsText(const Summary& summary) {
  return ShowCount(static_cast<int64_t>(summary.seeds.size()), "seed");
}

// Returns "2 seeds cannot tell topk from it"; "" if all others are told apart from the first.
std::string TiesText(const Race& race, const Summary& summary, size_t most) {
  const Policies ties = race.Ties();
  return ties.empty()
             ? ""
             : fmt::format("{} cannot tell {} from it", SeedsText(summary), Names(ties, most));
}

// Returns what is left open by a single seed, if there was a training.
std::string OneSeedText(const Summary& summary) {
  return summary.seeds.size() == 1 && !summary.metric.name.empty()
             ? " One seed tells nothing about spread: more seeds would."
             : "";
}

std::string MissedText(const Race& race, const Summary& summary) {
  if (!race.HasTarget() || race.missed().empty()) return "";
  std::vector<std::string> missed;
  for (const PolicySummary* policy : race.missed()) {
    missed.push_back(fmt::format("{} ({} of {})", policy->name, policy->time_to_target.reached,
                                 SeedsText(summary)));
  }
  return fmt::format(" Not with every seed: {}.", JoinWords(missed));
}

// Returns the verdict where no policy has reached the target with all seeds.
std::string NobodyText(const Summary& summary) {
  const PolicySummary* nearest = nullptr;
  int64_t steps = 0;
  for (const PolicySummary& policy : summary.policies) {
    for (const SeedSummary& seed : policy.seeds) steps = std::max(steps, seed.steps);
    const double best = nearest == nullptr ? kUnknown : nearest->best_metric.mean;
    if (summary.metric.IsBetter(policy.best_metric.mean, best)) nearest = &policy;
  }
  std::string text =
      fmt::format("Nothing can be told: no method reaches {} with every seed within {}",
                  TargetText(summary), ShowCount(steps, summary.federated ? "version" : "step"));
  if (nearest != nullptr) {
    const double best = nearest->best_metric.mean;
    text += fmt::format("; the nearest is {}, with {}{} in its best evaluation", nearest->name,
                        Fixed(best * summary.metric.Scale(), MetricDecimals(summary.metric, best)),
                        summary.metric.fraction ? " %" : "");
    if (summary.target && !summary.metric.IsBetter(*summary.target, best)) {
      text += ", but the mean of three in a row has to be there";
    }
  }
  return text + ". A longer training or an easier --target can tell.";
}

// Returns the verdict on a run with a single policy.
std::string AloneText(const Race& race, const Summary& summary) {
  const PolicySummary& policy = race.first();
  std::string text =
      race.HasTarget()
          ? fmt::format("{} reaches {} after {}.", policy.name, TargetText(summary),
                        ShowSpread(policy.time_to_target.spread, "s"))
          : fmt::format("A step of {} takes {}.", policy.name, Seconds(race.TimeOf(policy)));
  if (!summary.federated) {
    text += fmt::format(" Of a step, {:.0f} % is communication and {:.0f} % computing.",
                        100 * policy.step.communication / policy.step.total,
                        100 * policy.step.compute / policy.step.total);
  }
  return text + " Other --policies show whether they are faster." + OneSeedText(summary);
}

// Returns, for a federated run, how many rounds of which length the first and its rival need.
std::string RoundsText(const Race& race, const PolicySummary& rival) {
  const PolicySummary& winner = race.first();
  if (winner.rounds_to_target.spread.count == 0 || rival.rounds_to_target.spread.count == 0) {
    return "";
  }
  const auto needs = [&](const PolicySummary& policy) {
    const double rounds = policy.rounds_to_target.spread.mean;
    return fmt::format("{} rounds of {}", ShowQuantity(rounds, ""),
                       Seconds(race.TimeOf(policy) / rounds));
  };
  return fmt::format(" {} needs {} and {} {}.", winner.name, needs(winner), rival.name,
                     needs(rival));
}

// Returns which of two or more policies reaches the target for the fewest dollars, if the run has
// prices.
std::string CheapestText(const Race& race) {
  Policies by_price = race.ranked();
  for (const PolicySummary* policy : by_price) {
    if (policy->usd_to_target.spread.count == 0) return "";
  }
  const auto dollars = [](const PolicySummary* policy) {
    return policy->usd_to_target.spread.mean;
  };
  std::ranges::sort(by_price, {}, dollars);
  const PolicySummary* cheapest = by_price.front();
  const std::string price = ShowNumber(dollars(cheapest)) + " USD";
  if (cheapest != &race.first()) {
    return fmt::format(" The cheapest is {}, with {} instead of {}.", cheapest->name, price,
                       ShowNumber(dollars(&race.first())));
  }
  return fmt::format(" {} is also the cheapest, with {} instead of {} by {}.", cheapest->name,
                     price, ShowNumber(dollars(by_price[1])), by_price[1]->name);
}

// Returns the verdict on one network.
std::string OneText(const Summary& summary) {
  const Race race(summary);
  if (race.ranked().empty()) return race.HasTarget() ? NobodyText(summary) : "";
  if (summary.policies.size() == 1) return AloneText(race, summary);
  const PolicySummary& first = race.first();
  const PolicySummary* rival = race.Rival();
  std::string text =
      race.HasTarget()
          ? fmt::format("{} reaches {} first, after {}", first.name, TargetText(summary),
                        Seconds(race.TimeOf(first)))
          : fmt::format("{} has the shortest step, {}", first.name, Seconds(race.TimeOf(first)));
  if (rival == nullptr) return text + "." + MissedText(race, summary) + OneSeedText(summary);
  const std::string gain = ShowNumber(race.GainOver(*rival));
  text += first.name == summary.baseline
              ? fmt::format("; the next, {}, takes {} times as long.", rival->name, gain)
              : fmt::format(", {} times faster than {}.", gain, rival->name);
  const std::string ties = TiesText(race, summary, 4);
  if (!ties.empty()) text += " " + ties + ".";
  if (summary.federated) {
    text += RoundsText(race, *rival);
    if (summary.priced) text += CheapestText(race);
  } else {
    text += fmt::format(" Why: {}. {}", race.Why(*rival), race.Turn(*rival));
  }
  text += MissedText(race, summary);
  if (!race.HasTarget()) text += " Times of steps say nothing about what is learnt.";
  return text + OneSeedText(summary);
}

// Returns a text such as "legacy-both is first on 1Gbps (0.38 s, 3.2 times faster than dense; 3
// seeds cannot tell topk-global from it)".
std::string FirstText(const NetworkResult& network, const Race& race) {
  const PolicySummary& first = race.first();
  std::string text = fmt::format("{} {} on {} ({}", first.name,
                                 race.HasTarget() ? "is first" : "has the shortest step",
                                 network.name, Seconds(race.TimeOf(first)));
  const PolicySummary* dense = FindPolicy(network.summary, "dense");
  if (dense != nullptr && dense != &first && std::isfinite(race.TimeOf(*dense))) {
    text += fmt::format(", {} times faster than dense", ShowNumber(race.GainOver(*dense)));
  }
  const std::string ties = TiesText(race, network.summary, 2);
  if (!ties.empty()) text += "; " + ties;
  return text + ")";
}

std::string ChangeText(const NetworkResult& from, const std::string& before,
                       const NetworkResult& to, const Race& race) {
  const std::string text = fmt::format("From {} to {} the order changes: ", from.name, to.name);
  const PolicySummary& loser = *FindPolicy(to.summary, before);
  if (!std::isfinite(race.TimeOf(loser))) {
    return text + fmt::format("{} does not reach the target there with every seed.", before);
  }
  return text + "there " + race.Why(loser) + ".";
}

// Returns the verdict on several networks.
std::string NetworksVerdict(const std::vector<NetworkResult>& networks) {
  std::vector<std::string> firsts;
  std::string changes;
  const NetworkResult* before = nullptr;
  std::string winner;
  for (const NetworkResult& network : networks) {
    const Race race(network.summary);
    if (race.ranked().empty()) continue;
    firsts.push_back(FirstText(network, race));
    if (before != nullptr && winner != race.first().name) {
      changes += " " + ChangeText(*before, winner, network, race);
    }
    before = &network;
    winner = race.first().name;
  }
  if (firsts.empty()) return OneText(networks.front().summary);
  return fmt::format("{}.{}{}", fmt::join(firsts, "; "),
                     changes.empty() ? " The first method is the same on all networks." : changes,
                     OneSeedText(networks.front().summary));
}

}  // namespace

std::string VerdictOf(const Summary& own, const std::vector<NetworkResult>& networks) {
  const bool whole = std::ranges::all_of(own.policies, [](const PolicySummary& policy) {
    return policy.finished == static_cast<int>(policy.seeds.size());
  });
  if (!whole) return "Nothing can be told before all trainings have ended.";
  return networks.empty() ? OneText(own) : NetworksVerdict(networks);
}

}  // namespace legacy::analysis
