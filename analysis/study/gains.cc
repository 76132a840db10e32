#include "analysis/study/gains.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "analysis/study/quantities.h"
#include "analysis/study/table_builder.h"

namespace legacy::analysis {
namespace {

constexpr const char* kHalfPrecision = "fp16";  // available to everybody without a method

// A GainCount counts set-ups.
struct GainCount {
  int all = 0, any = 0;
  int shorter = 0;  // some method has shorter steps
  std::vector<int> of_policy;
};

// Returns whether a step of some policy is shorter than one of the reference by 5 % or more.
bool HasShorterSteps(const Place& place, size_t reference) {
  const double least = place.outcomes[reference].step_seconds.mean / kLeastGain;
  return std::ranges::any_of(place.outcomes, [&](const Outcome& outcome) {
    return outcome.planned > 0 && outcome.step_seconds.mean <= least;
  });
}

// Returns the counts of the places that are `chosen` and whose points are all done.
GainCount CountGains(const Study& study, const std::vector<Place>& places, size_t reference,
                     const std::function<bool(const Place&)>& chosen) {
  GainCount count{.of_policy = std::vector<int>(study.policies.size())};
  for (const Place& place : places) {
    const bool done = std::ranges::all_of(
        place.outcomes, [](const Outcome& outcome) { return outcome.done == outcome.planned; });
    if (!done || place.outcomes[reference].planned == 0 || !chosen(place)) continue;
    ++count.all;
    const std::vector<bool> gaining = GainingAt(study, place, reference);
    for (size_t p = 0; p < gaining.size(); ++p) count.of_policy[p] += gaining[p];
    count.any += std::ranges::any_of(gaining, std::identity());
    count.shorter += HasShorterSteps(place, reference);
  }
  return count;
}

void AddRow(const Study& study, size_t reference, const std::string& axis, const std::string& value,
            const std::string& shown, const GainCount& count, TableBuilder& builder) {
  if (count.all == 0) return;
  builder.Row();
  builder.Text("axis", "axis", axis);
  builder.Show("value", shown, false);
  builder.Raw("value", value);
  builder.Show("set-ups", std::to_string(count.all));
  builder.Raw("setups", count.all);
  builder.Show("shorter steps", std::to_string(count.shorter));
  builder.Raw("shorter_steps", count.shorter);
  builder.Show("any method", std::to_string(count.any));
  builder.Raw("gaining", count.any);
  for (size_t p = 0; p < study.policies.size(); ++p) {
    if (p == reference) continue;
    builder.Show(study.policies[p], std::to_string(count.of_policy[p]));
    builder.Raw("gaining_" + study.policies[p], count.of_policy[p]);
  }
}

}  // namespace

std::optional<size_t> GainReference(const Study& study) {
  for (const std::string& name : {std::string(kHalfPrecision), study.baseline}) {
    const auto found = std::ranges::find(study.policies, name);
    if (found != study.policies.end()) {
      return static_cast<size_t>(found - study.policies.begin());
    }
  }
  return {};
}

std::vector<bool> GainingAt(const Study& study, const Place& place, size_t reference) {
  std::vector<bool> gaining(study.policies.size());
  if (place.outcomes[reference].planned == 0) return gaining;
  for (size_t p = 0; p < gaining.size(); ++p) {
    if (p == reference || place.outcomes[p].planned == 0) continue;
    const Speedup speedup = SpeedupOf(study, place, p, reference);
    gaining[p] =
        speedup.known() && speedup.ratio >= kLeastGain && StandingOf(speedup) == Standing::kSooner;
  }
  return gaining;
}

StudyTable GainsTable(const Study& study, const std::vector<Place>& places) {
  const std::optional<size_t> reference = GainReference(study);
  if (!reference || !study.target || study.policies.size() < 2) return {};
  TableBuilder builder(
      "gains", fmt::format("Set-ups in which a method reaches the target sooner than {} by 5 % or "
                           "more, beyond the differences between seeds; shorter steps: those in "
                           "which a step of some method is shorter by as much",
                           study.policies[*reference]));
  AddRow(study, *reference, "all", "", "",
         CountGains(study, places, *reference, [](const Place&) { return true; }), builder);
  for (size_t a = 0; a < study.axes.size(); ++a) {
    const StudyAxis& axis = study.axes[a];
    if (axis.values.size() < 2) continue;
    for (size_t v = 0; v < axis.values.size(); ++v) {
      const auto of_value = [&](const Place& place) { return place.values[a] == v; };
      AddRow(study, *reference, ShowAxisName(axis), axis.values[v], ShowValue(axis, v),
             CountGains(study, places, *reference, of_value), builder);
    }
  }
  return builder.Take();
}

}  // namespace legacy::analysis
