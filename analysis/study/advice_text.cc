// Writer of advice in words, for people.
#include <algorithm>
#include <cmath>

#include "analysis/study/advice.h"
#include "analysis/study/advice_table.h"
#include "analysis/study/words.h"
#include "analysis/study/words_parts.h"
#include "analysis/table_text.h"
#include "analysis/tables.h"

namespace legacy::analysis {
namespace {

using Cells = std::vector<std::string>;

// Returns "85 % accuracy" or "perplexity 120".
std::string TargetText(const Study& study) {
  return ShowTarget(ShownMetric(study), study.target->value);
}

// Returns how sure the ratio is, as " (95 % interval, 3 seeds)".
std::string Surety(const Study& study, const Speedup& speedup) {
  if (!speedup.interval) return " (one seed: nothing says how sure that is)";
  return fmt::format(" (95 % interval, {})",
                     ShowCount(static_cast<int64_t>(speedup.pairs.size()), "seed")) +
         (speedup.pairs.size() < study.seeds.size() ? " that reach it" : "");
}

std::string MissedText(const Study& study, const Outcome& outcome) {
  return fmt::format("misses it with {} of {}", outcome.done - outcome.reached,
                     ShowCount(static_cast<int64_t>(study.seeds.size()), "seed"));
}

// Returns the words with which a verdict for a policy begins.
std::string OpeningOf(const Advice& advice) {
  const auto& clients = advice.question.clients;
  if (!clients) return "Compress";
  switch (clients->rows.at(*advice.policy).way) {
    case AdviceWay::kUp:
      return clients->server ? "Compress the uplink" : "Compress";
    case AdviceWay::kDown:
      return "Compress the downlink";
    case AdviceWay::kBoth:
      return "Compress both ways";
    case AdviceWay::kNone:
      break;
  }
  return "Do not compress, but change the algorithm";
}

// Returns true if the final value is worse than the baseline's by more than chance.
bool Loses(const Study& study, const Outcome& outcome) {
  const std::optional<Interval> interval = MeanInterval(outcome.metric_difference);
  if (!interval) return false;
  const bool higher = ShownMetric(study).better == Metric::Better::kHigher;
  return higher ? interval->high < 0 : interval->low > 0;
}

// Returns which policies cannot be told apart from the one to take, and, if that one loses
// something in the end, which of them do not.
std::string TiesText(const Study& study, const Advice& advice) {
  const Cells ties = TiesOf(study, advice);
  if (ties.empty()) return "";
  std::string text =
      fmt::format(" Not to be told apart from it{}: {}.", WithSeeds(study), JoinWords(ties));
  if (!Loses(study, advice.place.outcomes[*advice.policy])) return text;
  Cells lossless;
  for (const std::string& name : ties) {
    const Outcome& outcome = advice.place.outcomes[PolicyIndex(study, name)];
    if (name != study.baseline && !Loses(study, outcome)) lossless.push_back(name);
  }
  if (lossless.empty()) return text;
  return text + fmt::format(" Of these, {} {} no {} that shows{}.", JoinWords(lossless),
                            lossless.size() == 1 ? "loses" : "lose", ShownMetric(study).title,
                            WithSeeds(study));
}

std::string TakeText(const Study& study, const Advice& advice) {
  const Outcome& outcome = advice.place.outcomes[*advice.policy];
  const Outcome& base = advice.place.outcomes[*BaselineIndex(study)];
  const Speedup& speedup = outcome.speedup;
  std::string text =
      fmt::format("{}: {} reaches {} ", OpeningOf(advice), outcome.policy, TargetText(study));
  if (speedup.bounded()) {
    text += fmt::format("at least {} times sooner than {}, which {}", ShowNumber(speedup.ratio),
                        study.baseline, MissedText(study, base));
  } else {
    text += fmt::format("{} times sooner than {}{}", ShowSpeedup(speedup), study.baseline,
                        Surety(study, speedup));
  }
  if (outcome.time_to_target.count > 0 && base.time_to_target.count > 0) {
    text += fmt::format(", after {} instead of {}", ShowSpread(outcome.time_to_target, "s"),
                        ShowSpread(base.time_to_target, "s"));
  }
  text += fmt::format(". Its final {} is {}{} from {}'s.", ShownMetric(study).title,
                      ShowDifference(ShownMetric(study), outcome.metric_difference),
                      ShownMetric(study).fraction ? " points" : "", study.baseline);
  return text + TiesText(study, advice);
}

// Returns the policies other than the baseline, the highest ratio first and those without one last.
std::vector<size_t> Others(const Study& study, const Place& place) {
  std::vector<size_t> others;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (study.policies[p] != study.baseline) others.push_back(p);
  }
  std::ranges::stable_sort(others, std::ranges::greater(), [&](size_t p) {
    const Speedup& speedup = place.outcomes[p].speedup;
    return speedup.known() ? speedup.ratio : -1;
  });
  return others;
}

std::string DoNotText(const Study& study, const Advice& advice) {
  const Outcome& next = advice.place.outcomes[Others(study, advice.place).front()];
  const Speedup& speedup = next.speedup;
  std::string text = fmt::format("Do not compress: {} reaches {} before all others. ",
                                 study.baseline, TargetText(study));
  if (speedup.bounded()) {
    return text + fmt::format("The next, {}, takes at least {} times as long: it {}.", next.policy,
                              ShowNumber(1 / speedup.ratio), MissedText(study, next));
  }
  std::optional<Interval> interval;
  if (speedup.interval) interval = {1 / speedup.interval->high, 1 / speedup.interval->low};
  return text + fmt::format("The next, {}, takes {} times as long{}.", next.policy,
                            ShowEstimate(1 / speedup.ratio, interval, ""), Surety(study, speedup));
}

const char* StepNoun(const Advice& advice) { return advice.question.clients ? "round" : "step"; }

std::string NearGuessingText(const Study& study, const Advice& advice) {
  const Outcome& base = advice.place.outcomes[*BaselineIndex(study)];
  const Metric metric = ShownMetric(study);
  return fmt::format(
      "Nothing can be told: {} has {} {} after {:.0f} {}s, and guessing {}. Train longer, by more "
      "{}.",
      study.baseline, metric.title, ShowQuantity(base.final_metric.mean, metric.Unit()), base.steps,
      StepNoun(advice), ShowQuantity(advice.question.guessing, metric.Unit()),
      advice.question.quick);
}

std::string UndecidedText(const Study& study, const Advice& advice) {
  if (advice.near_guessing) return NearGuessingText(study, advice);
  Cells same;
  Cells later;
  Cells open;
  for (const size_t p : Others(study, advice.place)) {
    const Speedup& speedup = advice.place.outcomes[p].speedup;
    const Standing standing = StandingOf(speedup);
    if (standing == Standing::kLater) later.push_back(study.policies[p]);
    if (standing == Standing::kUnknown) open.push_back(study.policies[p]);
    if (standing != Standing::kSame) continue;
    same.push_back(fmt::format("{} {}", study.policies[p], ShowSpeedup(speedup)));
  }
  const std::string more = fmt::format(" More --seeds or more {} may tell.", advice.question.quick);
  if (same.empty()) {
    return fmt::format(
        "Nothing can be told: too few trainings reach {}. An easier --target, "
        "more {} or more --seeds may help.",
        TargetText(study), advice.question.quick);
  }
  std::string text =
      fmt::format("{} cannot be told apart from {}: times sooner to {}, 95 % intervals of {}: {}.",
                  same.size() == 1 ? "Compressing" : "They", study.baseline, TargetText(study),
                  ShowCount(static_cast<int64_t>(study.seeds.size()), "seed"),
                  fmt::format("{}", fmt::join(same, ", ")));
  if (!later.empty()) text += fmt::format(" Later than {}: {}.", study.baseline, JoinWords(later));
  if (!open.empty()) {
    text += fmt::format(" Not known, as seeds miss the target: {}.", JoinWords(open));
  }
  return text + more;
}

// Returns what to do on either side of the value at which the policy breaks even.
std::string TurnText(const Study& study, const Advice& advice, const Crossover& crossover) {
  const StudyAxis& axis = study.axes.front();
  const bool clients = advice.question.clients.has_value();
  const std::string links = clients ? "lines" : "links";
  const std::string range =
      fmt::format("{} to {}", ShowValue(axis, 0), ShowValue(axis, axis.values.size() - 1));
  const auto seeds = static_cast<int>(crossover.seeds.size());
  if (crossover.crosses()) {
    const int counted = crossover.crossing - crossover.contrary;
    return fmt::format(
        "{} breaks even with {} at {}{}: on {} {} {} it, on {} ones do not.", crossover.policy,
        study.baseline, ShowCrossing(axis, crossover.x, crossover.interval),
        counted < seeds ? fmt::format(" ({} of {} seeds)", counted, seeds) : "",
        crossover.faster_below ? "slower" : "faster", links, clients ? "take" : "compress with",
        crossover.faster_below ? "faster" : "slower");
  }
  const bool one_side = crossover.ahead == seeds || crossover.behind == seeds;
  if (one_side && !ToldApart(*advice.facet, crossover.policy)) {
    return fmt::format("{} cannot be told apart from {} on any {} that were tried, {}.",
                       crossover.policy, study.baseline, links, range);
  }
  if (crossover.ahead == seeds) {
    return fmt::format("{} pays on all {} that were tried, {}.", crossover.policy, links, range);
  }
  if (crossover.behind == seeds) {
    return fmt::format("{} pays on none of the {} that were tried, {}.", crossover.policy, links,
                       range);
  }
  return fmt::format("where {} breaks even with {} cannot be told within {}.", crossover.policy,
                     study.baseline, range);
}

std::string BreakEvenText(const Study& study, const Advice& advice) {
  if (!advice.facet) return "";
  const std::vector<BreakEven> evens = BreakEvensOf(study, *advice.facet);
  const size_t policy = advice.policy.value_or(Others(study, advice.place).front());
  const auto even = std::ranges::find(evens, study.policies[policy],
                                      [](const BreakEven& e) { return e.simulated.policy; });
  std::string text = "Break-even: " + TurnText(study, advice, even->simulated) + "\n";
  const std::string all = BreakEvenWords(study, *advice.facet);
  if (evens.size() > 1 && !all.empty()) text += "All policies: " + all + "\n";
  return text + "\n";
}

// Returns the final values of the metric in words.
std::string FinalWords(const Study& study, const Advice& advice) {
  const std::string words = DifferenceWords(study, advice.place);
  if (words.empty()) return "";
  return fmt::format("Final {}: {}\n\n", ShownMetric(study).title, words);
}

// Returns what rounds wait for with the baseline and with the policy to take.
std::string WaitsText(const Study& study, const Advice& advice) {
  if (!advice.question.clients) return "";
  std::string text;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    const std::string& waits = advice.question.clients->rows.at(p).waits;
    if (waits.empty() || (p != BaselineIndex(study) && p != advice.policy)) continue;
    text += fmt::format("{}: {}\n", study.policies[p], waits);
  }
  return text.empty() ? "" : text + "\n";
}

