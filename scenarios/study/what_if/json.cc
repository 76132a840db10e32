#include "scenarios/study/what_if/json.h"

#include <optional>
#include <utility>

namespace legacy {
namespace {

using nlohmann::json;

json OrNull(const std::optional<double>& value) { return value ? json(*value) : json(); }

json PartsOf(const analysis::StepSplit& step) {
  return {{"compute", step.compute},
          {"encode", step.encode},
          {"communication", step.communication},
          {"decode", step.decode},
          {"wait", step.wait}};
}

json PartsOf(const WhatIfRound& round) {
  return {{"download", round.download},
          {"work", round.work},
          {"upload", round.upload},
          {"wait", round.wait}};
}

json ToJson(const WhatIfPlan& plan) {
  json tables = json::array();
  for (const analysis::Table& table : plan.tables) {
    tables.push_back({{"title", table.title}, {"header", table.header}, {"rows", table.rows}});
  }
  return {{"command", plan.command},
          {"stopped", plan.stopped},
          {"versions", plan.versions},
          {"wanted", plan.wanted},
          {"round_median", plan.round_median},
          {"round_95", plan.round_95},
          {"mb_down", plan.mb_down},
          {"mb_up", plan.mb_up},
          {"usd", plan.usd},
          {"started", plan.started},
          {"counted", plan.counted},
          {"never_counted", plan.never_counted},
          {"tables", std::move(tables)}};
}

json ToJson(const WhatIfSeed& seed) {
  json document = {{"seed", seed.seed},
                   {"time_to_target", OrNull(seed.time_to_target)},
                   {"simulated_seconds", seed.simulated_seconds},
                   {"step_seconds", seed.step.total},
                   {"parts", seed.round ? PartsOf(*seed.round) : PartsOf(seed.step)},
                   {"curve", seed.curve}};
  if (seed.round) document["usd_to_target"] = OrNull(seed.round->usd_to_target);
  if (seed.plan) document["plan"] = ToJson(*seed.plan);
  return document;
}

json GroupJson(const WhatIf& what_if, size_t id) {
  const WhatIfGroup& group = what_if.study().groups[id];
  const WhatIfQuestion defaults = what_if.Defaults(id);
  json document = {{"id", id},
                   {"label", group.label},
                   {"defaults", ToJson(defaults)},
                   {"unread", what_if.Unread(defaults)}};
  if (group.OfClients()) {
    document["kind"] = "clients";
    document["places"] = what_if.Places(id);
    document["planned"] = group.Planned();
  } else {
    document["kind"] = "workers";
    document["workers"] = group.trainings.front().scenario.workers;
  }
  return document;
}

}  // namespace

json ToJson(const WhatIfAnswer& answer) {
  json policies = json::array();
  for (const WhatIfPolicy& policy : answer) {
    json seeds = json::array();
    for (const WhatIfSeed& seed : policy.seeds) seeds.push_back(ToJson(seed));
    policies.push_back({{"policy", policy.policy}, {"seeds", std::move(seeds)}});
  }
  return {{"policies", std::move(policies)}};
}

json GroupsDocument(const WhatIf& what_if) {
  const WhatIfStudy& study = what_if.study();
  json groups = json::array(), refused = json::array();
  for (size_t id = 0; id < study.groups.size(); ++id) groups.push_back(GroupJson(what_if, id));
  for (const WhatIfRefused& one : study.refused) {
    refused.push_back({{"label", one.label},
                       {"policies", one.policies},
                       {"reason", one.reason},
                       {"command", one.command},
                       {"plan", one.plan},
                       {"group", one.planned_by ? json(*one.planned_by) : json()}});
  }
  return {{"groups", std::move(groups)},
          {"refused", std::move(refused)},
          {"policies", study.policies},
          {"seeds", study.seeds}};
}

}  // namespace legacy
