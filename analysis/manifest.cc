// Checks of the fields of manifest.json that analysis needs.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "analysis/metric_json.h"
#include "analysis/run_directory.h"
#include "base/error.h"
#include "base/files/json.h"

namespace legacy::analysis {
namespace {

using nlohmann::json;

// The only metric of directories of version 1.
const Metric kAccuracy = {"accuracy", "accuracy", Metric::Better::kHigher, true};

constexpr size_t kMostShown = 200;  // characters of a value that messages show
constexpr int64_t kMostWorkers = 1 << 24;
constexpr int64_t kMostParameters = int64_t{1} << 44;

// Throws Error with the key's value as it is in the file, or "nothing" if the key is missing.
[[noreturn]] void Reject(const std::string& where, const json& document, const std::string& key,
                         const std::string& allowed) {
  const bool present = document.is_object() && document.contains(key);
  throw Error(where + ": " + key, present ? document[key].dump().substr(0, kMostShown) : "nothing",
              allowed);
}

std::string NeedText(const json& document, const std::string& key, const std::string& where) {
  if (!document.contains(key) || !document[key].is_string()) {
    Reject(where, document, key, "a text");
  }
  return document[key].get<std::string>();
}

int64_t NeedCount(const json& document, const std::string& key, const std::string& where,
                  int64_t most) {
  if (!document.contains(key)) Reject(where, document, key, "a whole number from 1 on");
  return WholeNumber(document[key], where + ": " + key, 1, most);
}

std::vector<std::string> NeedPolicies(const json& document, const std::string& where) {
  std::set<std::string> seen;
  std::vector<std::string> names;
  const char* allowed = "a list of names, each once, at least one";
  const json list = document.value("policies", json());
  if (!list.is_array() || list.empty()) Reject(where, document, "policies", allowed);
  for (const json& name : list) {
    if (!name.is_string() || name.get<std::string>().empty()) {
      Reject(where, document, "policies", allowed);
    }
    names.push_back(name.get<std::string>());
    if (!seen.insert(names.back()).second) Reject(where, document, "policies", allowed);
  }
  return names;
}

std::vector<uint64_t> NeedSeeds(const json& document, const std::string& where) {
  std::set<uint64_t> seen;
  std::vector<uint64_t> seeds;
  const char* allowed = "a list of whole numbers from 0 on, each once, at least one";
  const json list = document.value("seeds", json());
  if (!list.is_array() || list.empty()) Reject(where, document, "seeds", allowed);
  for (const json& seed : list) {
    const bool negative =
        seed.is_number_integer() && !seed.is_number_unsigned() && seed.get<int64_t>() < 0;
    if (!seed.is_number_integer() || negative || !seen.insert(seed.get<uint64_t>()).second) {
      Reject(where, document, "seeds", allowed);
    }
    seeds.push_back(seed.get<uint64_t>());
  }
  return seeds;
}

// Returns the target of version 1, an accuracy.
std::optional<Target> AccuracyTargetOf(const json& document, const std::string& where) {
  const json target = document.value("target_accuracy", json());
  if (target.is_null()) return std::nullopt;
  if (!target.is_number() || !(target.get<double>() > 0 && target.get<double>() <= 1)) {
    Reject(where, document, "target_accuracy", "a fraction above 0, up to 1, or null for none");
  }
  return Target{kAccuracy.name, target.get<double>()};
}

std::vector<Metric> NeedMetrics(const json& document, const std::string& where) {
  const char* allowed = "a list of metrics, each name once; empty where nothing was trained";
  const json list = document.value("metrics", json());
  if (!list.is_array()) Reject(where, document, "metrics", allowed);
  std::vector<Metric> metrics;
  for (const json& entry : list) {
    metrics.push_back(MetricOf(entry, where + ": metrics"));
    if (std::ranges::count(metrics, metrics.back().name, &Metric::name) > 1) {
      Reject(where, document, "metrics", allowed);
    }
  }
  return metrics;
}

std::optional<Target> NeedTarget(const json& document, const std::vector<Metric>& metrics,
                                 const std::string& where) {
  if (!document.contains("target")) Reject(where, document, "target", kTargetForm);
  const std::optional<Target> target = TargetOf(document["target"], where + ": target");
  if (target) FindMetric(*target, metrics, where + ": target");
  return target;
}

std::map<std::string, int64_t> DecisionsOf(const json& document, const std::string& where) {
  std::map<std::string, int64_t> decisions;
  const json counts = document.value("decisions", json::object());
  const char* allowed = "an object: a whole number from 0 on for each method that decides";
  if (!counts.is_object()) Reject(where, document, "decisions", allowed);
  for (const auto& [policy, count] : counts.items()) {
    if (!count.is_number_integer() || count.get<int64_t>() < 0) {
      Reject(where, document, "decisions", allowed);
    }
    decisions[policy] = count.get<int64_t>();
  }
  return decisions;
}

std::map<std::string, double> RequestedBytesOf(const json& document, const std::string& where) {
  std::map<std::string, double> requested;
  const json numbers = document.value("requested_bytes", json::object());
  const char* allowed = "an object: a positive number for each method whose bytes were asked for";
  if (!numbers.is_object()) Reject(where, document, "requested_bytes", allowed);
  for (const auto& [policy, bytes] : numbers.items()) {
    if (!bytes.is_number() || !(bytes.get<double>() > 0)) {
      Reject(where, document, "requested_bytes", allowed);
    }
    requested[policy] = bytes.get<double>();
  }
  return requested;
}

std::map<std::string, std::string> VolumeReasonsOf(const json& document, const std::string& where) {
  std::map<std::string, std::string> reasons;
  const json texts = document.value("volume_reasons", json::object());
  const char* allowed = "an object: a text for each method whose bytes may be others";
  if (!texts.is_object()) Reject(where, document, "volume_reasons", allowed);
  for (const auto& [policy, text] : texts.items()) {
    if (!text.is_string()) Reject(where, document, "volume_reasons", allowed);
    reasons[policy] = text.get<std::string>();
  }
  return reasons;
}

std::vector<std::string> RemarksOf(const json& document, const std::string& where) {
  std::vector<std::string> remarks;
  const json texts = document.value("remarks", json::array());
  if (!texts.is_array()) Reject(where, document, "remarks", "a list of texts");
  for (const json& text : texts) {
    if (!text.is_string()) Reject(where, document, "remarks", "a list of texts");
    remarks.push_back(text.get<std::string>());
  }
  return remarks;
}

}  // namespace

void SetMetrics(json& document, std::span<const Metric> metrics,
                const std::optional<Target>& target) {
  document["metrics"] = json::array();
  for (const Metric& metric : metrics) document["metrics"].push_back(MetricJson(metric));
  document["target"] = TargetJson(target);
}

Manifest ParseManifest(const json& document, const std::string& where) {
  if (!document.is_object()) {
    throw Error(where, Shown(document), "an object {\"format\": 1, \"policies\": [...], ...}");
  }
  const json format = document.value("format", json());
  if (format != json(1) && format != json(kFormatVersion)) {
    Reject(where, document, "format", fmt::format("1, {}", kFormatVersion));
  }
  Manifest manifest;
  manifest.program = NeedText(document, "program", where);
  manifest.policies = NeedPolicies(document, where);
  manifest.seeds = NeedSeeds(document, where);
  manifest.workers = static_cast<int>(NeedCount(document, "workers", where, kMostWorkers));
  manifest.parameters = NeedCount(document, "parameters", where, kMostParameters);
  if (format == json(1)) {
    manifest.metrics = {kAccuracy};
    manifest.target = AccuracyTargetOf(document, where);
  } else {
    manifest.metrics = NeedMetrics(document, where);
    manifest.target = NeedTarget(document, manifest.metrics, where);
  }
  manifest.fidelity = NeedText(document, "fidelity", where);
  manifest.decisions = DecisionsOf(document, where);
  manifest.requested_bytes = RequestedBytesOf(document, where);
  manifest.volume_reasons = VolumeReasonsOf(document, where);
  manifest.remarks = RemarksOf(document, where);
  manifest.document = document;
  return manifest;
}

}  // namespace legacy::analysis