// Returns which policy reaches the target at the lowest price, if anything has one.
std::string PriceText(const Study& study, const Advice& advice) {
  if (!advice.question.clients || advice.near_guessing) return "";
  const std::vector<AdviceRow>& rows = advice.question.clients->rows;
  std::optional<size_t> cheapest;
  for (const size_t p : Others(study, advice.place)) {
    if (rows.at(p).cheaper.count == 0) continue;
    if (!cheapest || rows[p].cheaper.mean > rows[*cheapest].cheaper.mean) cheapest = p;
  }
  if (!cheapest) return "";
  const GeometricMean& cheaper = rows[*cheapest].cheaper;
  if (cheaper.mean <= 1) return fmt::format(" {} is the cheapest.", study.baseline);
  return fmt::format(
      " {} {}: {} USD to the target instead of {}, {} times cheaper{}.", study.policies[*cheapest],
      Holds(cheaper.interval, 1)
          ? "has the lowest price, not to be told apart from that of " + study.baseline
          : "is the cheapest",
      ShowNumber(rows[*cheapest].usd_to_target.mean),
      ShowNumber(rows.at(*BaselineIndex(study)).usd_to_target.mean),
      ShowEstimate(cheaper.mean, cheaper.interval, ""), cheaper.interval ? " (95 % interval)" : "");
}

}  // namespace

