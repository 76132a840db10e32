#include "compress/policies/legacy_schedule.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

// Type for the product of a step and a number of phases; each fits in 64 bits, but their product
// may not.
using Wide = __int128;

std::string Join(std::span<const int64_t> values) {
  std::ostringstream text;
  for (size_t i = 0; i < values.size(); ++i) text << (i ? "," : "") << values[i];
  return text.str();
}

void CheckAscending(const char* option, std::span<const int64_t> values) {
  int64_t before = 0;
  for (const int64_t value : values) {
    if (value <= before) throw Error(option, Join(values), "positive numbers in ascending order");
    before = value;
  }
}

// "0.7%" is read as 0.7e-2, which is rounded once; 0.7 / 100 can be another number.
std::optional<double> ParsePercent(std::string_view number) {
  if (number.find_first_of("eE") == std::string_view::npos) {
    return ParseNumber(std::string(number) + "e-2");
  }
  const auto value = ParseNumber(number);
  return value ? std::optional(*value / 100) : std::nullopt;
}

double DensityOf(const std::string& text) {
  const bool percent = text.ends_with('%');
  const auto value =
      percent ? ParsePercent(std::string_view(text).substr(0, text.size() - 1)) : ParseNumber(text);
  RefuseBareOne(text, "levels");
  if (!percent && value && *value > 1) {
    throw Error("levels", text, "'" + text + "%' or a fraction up to 1");
  }
  if (!value || !(*value > 0 && *value <= 1)) {
    throw Error("levels", text, "above 0% and up to 100%: every layer sends a value at least");
  }
  return *value;
}

double ParseRaw(const std::string& text) {
  const auto value = ParseNumber(text);
  if (!value || !std::isfinite(*value)) throw Error("levels", text, "numbers");
  return *value;
}

class LegacyPolicy : public Policy {
 public:
  LegacyPolicy(std::string_view name, LegacySchedule schedule)
      : name_(name), schedule_(std::move(schedule)) {}
  std::string_view Name() const override { return name_; }
  void Decide(const StepInfo& step, std::span<const Unit> units,
              std::span<double> parameters) override {
    assert(units.size() == parameters.size());
    const int64_t phase = schedule_.Phase(step.step, step.total_steps);
    const auto& row = schedule_.parameters[phase];
    for (size_t i = 0; i < units.size(); ++i) {
      parameters[i] = row[schedule_.Bucket(units[i].numel)];
    }
    if (static_cast<double>(phase) == log().Last()) return;
    if (log().Started()) log().Begin();
    log().SetLast(static_cast<double>(phase));
    log().AddAll(
        step.step, parameters,
        "phase " + std::to_string(phase + 1) + " of " + std::to_string(schedule_.Phases()));
  }

 private:
  std::string name_;
  const LegacySchedule schedule_;
};

void CheckShape(std::string_view name, const LegacySchedule& schedule) {
  const auto names = LegacyPolicyNames();
  if (std::ranges::find(names, name) == names.end()) {
    throw Error("policy", std::string(name), "uniform, legacy-layer, legacy-phase, legacy-both");
  }
  const bool one_phase = name == "uniform" || name == "legacy-layer";
  const bool one_bucket = name == "uniform" || name == "legacy-phase";
  if (one_phase && schedule.Phases() != 1) {
    throw Error("levels of policy " + std::string(name),
                std::to_string(schedule.Phases()) + " phases", "one phase");
  }
  if (one_bucket && !schedule.splits.empty()) {
    throw Error("splits of policy " + std::string(name), Join(schedule.splits), "none");
  }
}

}  // namespace

void LegacySchedule::Validate() const {
  if (parameters.empty()) throw Error("levels: none given");
  CheckAscending("splits", splits);
  CheckAscending("phase bounds", phase_bounds);
  for (size_t phase = 0; phase < parameters.size(); ++phase) {
    if (parameters[phase].size() == splits.size() + 1) continue;
    throw Error("levels of phase " + std::to_string(phase + 1),
                std::to_string(parameters[phase].size()),
                std::to_string(splits.size() + 1) + ", one more than there are splits");
  }
  if (!phase_bounds.empty() && phase_bounds.size() + 1 != parameters.size()) {
    throw Error("phase bounds", Join(phase_bounds),
                std::to_string(parameters.size() - 1) + " steps, one less than there are phases");
  }
}

int64_t LegacySchedule::PhaseStart(int64_t phase, int64_t total_steps) const {
  if (phase == 0) return 0;
  if (!phase_bounds.empty()) {
    return std::min(phase_bounds[phase - 1] + (closed_right ? 1 : 0), total_steps);
  }
  // The boundary phase * T / p is rounded up to a step; closed_right decides the phase of a step
  // that lies on it.
  const Wide scaled = static_cast<Wide>(phase) * total_steps;
  const Wide phases = Phases();
  const auto start =
      static_cast<int64_t>(closed_right ? scaled / phases + 1 : (scaled + phases - 1) / phases);
  return std::min(start, total_steps);
}

int64_t LegacySchedule::Phase(int64_t step, int64_t total_steps) const {
  if (Phases() > 1 && total_steps < 1) {
    throw Error("total steps", std::to_string(total_steps), "at least 1 where there are phases");
  }
  int64_t phase = 0;
  while (phase + 1 < Phases() && step >= PhaseStart(phase + 1, total_steps)) ++phase;
  return phase;
}

int64_t LegacySchedule::Bucket(int64_t numel) const {
  return std::ranges::upper_bound(splits, numel) - splits.begin();
}

double LegacySchedule::Parameter(int64_t step, int64_t total_steps, int64_t numel) const {
  return parameters[Phase(step, total_steps)][Bucket(numel)];
}

int64_t SplitAtShare(std::span<const Unit> units, double share) {
  if (!(share >= 0 && share <= 1)) throw Error("share", FormatNumber(share), "0 to 1");
  std::map<int64_t, int64_t> elements;  // number of elements of all tensors of one size
  int64_t total = 0;
  for (const Unit& unit : units) {
    elements[unit.numel] += unit.numel;
    total += unit.numel;
  }
  int64_t below = 0;
  for (const auto& [numel, sum] : elements) {
    below += sum;
    if (static_cast<double>(below) > share * static_cast<double>(total)) {
      return std::max<int64_t>(numel, 1);
    }
  }
  return elements.empty() ? 1 : elements.rbegin()->first + 1;
}

std::vector<std::vector<double>> ParseSchedule(std::string_view text, ScheduleUnit unit) {
  std::vector<std::vector<double>> parameters;
  for (const std::string& phase : Split(text, '/')) {
    parameters.emplace_back();
    for (const std::string& value : Split(phase, ',')) {
      parameters.back().push_back(unit == ScheduleUnit::kFraction ? DensityOf(value)
                                                                  : ParseRaw(value));
    }
  }
  return parameters;
}

std::unique_ptr<Policy> MakeLegacyPolicy(std::string_view name, const LegacySchedule& schedule,
                                         const ParameterSpec& parameter) {
  schedule.Validate();
  CheckShape(name, schedule);
  LegacySchedule table = schedule;
  for (auto& row : table.parameters) {
    for (double& value : row) {
      if (parameter.integer) value = std::round(value);
      CheckParameter(parameter, value);
    }
  }
  return std::make_unique<LegacyPolicy>(name, std::move(table));
}

std::vector<std::string> LegacyPolicyNames() {
  return {"uniform", "legacy-layer", "legacy-phase", "legacy-both"};
}

}  // namespace legacy
