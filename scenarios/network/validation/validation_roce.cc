// The validation section that compares RoCEv2 with results of ASTRA-sim's RDMA model, closed forms,
// and what papers say.
#include "analysis/recorded_table.h"
#include "base/error.h"
#include "ns3-module/helper/roce-anchors.h"
#include "scenarios/network/validation/roce_checks.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace roce_validation {

RoceChecks Anchors() {
  RoceChecks checks("anchor");
  for (const fabric::RoceAnchor& anchor : fabric::RoceAnchors()) {
    const std::string allowed = FormatFixed(100 * anchor.tolerance, 1) + " %" +
                                (anchor.pauses > 0 ? ", pauses within a factor of 2" : "");
    checks.Add(
        anchor.name, "ns", allowed, 0,
        [anchor] {
          const fabric::RoceAnchorResult ours = fabric::RunRoceAnchor(anchor);
          return RoceFigure{static_cast<double>(ours.time), static_cast<double>(anchor.published),
                            ours.Holds(anchor)};
        },
        anchor.bytes <= 1'000'000);
  }
  return checks;
}

}  // namespace roce_validation

namespace {

using roce_validation::RoceCheck;
using roce_validation::RoceChecks;
using roce_validation::RoceFigure;

ValidationRow RowOf(const RoceCheck& check) {
  const RoceFigure done = check.run();
  const bool sum = done.expected != 0;
  return {check.name,
          check.part,
          check.quantity,
          FormatFixed(done.ours, check.decimals),
          FormatFixed(done.expected, check.decimals),
          sum ? FormatFixed(100 * (done.ours / done.expected - 1), 2) : "-",
          check.target,
          done.holds ? "yes" : "no"};
}

// Returns the rows of one part, with the columns that its table shows.
ValidationTable TableOf(const std::string& name, const std::string& part,
                        const ValidationTable& all, const ValidationRow& columns,
                        const std::vector<int>& shown) {
  ValidationTable table{name, columns, {}};
  for (const ValidationRow& row : all.rows) {
    if (row[1] != part) continue;
    ValidationRow one;
    for (const int column : shown) one.push_back(row[column]);
    table.rows.push_back(one);
  }
  return table;
}

}  // namespace

SectionResult ValidateRoce(const SectionRun& run) {
  std::vector<RoceCheck> checks;
  for (const RoceChecks& part : {roce_validation::Anchors(), roce_validation::ClosedForms(),
                                 roce_validation::PublishedTrends(), roce_validation::Trains()}) {
    checks.insert(checks.end(), part.All().begin(), part.All().end());
  }
  if (run.sample) std::erase_if(checks, [](const RoceCheck& check) { return !check.quick; });
  std::vector<std::string> names;
  for (const RoceCheck& check : checks) names.push_back(check.name);
  SectionResult result;
  result.csv = {
      "roce",
      {"case", "part", "quantity", "ours", "expected", "ours - expected (%)", "target", "holds"},
      ForkRows(run, names, [&](int i) { return RowOf(checks[i]); })};
  for (const ValidationRow& row : result.csv.rows) {
    result.Expect(row[7] == "yes", "roce: " + row[0] + ": " + row[3] + " " + row[2] + ", target " +
                                       row[6] + " of " + row[4]);
  }
  result.document = {TableOf("roce-anchors", "anchor", result.csv,
                             {"case", "ours (ns)", "ASTRA-sim (ns)", "difference (%)", "allowed"},
                             {0, 3, 4, 5, 6}),
                     TableOf("roce-forms", "form", result.csv,
                             {"case", "quantity", "ours", "expected", "difference (%)", "allowed"},
                             {0, 2, 3, 4, 5, 6}),
                     TableOf("roce-trends", "trend", result.csv,
                             {"case", "quantity", "ours", "target", "holds"}, {0, 2, 3, 6, 7}),
                     TableOf("roce-trains", "train", result.csv,
                             {"case", "quantity", "train=8", "train=1", "difference (%)", "target"},
                             {0, 2, 3, 4, 5, 6})};
  return result;
}

}  // namespace legacy