std::string VerdictText(const Study& study, const Advice& advice) {
  std::string text;
  switch (advice.verdict) {
    case AdviceVerdict::kCompress:
      text = TakeText(study, advice);
      break;
    case AdviceVerdict::kDoNot:
      text = advice.policy ? TakeText(study, advice) : DoNotText(study, advice);
      break;
    case AdviceVerdict::kUndecided:
      text = UndecidedText(study, advice);
      break;
  }
  return text + PriceText(study, advice);
}

std::string AdviceText(const Study& study, const Advice& advice) {
  const AdviceQuestion& question = advice.question;
  std::string text = VerdictText(study, advice) + "\n\n" + question.setting + ":\n\n";
  text += AdviceTable(study, advice) + "\n" + BreakEvenText(study, advice);
  text += FinalWords(study, advice) + WaitsText(study, advice);
  text += "Know that\n";
  if (!question.target.empty()) text += "* " + question.target + "\n";
  for (const std::string& caveat : question.caveats) text += "* " + caveat + "\n";
  const bool marked = std::ranges::any_of(
      advice.place.outcomes, [](const Outcome& outcome) { return IsIdle(outcome.decisions); });
  if (marked) text += std::string("* ") + kIdleLegend + ".\n";
  return text + "\nA full study: " + question.command + "\n";
}

}  // namespace legacy::analysis
