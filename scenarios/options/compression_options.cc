// Options of compression.
#include "compress/policies/legacy_table.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

void CheckVolume(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"elements", "bytes", "off"});
}
void CheckLegacySchedule(const std::string& text, const std::string&) {
  if (!text.empty()) ParseSchedule(text, ScheduleUnit::kFraction);
}
void CheckPhaseBounds(const std::string& text, const std::string&) {
  ParsePhaseBounds(text, kMany / 2);
}
void CheckIndex(const std::string& text, const std::string& key) {
  ParseChoice(text, key, {"auto", "u16", "u32", "bitmap", "packed", "delta"});
}

ScenarioOption Policies() {
  return {"compression.policies",
          "--policies",
          "A,B,...",
          "policies to compare, on the same batches: " + Join(BuiltInMethods(), ", "),
          [](Scenario& s, const std::string& k, const std::string& text) {
            s.policies = SplitList(text);
            if (s.policies.empty()) throw Error(k, text, Join(BuiltInMethods(), ", "));
          },
          [](const Scenario& s) { return Join(s.policies, ","); }};
}

}  // namespace

std::vector<ScenarioOption> OptionsOfCompression() {
  return {
      Policies(),
      Fraction<&Scenario::density>("compression.density", "--density",
                                   "average density of the sparse policies, over layers and steps"),
      Text<&Scenario::legacy_schedule, CheckLegacySchedule>(
          "compression.levels", "--levels", "10%,0.5%/1%,0.05%",
          "LEGACY's densities: sizes by ',' (small first), phases by '/'; "
          "default: solved from the density"),
      Integers<&Scenario::splits>("compression.splits", "--splits",
                                  "LEGACY's sizes in elements; default: the size below which "
                                  "split-share of the elements lie"),
      Fraction<&Scenario::split_share>("compression.split_share", "--split-share",
                                       "share of the elements below LEGACY's default split"),
      Text<&Scenario::phase_bounds, CheckPhaseBounds>(
          "compression.phase_bounds", "--phase-bounds", "100,200|30%,60%",
          "steps, or parts of the training, at which LEGACY's phases end; default: equal phases"),
      Switch<&Scenario::closed_right>("compression.closed_right", "--closed-right",
                                      "the step on a bound belongs to the phase that ends there"),
      Text<&Scenario::volume, CheckVolume>(
          "compression.volume", "--volume", "elements|bytes|off",
          "LEGACY's levels are scaled to the average volume of "
          "the density, counted so; off: taken as they are; bytes: "
          "anchors of adaptive policies too, by pilot trainings"),
      Switch<&Scenario::error_feedback>("compression.error_feedback", "--error-feedback",
                                        "keep what was not sent and add it to the next gradient"),
      Switch<&Scenario::rescale_residuals>("compression.rescale_residuals", "--rescale-residuals",
                                           "rescale residuals when the learning rate changes"),
      Text<&Scenario::index, CheckIndex>("compression.index", "--index", "CODING",
                                         "coding of positions: auto (shortest of fixed length), "
                                         "u16, u32, bitmap, packed, delta"),
  };
}

}  // namespace legacy
