#include "compress/policies/legacy_table_options.h"

#include <string>

#include "base/option_forms.h"

namespace legacy {
namespace {

void CheckLevels(const std::string& text, const std::string&) {
  if (!text.empty()) ParseSchedule(text, ScheduleUnit::kFraction);
}

// Steps, parts and epochs can be compared only in a training: bounds that are mixed are checked
// there again.
void CheckPhaseBounds(const std::string& text, const std::string&) {
  constexpr int64_t kLongEpoch = 1 << 20;
  ParsePhaseBounds(text, option_forms::kMany / 2, kLongEpoch);
}

}  // namespace

OptionTable<LegacyTable> LegacyTableOptions() {
  using namespace option_forms;
  return {
      Text<&LegacyTable::schedule, CheckLevels>(
          "levels", "--levels", "10%,0.5%/1%,0.05%",
          "LEGACY's densities: ',' separates layer sizes (small first), '/' separates phases "
          "(default: solved for the volume of the uniform parameter)"),
      Integers<&LegacyTable::splits>(
          "splits", "--splits",
          "layer sizes, in elements, at which LEGACY's density changes (default: the size below "
          "which --split-share of the elements lie)"),
      Fraction<&LegacyTable::split_share>(
          "split_share", "--split-share",
          "share of all elements that lies in layers below LEGACY's default split"),
      Text<&LegacyTable::phase_bounds, CheckPhaseBounds>(
          "phase_bounds", "--phase-bounds", "100,200|30%,60%|30ep,60ep",
          "steps, fractions of the training, or epochs, at which LEGACY's phases end (default: "
          "phases "
          "of equal length)"),
      Switch<&LegacyTable::closed_right>(
          "closed_right", "--closed-right",
          "count a step on a phase bound to the phase that ends there"),
      Text<&LegacyTable::volume>(
          "volume", "--volume", "elements|bytes|off",
          "measure in which LEGACY's densities are scaled to the volume of the uniform parameter; "
          "off: use them as given"),
  };
}

}  // namespace legacy
