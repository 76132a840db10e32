#include "compress/options.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/nearest.h"
#include "base/number.h"
#include "base/parse.h"
#include "base/settings.h"

namespace legacy {
namespace {

Stage ParseStage(std::string_view text, std::string_view whole) {
  const NamedValues read = ReadNamedValues(text, "method");
  Stage stage{.name = read.name};
  if (stage.name.empty()) {
    throw Error("method", std::string(whole), "names with options, as in topk:index=u32+fp16");
  }
  for (const auto& [key, value] : read.values) {
    if (value.empty()) throw Error("option of " + stage.name, key + "=", "name=value");
    stage.options.emplace(key, value);
  }
  return stage;
}

std::optional<double> ParseNumberOrPercent(std::string text) {
  if (!text.ends_with('%')) return ParseNumber(text);
  text.pop_back();
  // "0.7%" is 0.7e-2, rounded once; 0.7 / 100 can be another number.
  if (text.find_first_of("eE") == std::string::npos) return ParseNumber(text + "e-2");
  const auto value = ParseNumber(text);
  return value ? std::optional(*value / 100) : std::nullopt;
}

std::string StepsAllowed(int64_t minimum) {
  return "whole numbers from " + std::to_string(minimum) + " to " + std::to_string(kMostSteps) +
         ", or parts of the run (5%)";
}

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Returns where the stage that begins at `begin` ends. A plus within a number, as in 1e+06, does
// not separate stages.
size_t EndOfStage(std::string_view text, size_t begin) {
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] != '+') continue;
    const bool exponent = i >= begin + 2 && (text[i - 1] == 'e' || text[i - 1] == 'E') &&
                          (IsDigit(text[i - 2]) || text[i - 2] == '.') && i + 1 < text.size() &&
                          IsDigit(text[i + 1]);
    if (!exponent) return i;
  }
  return text.size();
}

}  // namespace

std::vector<Stage> ParseStages(std::string_view text) {
  std::vector<Stage> stages;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = EndOfStage(text, begin);
    stages.push_back(ParseStage(text.substr(begin, end - begin), text));
    begin = end + 1;
  }
  return stages;
}

Stage ParseOneStage(std::string_view text) { return ParseStage(text, text); }

std::string FormatStages(std::span<const Stage> stages) {
  std::string text;
  for (const Stage& stage : stages) {
    text += (text.empty() ? "" : "+") + stage.name;
    char separator = ':';
    for (const auto& [name, value] : stage.options) {
      text += separator + name + "=" + value;
      separator = ',';
    }
  }
  return text;
}

OptionReader::OptionReader(const Stage& stage, std::span<const OptionSpec> specs)
    : stage_(stage), specs_(specs) {
  for (const auto& [name, value] : stage.options) {
    if (std::ranges::find(specs, name, &OptionSpec::name) != specs.end()) continue;
    std::vector<std::string> known;
    for (const OptionSpec& spec : specs) known.push_back(spec.name);
    if (known.empty()) throw Error("option of " + stage.name, name, "no options");
    throw NotAmong("option of " + stage.name, name, known);
  }
}

const std::string& OptionReader::Text(std::string_view name) const {
  const auto given = stage_.options.find(std::string(name));
  if (given != stage_.options.end()) return given->second;
  const auto spec = std::ranges::find(specs_, name, &OptionSpec::name);
  assert(spec != specs_.end());
  return spec->fallback;
}

void OptionReader::Refuse(std::string_view name, const std::string& allowed) const {
  throw Error(stage_.name + ": " + std::string(name), Text(name), allowed);
}

double OptionReader::Number(std::string_view name, double minimum, double maximum) const {
  const auto value = ParseNumberOrPercent(Text(name));
  if (!value || !(*value >= minimum && *value <= maximum)) {
    const bool open = maximum == std::numeric_limits<double>::infinity();
    Refuse(name, open ? "numbers from " + FormatNumber(minimum)
                      : FormatNumber(minimum) + " to " + FormatNumber(maximum));
  }
  return *value;
}

int64_t OptionReader::Integer(std::string_view name, int64_t minimum, int64_t maximum) const {
  const auto value = ParseNumber(Text(name));
  if (!value || *value != std::floor(*value) || !(*value >= static_cast<double>(minimum)) ||
      !(*value <= static_cast<double>(maximum))) {
    Refuse(name,
           "whole numbers from " + std::to_string(minimum) + " to " + std::to_string(maximum));
  }
  return static_cast<int64_t>(*value);
}

int64_t OptionReader::Steps(std::string_view name, int64_t minimum, int64_t total_steps) const {
  const auto part = ParseNumberOrPercent(Text(name));
  if (!IsPart(name)) {
    if (!part) Refuse(name, StepsAllowed(minimum));
    return Integer(name, minimum, kMostSteps);
  }
  if (!part || !(*part > 0 && *part <= 1)) Refuse(name, "parts of the run above 0% up to 100%");
  return std::max<int64_t>(1, std::llround(*part * static_cast<double>(total_steps)));
}

bool OptionReader::Switch(std::string_view name) const {
  constexpr std::string_view kChoices[] = {"off", "on"};
  return Choice(name, kChoices) == 1;
}

size_t OptionReader::Choice(std::string_view name,
                            std::span<const std::string_view> choices) const {
  const auto found = std::ranges::find(choices, std::string_view(Text(name)));
  if (found == choices.end()) Refuse(name, Join({choices.begin(), choices.end()}, ", "));
  return static_cast<size_t>(found - choices.begin());
}

void ThrowUnknown(std::string_view what, std::string_view name,
                  const std::vector<std::string>& known) {
  throw NotAmong(std::string(what), std::string(name), known);
}

}  // namespace legacy
