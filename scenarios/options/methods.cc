#include "scenarios/options/methods.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"
#include "compress/options.h"
#include "compress/policies/equal_volume.h"
#include "compress/policies/legacy_schedule.h"
#include "compress/policies/legacy_table.h"
#include "scenarios/options/built_in_methods.h"

namespace legacy {
namespace {

// Returns `text` with an option added to its first stage, if the scheme has that option and the
// text does not set it.
std::string WithOption(const std::string& text, const std::string& name, const std::string& value) {
  std::vector<Stage> stages = ParseStages(text);
  if (!stages.front().options.emplace(name, value).second) return text;
  const std::string with = FormatStages(stages);
  try {
    MakeScheme(with);
  } catch (const Error&) {
    return text;
  }
  return with;
}

// Returns true for schemes with an index coding, which are those that send positions.
bool TakesIndexCoding(const std::string& scheme) {
  return WithOption(scheme, "index", "u32") != scheme;
}

// Returns a scheme in which gradients without compression have the format and the sums of the
// scenario; others stay as they are.
std::string WithFormat(const std::string& scheme, const Scenario& scenario) {
  std::vector<Stage> stages = ParseStages(scheme);
  Stage& first = stages.front();
  if (first.name == "dense" && *scenario.reduce != Precision::kFp32) {
    first.name = scenario.reduce.text();
  }
  if (*scenario.sum == SumRule::kHops && (first.name == "bf16" || first.name == "fp16")) {
    first.options.emplace("reduction", "hop");
  }
  return FormatStages(stages);
}

// Returns true if a scheme sends every value, rounded at most, where it keeps no residuals.
bool SendsValues(const std::string& text) {
  return !MakeScheme(text)->Traits().needs_error_feedback &&
         MakeScheme(text, {.error_feedback = false})->Traits().sends_values;
}

// Returns a scheme whose messages go to the owners of slices, in a scenario that shards; dense sums
// stay as they are, because owners get their parts anyway.
std::string WithOwners(const std::string& text, const Scenario& scenario) {
  const Cut cut = CutOf(scenario);
  if (cut.owners == 0 || SendsValues(text)) return text;
  const std::string with = WithOption(text, "owners", std::to_string(cut.owners));
  return with == text ? text : WithOption(with, "cut", cut.by_rows ? "rows" : "values");
}

}  // namespace

Cut CutOf(const Scenario& scenario) {
  const ShardingOptions sharding = ShardingOptionsOf(scenario);
  if (sharding.sharding.kind == ShardingKind::kNone) return {};
  return {.owners = ShardsIn(sharding, DataWorkers(scenario)), .by_rows = CutsByRows(sharding)};
}

bool SendsToOwners(const Method& method, const Scenario& scenario) {
  return CutOf(scenario).owners > 0 &&
         (!method.weights.empty() || MakeScheme(SchemeText(method, scenario))->Traits().owners > 0);
}

BucketOptions BucketsOf(const Scenario& scenario, const Scheme& scheme) {
  if (scheme.Traits().owners > 0) return {.first_bytes = 1, .bucket_bytes = 1};
  return {.bucket_bytes = *scenario.bucket};
}

std::shared_ptr<const WeightCodec> WeightCodecOf(const Method& method, const Scenario& scenario,
                                                 uint64_t seed) {
  if (method.weights.empty()) return nullptr;
  return std::make_shared<WeightCodec>(method.weights, CutOf(scenario), seed,
                                       "methods." + method.name + ".weights");
}

bool SendsDense(const Method& method) { return ParseStages(method.scheme).front().name == "dense"; }

bool MayRoundSums(const Method& method, const Scenario& scenario) {
  Scenario exact = scenario, hops = scenario;
  exact.sum = "exact";
  hops.sum = "hop";
  return WithFormat(method.scheme, exact) != WithFormat(method.scheme, hops);
}

std::string SchemeText(const Method& method, const Scenario& scenario) {
  std::string text = WithFormat(method.scheme, scenario);
  if (*scenario.index) text = WithOption(text, "index", scenario.index.text());
  if (const int servers = AggregatingServers(scenario); servers > 1) {
    text = WithOption(text, "servers", std::to_string(servers));
  }
  text = WithOwners(text, scenario);
  // A scheme that applies momentum before it compresses takes over the momentum of the training,
  // unless it has one of its own.
  const SchemeTraits traits = MakeScheme(text)->Traits();
  if (!traits.owns_momentum) return text;
  if (!traits.optimizer.empty()) {
    if (scenario.momentum == 0) return text;
    throw Error("training.momentum", FormatNumber(scenario.momentum),
                "0 with " + method.name + ", which has a momentum of its own");
  }
  text = WithOption(text, "momentum", FormatNumber(scenario.momentum));
  return WithOption(text, "nesterov", scenario.nesterov ? "on" : "off");
}

namespace {

double ParameterOf(const Method& method, const Scenario& scenario, const ParameterSpec& spec) {
  if (method.parameter > 0) return method.parameter;
  return spec.Kind() == ParameterKind::kDensity ? scenario.density : spec.fallback;
}

// Returns true if error feedback stays on for every parameter that the policy may choose. QSGD
// diverges with few bits, so it has no error feedback with many bits either.
bool UsesErrorFeedback(const Scheme& scheme, const Method& method, const Scenario& scenario) {
  const ParameterSpec& spec = scheme.Parameter();
  return scheme.UsesErrorFeedback(ParameterOf(method, scenario, spec)) &&
         (spec.Kind() == ParameterKind::kNone ||
          (scheme.UsesErrorFeedback(spec.minimum) && scheme.UsesErrorFeedback(spec.maximum)));
}

// Returns true if the method keeps residuals. No option can turn them off for a scheme that needs
// them.
bool KeepsResiduals(const Scheme& scheme, const Method& method, const Scenario& scenario) {
  if (scheme.Traits().needs_error_feedback) return true;
  return scenario.error_feedback && UsesErrorFeedback(scheme, method, scenario);
}

std::unique_ptr<Scheme> SchemeOf(const Method& method, const Scenario& scenario,
                                 const std::string& text) {
  std::unique_ptr<Scheme> scheme = MakeScheme(text);
  if (KeepsResiduals(*scheme, method, scenario)) return scheme;
  return MakeScheme(text, {.error_feedback = false});
}

std::unique_ptr<Scheme> SchemeOf(const Method& method, const Scenario& scenario) {
  return SchemeOf(method, scenario, SchemeText(method, scenario));
}

bool IsLegacyTable(const Method& method) {
  const auto names = LegacyPolicyNames();
  return method.policy != "uniform" && std::ranges::find(names, method.policy) != names.end();
}

bool IsUniform(const Method& method) { return method.policy == "uniform"; }

// Returns the text of LEGACY's schedule. The scenario's schedule has densities; methods with other
// parameters have their own schedule or none.
std::string ScheduleTextOf(const Method& method, const Scenario& scenario,
                           const ParameterSpec& spec) {
  if (!method.legacy_schedule.empty() || spec.Kind() != ParameterKind::kDensity)
    return method.legacy_schedule;
  return scenario.legacy.schedule;
}

// Returns true if the schedule is solved for a volume: always, unless it is given and used as it
// is.
bool IsSolved(const Method& method, const Scenario& scenario, const ParameterSpec& spec) {
  return *scenario.legacy.volume || ScheduleTextOf(method, scenario, spec).empty();
}

bool IsAuto(const Method& method) {
  return ParseStages(method.policy).front().name == "legacy-auto";
}

// Returns the policy's text. If methods have equal volume in bytes, LEGACY's own policy solves for
// bytes.
std::string PolicyText(const Method& method, const Scenario& scenario) {
  if (!IsAuto(method) || *scenario.legacy.volume != VolumeMeasure::kBytes) return method.policy;
  std::vector<Stage> stages = ParseStages(method.policy);
  stages.front().options.emplace("volume", "bytes");
  return FormatStages(stages);
}

bool IsDensityOfScenario(const Method& method, const ParameterSpec& spec) {
  return method.parameter <= 0 && method.bytes_of.empty() && spec.Kind() == ParameterKind::kDensity;
}

// Returns the bytes of a step that method.bytes_of asks for: so many bits a value, or those of
// another scheme.
double TargetBytes(const Method& method, VolumeModel model) {
  if (const auto bits = BitsOfValue(method.bytes_of)) {
    return *bits / 8 * static_cast<double>(model.Elements());
  }
  const size_t at = method.bytes_of.find('@');
  const std::unique_ptr<Scheme> other = MakeScheme(method.bytes_of.substr(0, at));
  double parameter = other->Parameter().fallback;
  if (at != std::string::npos) {
    parameter = ParseNumber(method.bytes_of.substr(at + 1), "bytes_of", -1e9, 1e9);
  }
  model.scheme = other.get();
  return UniformVolume(model, parameter);
}

// Returns the parameter with which messages are as long as method.bytes_of asks for.
double ParameterOfBytes(const Method& method, const Scenario& scenario, const Scheme& scheme,
                        std::span<const Unit> units) {
  const VolumeModel model = {.units = units,
                             .scheme = &scheme,
                             .total_steps = scenario.steps,
                             .measure = VolumeMeasure::kBytes};
  const LegacySchedule start = {
      .splits = {}, .phase_bounds = {}, .parameters = {{scheme.Parameter().fallback}}};
  return SolveSchedule(model, start, TargetBytes(method, model), FreeParameters::kAll)
      .schedule.parameters[0][0];
}

LegacyTable TableOf(const Method& method, const Scenario& scenario, const ParameterSpec& spec) {
  LegacyTable table = scenario.legacy;
  table.schedule = ScheduleTextOf(method, scenario, spec);
  table.reversed = method.reversed;
  return table;
}

std::string ParameterText(double value, const ParameterSpec& spec) {
  char text[32];
  if (spec.Kind() == ParameterKind::kDensity) {
    std::snprintf(text, sizeof(text), "%.4g %%", 100 * value);
  } else {
    std::snprintf(text, sizeof(text), "%g", value);
  }
  return text;
}

std::string Describe(const LegacySchedule& schedule, const ParameterSpec& spec) {
  std::string text;
  for (size_t phase = 0; phase < schedule.parameters.size(); ++phase) {
    if (schedule.parameters.size() > 1)
      text += (phase ? "; phase " : "phase ") + std::to_string(phase + 1) + ": ";
    const std::vector<double>& row = schedule.parameters[phase];
    for (size_t bucket = 0; bucket < row.size(); ++bucket) {
      text += (bucket ? ", " : "") + ParameterText(row[bucket], spec);
      if (bucket < schedule.splits.size()) {
        text += " below " + std::to_string(schedule.splits[bucket]) + " elements";
      }
    }
  }
  return text;
}

// Throws Error unless the scenario has the parameter servers that compress; 0: none does.
void CheckServers(const Method& method, const Scenario& scenario, int servers) {
  if (servers == 0 || servers == AggregatingServers(scenario)) return;
  const bool slices = WithOption(method.scheme, "servers", "2") != method.scheme;
  const std::string one = slices ? "[sharded-]parameter-server" : "parameter-server";
  throw Error(
      "methods." + method.name + ".scheme", method.scheme,
      "others, or network.aggregation=" +
          (servers == 1 ? one : "sharded-parameter-server, servers=" + std::to_string(servers)) +
          ": the server answers with what it has compressed (where=server, where=both)");
}

// Throws Error unless the scenario shards what the method sends of weights.
void CheckWeights(const Method& method, const Scenario& scenario) {
  if (!NeedsSharding(method)) return;
  if (scenario.sharding->kind == ShardingKind::kNone) {
    throw Error("compression.policies", method.name,
                "others, or clock.sharding (--sharding), as it sends to the owners of a model");
  }
  if (method.weights.empty()) return;
  const std::string key = "methods." + method.name + ".weights";
  const WeightCodec codec(method.weights, CutOf(scenario), 0, key);
  if (codec.SendsDifferences() && ShardsWeights(scenario.sharding->kind)) {
    throw Error(
        key, method.weights,
        "delta with clock.sharding zero1, zero2 or megatron, as workers must keep all weights");
  }
  if (method.Local()) throw Error(key, method.weights, "none with local steps");
}

// Throws Error unless a scenario that shards has the owners of slices to whom the method sends.
void CheckOwners(const Method& method, const Scenario& scenario, const SchemeTraits& traits) {
  const int owners = CutOf(scenario).owners;
  const std::string key = "methods." + method.name;
  if (traits.owners > 0) {
    if (traits.owners != owners) {
      throw Error(key + ".scheme", method.scheme,
                  "as many owners as clock.sharding has, which sets them itself");
    }
    if (*method.scope == Scope::kLayer) return;
    throw Error(key + ".scope", method.scope.text(),
                "layer with clock.sharding, as each worker owns a slice of each layer");
  }
  if (owners == 0 || traits.sends_values) return;
  std::string why;
  try {
    MakeScheme(method.scheme + (ParseStages(method.scheme).front().options.empty() ? ":" : ",") +
               "owners=" + std::to_string(owners));
  } catch (const Error& error) {
    why = std::string(": ") + error.what();
  }
  throw Error(key + ".scheme", method.scheme,
              "methods whose messages can go to owners of slices, with clock.sharding " +
                  scenario.sharding.text() + why);
}

}  // namespace

MethodAnchor AnchorOf(const Method& method, const Scenario& scenario, std::span<const Unit> units) {
  MethodAnchor anchor{SchemeOf(method, scenario)};
  anchor.parameter = method.bytes_of.empty()
                         ? ParameterOf(method, scenario, anchor.scheme->Parameter())
                         : ParameterOfBytes(method, scenario, *anchor.scheme, units);
  return anchor;
}

std::unique_ptr<Scheme> ExpertSchemeOf(const Method& method, const Scenario& scenario) {
  const int ranks = scenario.parallel->expert;
  if (ranks == 1) return nullptr;
  std::vector<Stage> stages = ParseStages(SchemeText(method, scenario));
  for (const char* name : {"owners", "node"}) {
    const auto option = stages.front().options.find(name);
    if (option == stages.front().options.end()) continue;
    const int64_t workers = ParseInteger(option->second, name, 0, INT32_MAX);
    // Nodes that do not hold all parts of the experts are none.
    option->second = std::to_string(workers % ranks == 0 ? workers / ranks : 0);
  }
  return SchemeOf(method, scenario, FormatStages(stages));
}

BuiltMethod BuildMethod(const Method& method, const Scenario& scenario, std::span<const Unit> units,
                        int64_t steps_per_epoch) {
  BuiltMethod built;
  MethodAnchor anchor = AnchorOf(method, scenario, units);
  const double parameter = anchor.parameter;
  built.parameter = parameter;
  built.scheme = std::move(anchor.scheme);
  if (built.scheme->Traits().compresses_mean && *scenario.legacy.volume == VolumeMeasure::kBytes) {
    throw Error("methods." + method.name + ".scheme", method.scheme,
                "no where=after-mean or where=server beside a volume of bytes: what workers send "
                "does not depend on what is selected; use volume=elements");
  }
  CheckServers(method, scenario, built.scheme->Traits().servers);
  CheckOwners(method, scenario, built.scheme->Traits());
  CheckWeights(method, scenario);
  const ParameterSpec& spec = built.scheme->Parameter();
  built.description = WithFormat(method.scheme, scenario) + " by " + method.scope.text();
  if (method.local_steps > 1) {
    built.description += ", every " + std::to_string(method.local_steps) + " steps";
  }
  if (!method.weights.empty()) built.description += ", weights by " + method.weights;
  if (method.outer->has_value()) built.description += ", outer " + method.outer.text();
  if (IsLegacyTable(method)) {
    const VolumeModel model = {
        .units = units, .scheme = built.scheme.get(), .total_steps = scenario.steps};
    const LegacyTable table = TableOf(method, scenario, spec);
    const LegacySchedule schedule = ScheduleOfTable(method.policy, table, model, parameter);
    built.policy = MakeLegacyPolicy(method.policy, schedule, spec);
    built.description += ", " + spec.name + " " + Describe(schedule, spec);
    return built;
  }
  built.adaptive = !IsUniform(method);
  built.policy = MakePolicy(PolicyText(method, scenario), {.scheme = built.scheme.get(),
                                                           .units = {units.begin(), units.end()},
                                                           .workers = DataWorkers(scenario),
                                                           .total_steps = scenario.steps,
                                                           .steps_per_epoch = steps_per_epoch,
                                                           .parameter = parameter,
                                                           .seed = scenario.seed});
  if (spec.Kind() != ParameterKind::kNone)
    built.description += ", " + spec.name + " " + ParameterText(parameter, spec);
  if (!method.bytes_of.empty()) built.description += " (" + method.BytesText() + ")";
  if (!IsUniform(method)) built.description += " by " + method.policy;
  return built;
}

std::string EndsUniform(const Method& method, const BuiltMethod& built, std::span<const Unit> units,
                        const Scenario& scenario) {
  const ParameterSpec& spec = built.scheme->Parameter();
  const std::string name = ParseStages(method.policy).front().name;
  if (!(IsLegacyTable(method) || name == "legacy-auto") || spec.Kind() == ParameterKind::kNone) {
    return "";
  }
  constexpr int64_t kLooks = 1000;  // phases are longer than a thousandth of a run
  std::optional<double> first;
  std::vector<double> parameters(units.size());
  for (int64_t look = 0; look < std::min<int64_t>(kLooks, scenario.steps); ++look) {
    const int64_t step = look * scenario.steps / std::min<int64_t>(kLooks, scenario.steps);
    DecideParameters(*built.policy, {.step = step, .total_steps = scenario.steps}, units,
                     parameters);
    for (size_t u = 0; u < units.size(); ++u) {
      if (!built.scheme->Compresses(units[u], parameters[u])) continue;
      if (first.value_or(parameters[u]) != parameters[u]) return "";
      first = parameters[u];
    }
  }
  if (!first) return "";
  return method.name + ": its schedule is the same for all layers and phases, " + spec.name + " " +
         ParameterText(*first, spec) +
         (spec.integer ? ": whole numbers near it do not send as much" : "");
}

std::string FormatOf(const Method& method, const Scenario& scenario) {
  const std::string scheme = WithFormat(method.scheme, scenario);
  if (scheme == FormatStages(ParseStages(method.scheme))) return "";
  const Stage first = ParseStages(scheme).front();
  std::string text = method.name + ": its gradients travel in " + first.name + ", 2 bytes each";
  text += *scenario.sum == SumRule::kHops ? ", and a ring rounds every partial sum"
                                          : ", and are added in fp32";
  return text + " (training.reduce, training.sum)";
}

std::vector<std::string> MethodPolicyNames() {
  std::vector<std::string> names = LegacyPolicyNames();
  for (const PolicyRow& row : PolicyTable()) {
    if (std::ranges::find(names, row.info.name) == names.end()) names.push_back(row.info.name);
  }
  return names;
}

std::string NetworkDependence(const Method& method, const Scenario& scenario) {
  const std::unique_ptr<Scheme> scheme = SchemeOf(method, scenario);
  if (scheme->Traits().depends_on_collective) return "its arithmetic depends on the collective";
  if (scheme->Traits().reads_network) return "its scheme reads the network's latency and rate";
  if (IsLegacyTable(method)) return "";
  // A policy's traits do not depend on the model.
  const Unit unit{.id = 0, .name = "any", .shape = {64, 64}, .offset = 0, .numel = 64 * 64};
  const BuiltMethod built = BuildMethod(method, scenario, {&unit, 1});
  return built.policy->Traits().reads_clock ? "its policy reads simulated times or rates" : "";
}

std::vector<std::string> UnreadOptions(const Method& method, const Scenario& scenario) {
  const std::unique_ptr<Scheme> scheme = SchemeOf(method, scenario);
  const ParameterSpec& spec = scheme->Parameter();
  const bool scheduled = IsLegacyTable(method);
  std::vector<std::string> unread;
  const auto add = [&](const char* key, bool read) {
    if (!read) unread.emplace_back(key);
  };
  const bool density = IsDensityOfScenario(method, spec);
  add("compression.density", density && (!scheduled || IsSolved(method, scenario, spec)));
  add("compression.levels",
      scheduled && method.legacy_schedule.empty() && spec.Kind() == ParameterKind::kDensity);
  const bool by_layer = scheduled && method.policy != "legacy-phase";
  const bool by_phase = scheduled && method.policy != "legacy-layer";
  add("compression.splits", by_layer);
  add("compression.split_share", by_layer && scenario.legacy.splits.empty());
  add("compression.phase_bounds", by_phase);
  add("compression.closed_right", by_phase);
  add("compression.volume", !IsUniform(method));
  add("compression.error_feedback",
      !scheme->Traits().needs_error_feedback && UsesErrorFeedback(*scheme, method, scenario));
  add("compression.rescale_residuals", KeepsResiduals(*scheme, method, scenario) &&
                                           !scheme->Traits().momentum_from &&
                                           !scheme->Traits().owns_rate && !method.Local());
  add("compression.index", TakesIndexCoding(method.scheme));
  add("training.reduce", SendsDense(method));
  add("training.sum", MayRoundSums(method, scenario));
  return unread;
}

}  // namespace legacy
