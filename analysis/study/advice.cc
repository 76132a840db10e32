#include "analysis/study/advice.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "analysis/study/words_parts.h"
#include "base/error.h"

namespace legacy::analysis {
namespace {

const StudyPoint* FirstUndone(const Study& study, const Place& place) {
  for (const Outcome& outcome : place.outcomes) {
    for (const int64_t id : outcome.points) {
      if (id >= 0 && study.points[static_cast<size_t>(id)].state != StudyState::kDone) {
        return &study.points[static_cast<size_t>(id)];
      }
    }
  }
  return nullptr;
}

Place PlaceAt(const Study& study, size_t value) {
  for (Place& place : PlacesOf(study)) {
    if (place.values.front() == value) return std::move(place);
  }
  throw Error("advice: the study has no point at the asked value");
}

bool IsNearGuessing(const Metric& metric, double value, double guessing) {
  if (!(guessing > 0)) return false;
  return metric.better == Metric::Better::kHigher ? value < kLearntTimesGuessing * guessing
                                                  : value > guessing / kLearntTimesGuessing;
}

void Decide(const Study& study, size_t baseline, Advice& advice) {
  advice.near_guessing =
      IsNearGuessing(ShownMetric(study), advice.place.outcomes[baseline].final_metric.mean,
                     advice.question.guessing);
  if (advice.near_guessing) return;
  bool all_later = true;
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (p == baseline) continue;
    const Speedup& speedup = advice.place.outcomes[p].speedup;
    const Standing standing = StandingOf(speedup);
    all_later = all_later && standing == Standing::kLater;
    if (standing != Standing::kSooner) continue;
    const bool best =
        !advice.policy || speedup.ratio > advice.place.outcomes[*advice.policy].speedup.ratio;
    if (best) advice.policy = p;
  }
  const auto& clients = advice.question.clients;
  if (advice.policy) {
    const bool nothing = clients && clients->rows.at(*advice.policy).way == AdviceWay::kNone;
    advice.verdict = nothing ? AdviceVerdict::kDoNot : AdviceVerdict::kCompress;
  } else if (all_later && study.policies.size() > 1) {
    advice.verdict = AdviceVerdict::kDoNot;
  }
}

}  // namespace

Advice AdviceOf(const Study& study, AdviceQuestion question) {
  const std::optional<size_t> baseline = BaselineIndex(study);
  if (!baseline || !study.target || study.axes.size() != 1) {
    throw Error(
        "advice: needs a study with a target, its baseline among the policies, and one axis");
  }
  Advice advice;
  advice.place = PlaceAt(study, question.value);
  if (const StudyPoint* point = FirstUndone(study, advice.place)) {
    throw Error(fmt::format("{}, seed {}: {}", point->policy, point->seed,
                            point->message.empty() ? "not done" : point->message));
  }
  advice.question = std::move(question);
  Decide(study, *baseline, advice);
  if (study.axes.front().values.size() > 1) {
    advice.facet = FacetsOf(study, 0).front();
  }
  return advice;
}

std::optional<Interval> CostInterval(const Spread& cost) {
  std::optional<Interval> interval = MeanInterval(cost);
  if (interval) interval->low = std::max(0.0, interval->low);
  return interval;
}

std::vector<std::string> TiesOf(const Study& study, const Advice& advice) {
  if (!advice.policy) return {};
  std::vector<size_t> all(study.policies.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<std::string> ties;
  for (const size_t p : TiesWith(study, advice.place, *advice.policy, all)) {
    ties.push_back(study.policies[p]);
  }
  return ties;
}

std::string BoundOf(const StepSplit& step) {
  const std::vector<std::pair<double, const char*>> parts = {{step.compute, "compute"},
                                                             {step.encode, "encode"},
                                                             {step.communication, "communication"},
                                                             {step.decode, "decode"},
                                                             {step.wait, "wait"}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

}  // namespace legacy::analysis
