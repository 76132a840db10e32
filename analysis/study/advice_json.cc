// Writer of advice as JSON, for programs.
#include "analysis/metric_json.h"
#include "analysis/study/advice.h"
#include "base/files/json.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

json IntervalJson(const std::optional<Interval>& interval) {
  return interval ? json::array({NumberOrNull(interval->low), NumberOrNull(interval->high)})
                  : json();
}

json ToJson(const Spread& spread) {
  return {{"mean", NumberOrNull(spread.mean)},
          {"deviation", NumberOrNull(spread.deviation)},
          {"interval", IntervalJson(MeanInterval(spread))}};
}

json CostJson(const Spread& cost) {
  json object = ToJson(cost);
  object["interval"] = IntervalJson(CostInterval(cost));
  return object;
}

const char* Text(AdviceVerdict verdict) {
  switch (verdict) {
    case AdviceVerdict::kCompress:
      return "compress";
    case AdviceVerdict::kDoNot:
      return "do-not-compress";
    case AdviceVerdict::kUndecided:
      break;
  }
  return "undecided";
}

const char* Text(Standing standing) {
  switch (standing) {
    case Standing::kSooner:
      return "sooner";
    case Standing::kLater:
      return "later";
    case Standing::kSame:
      return "same";
    case Standing::kUnknown:
      break;
  }
  return "unknown";
}

const char* Text(Bound bound) {
  return bound == Bound::kExact ? "exact" : bound == Bound::kAtLeast ? "at-least" : "at-most";
}

json ToJson(const Speedup& speedup) {
  return {{"standing", Text(StandingOf(speedup))},
          {"ratio", NumberOrNull(speedup.ratio)},
          {"bound", Text(speedup.bound)},
          {"interval", IntervalJson(speedup.interval)},
          {"pairs", speedup.pairs.size()}};
}

json ToJson(const Outcome& outcome, bool baseline) {
  const StepSplit& step = outcome.step;
  return {{"policy", outcome.policy},
          {"reached", outcome.reached},
          {"seeds", outcome.done},
          {"time_to_target_seconds", CostJson(outcome.time_to_target)},
          {"speedup", baseline ? json() : ToJson(outcome.speedup)},
          {"final_metric", ToJson(outcome.final_metric)},
          {"metric_difference", baseline ? json() : ToJson(outcome.metric_difference)},
          {"nic_bytes", ToJson(outcome.nic_bytes)},
          {"egress_usd", outcome.egress_usd.count > 0 ? ToJson(outcome.egress_usd) : json()},
          {"step_seconds",
           {{"total", step.total},
            {"compute", step.compute},
            {"encode", step.encode},
            {"communication", step.communication},
            {"decode", step.decode},
            {"wait", step.wait}}},
          {"bound", BoundOf(step)}};
}

const char* Text(AdviceWay way) {
  switch (way) {
    case AdviceWay::kUp:
      return "uplink";
    case AdviceWay::kDown:
      return "downlink";
    case AdviceWay::kBoth:
      return "both";
    case AdviceWay::kNone:
      break;
  }
  return "none";
}

// Adds what is known about a policy of federated clients.
void AddRow(const AdviceRow& row, json& policy) {
  const auto known = [](const Spread& spread) {
    return spread.count > 0 ? CostJson(spread) : json();
  };
  policy["compresses"] = Text(row.way);
  policy["usd_to_target"] = known(row.usd_to_target);
  policy["times_cheaper"] =
      row.cheaper.count == 0
          ? json()
          : json{{"mean", row.cheaper.mean}, {"interval", IntervalJson(row.cheaper.interval)}};
  policy["client_hours_to_target"] = known(row.client_hours_to_target);
  policy["waits"] = row.waits;
}

json ToJson(const BreakEven& even) {
  const Crossover& crossover = even.simulated;
  return {{"policy", crossover.policy},
          {"bandwidth_bits_per_second", NumberOrNull(crossover.x)},
          {"interval", IntervalJson(crossover.interval)},
          {"pays", crossover.crosses() ? json(crossover.faster_below ? "below" : "above") : json()},
          {"seeds",
           {{"crossing", crossover.crossing},
            {"ahead", crossover.ahead},
            {"behind", crossover.behind},
            {"unknown", crossover.unknown}}},
          {"textbook_bits_per_second", NumberOrNull(even.textbook.x)}};
}

}  // namespace

json AdviceJson(const Study& study, const Advice& advice) {
  const AdviceQuestion& question = advice.question;
  json policies = json::array();
  for (const Outcome& outcome : advice.place.outcomes) {
    json policy = ToJson(outcome, outcome.policy == study.baseline);
    if (question.clients) AddRow(question.clients->rows.at(policies.size()), policy);
    policies.push_back(std::move(policy));
  }
  json evens = json::array();
  if (advice.facet) {
    for (const BreakEven& even : BreakEvensOf(study, *advice.facet)) evens.push_back(ToJson(even));
  }
  return {{"format", 2},
          {"verdict", Text(advice.verdict)},
          {"policy", advice.policy ? json(study.policies[*advice.policy]) : json()},
          {"ties", TiesOf(study, advice)},
          {"words", VerdictText(study, advice)},
          {"setting", question.setting},
          {"metric", MetricJson(ShownMetric(study))},
          {"target", TargetJson(study.target)},
          {"target_chosen", !question.target.empty()},
          {"baseline", study.baseline},
          {"seeds", study.seeds},
          {"policies", std::move(policies)},
          {"break_even", std::move(evens)},
          {"caveats", question.caveats},
          {"command", question.command}};
}

}  // namespace legacy::analysis
