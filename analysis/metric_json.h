// Metrics and targets as JSON, in manifests, summaries, studies and pages.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/metric.h"

namespace legacy::analysis {

inline constexpr const char* kTargetForm =
    "{\"metric\": NAME, \"value\": NUMBER}, or null for none";

// Returns {"name", "title", "better": "higher" or "lower", "unit": "fraction" or ""}.
nlohmann::json MetricJson(const Metric& metric);
// Reads what MetricJson writes. Throws Error naming `where`.
Metric MetricOf(const nlohmann::json& document, const std::string& where);

// Returns {"metric", "value"}, or null for none. The target has its metric's name.
nlohmann::json TargetJson(const std::optional<Target>& target);
// Reads what TargetJson writes; nothing for null. Throws Error naming `where`.
std::optional<Target> TargetOf(const nlohmann::json& document, const std::string& where);

}  // namespace legacy::analysis
