// The options of compression.
#include "compress/policies/legacy_table.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

void CheckLegacySchedule(const std::string& text, const std::string&) {
  if (!text.empty()) ParseSchedule(text, ScheduleUnit::kFraction);
}
void CheckPhaseBounds(const std::string& text, const std::string&) {
  ParsePhaseBounds(text, kMany / 2);
}

ScenarioOption Policies() {
  return Printed<&Scenario::policies>(
      "compression.policies", "--policies", "A,B,...",
      "methods to compare, on the same batches, and schemes with their parameters, as in "
      "topk+fp16@5%; --policies=list prints them",
      OptionKind::kText,
      [](const std::string& text, const std::string& k) {
        std::vector<std::string> policies = SplitList(text);
        if (policies.empty()) {
          throw Error(k, text, "methods, as in dense,topk; --policies=list prints them");
        }
        return policies;
      },
      [](const std::vector<std::string>& policies) { return Join(policies, ","); });
}

}  // namespace

std::vector<ScenarioOption> OptionsOfCompression() {
  std::vector<ScenarioOption> options = {
      WithAlias(Policies(), "--methods") | kUsual | kReadByClients,
      Fraction<&Scenario::density>("compression.density", "--density",
                                   "average density of sparse methods over layers and steps") |
          kUsual | kReadByClients,
      Text<&Scenario::legacy_schedule, CheckLegacySchedule>(
          "compression.levels", "--levels", "10%,0.5%/1%,0.05%",
          "LEGACY's densities: ',' separates layer sizes (small first), '/' separates phases "
          "(default: solved from the average density)") |
          kUsual | kReadByClients,
      Integers<&Scenario::splits>(
          "compression.splits", "--splits",
          "layer sizes, in elements, at which LEGACY's density changes (default: the size below "
          "which --split-share of the elements lie)") |
          kReadByClients,
      Fraction<&Scenario::split_share>(
          "compression.split_share", "--split-share",
          "share of all elements that lies in layers below LEGACY's default split") |
          kReadByClients,
      Text<&Scenario::phase_bounds, CheckPhaseBounds>(
          "compression.phase_bounds", "--phase-bounds", "100,200|30%,60%",
          "steps, or fractions of the training, at which LEGACY's phases end (default: phases of "
          "equal length)") |
          kReadByClients,
      Switch<&Scenario::closed_right>(
          "compression.closed_right", "--closed-right",
          "count a step on a phase bound to the phase that ends there") |
          kReadByClients,
      Text<&Scenario::volume>(
          "compression.volume", "--volume", "elements|bytes|off",
          "measure in which LEGACY's densities are scaled to the volume of the average density; "
          "bytes: also solve the anchors of adaptive policies, by pilot trainings; off: use the "
          "densities as given") |
          kReadByClients,
      Switch<&Scenario::error_feedback>(
          "compression.error_feedback", "--error-feedback",
          "use error feedback: add the residual to the next gradient") |
          kUsual,
      Switch<&Scenario::rescale_residuals>("compression.rescale_residuals", "--rescale-residuals",
                                           "rescale residuals when the learning rate changes"),
      Text<&Scenario::index>(
          "compression.index", "--index", "CODING",
          "coding of the positions of sparse messages: auto (the shortest of fixed length), u16, "
          "u32, bitmap, packed, delta") |
          kReadByClients,
  };
  AddToAll(options, kOfMethods);
  return options;
}

}  // namespace legacy
