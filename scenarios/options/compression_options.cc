// The options of compression.
#include "compress/policies/legacy_table_options.h"
#include "scenarios/options/option_forms.h"

namespace legacy {
namespace {

using namespace option_forms;

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

// Returns LEGACY's options, with what is known of them in trainings.
OptionTable<LegacyTable> OfTables() {
  OptionTable<LegacyTable> rows = LegacyTableOptions();
  for (Option<LegacyTable>& row : rows) {
    row.properties |= kReadByClients;
    if (row.key == "levels") row.properties |= kUsual;
    if (row.key == "volume") {
      row.help += "; bytes: also solve the anchors of adaptive policies, by pilot trainings";
    }
    row.key = "compression." + row.key;
  }
  return rows;
}

}  // namespace

std::vector<ScenarioOption> OptionsOfCompression() {
  std::vector<ScenarioOption> options = {
      WithAlias(Policies(), "--methods") | kUsual | kReadByClients,
      Fraction<&Scenario::density>("compression.density", "--density",
                                   "average density of sparse methods over layers and steps") |
          kUsual | kReadByClients};
  AddTableOfPart(
      options, OfTables(), [](auto& s) -> auto& { return s.legacy; });
  const std::vector<ScenarioOption> others = {
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
  options.insert(options.end(), others.begin(), others.end());
  AddToAll(options, kOfMethods);
  return options;
}

}  // namespace legacy
