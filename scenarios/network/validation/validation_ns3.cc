// Validation sections that compare the packet engine with published figures, and those of RoCEv2.
#include "scenarios/network/validation/validation_ns3.h"

#include <cmath>

#include "base/units.h"
#include "ns3-module/helper/reference-cases.h"
#include "scenarios/network/engines/packets_inside.h"
#include "scenarios/network/validation/validation.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

constexpr double kMathisPercent = 20;

}  // namespace

SectionResult ValidateSimGrid(const SectionRun& run) {
  SectionResult result;
  result.csv = {"simgrid", {"transfer", "bytes", "SimGrid publishes (s)", "measured (s)"}, {}};
  const std::vector<std::string> names{"onelink", "Tremblay-Jupiter", "Fafard-Ginette"};
  result.csv.rows = ForkRows(run, names, [](int i) {
    const fabric::SimGridResult one = fabric::RunSimGridCases().at(i);
    return ValidationRow{one.name, std::to_string(one.bytes), FormatFixed(one.published, 6),
                         FormatFixed(one.measured, 6)};
  });
  for (const ValidationRow& row : result.csv.rows) {
    result.Expect(row[2] == row[3], "simgrid: " + row[0] + " takes " + row[3] + " s");
  }
  result.document = {result.csv};
  return result;
}

SectionResult ValidateMathis(const SectionRun& run) {
  std::vector<fabric::MathisCase> cases = fabric::MathisCases();
  if (run.sample) cases.resize(1);
  std::vector<std::string> names;
  for (const fabric::MathisCase& one : cases) {
    names.push_back("loss " + FormatFixed(one.lossRate, 4) + ", round trip " +
                    FormatTime(one.roundTrip));
  }
  SectionResult result;
  result.csv = {"mathis", {"case", "goodput (Mbit/s)", "formula (Mbit/s)", "difference (%)"}, {}};
  result.csv.rows = ForkRows(run, names, [&](int i) {
    const fabric::MathisResult one = fabric::RunMathisCase(cases[i]);
    return ValidationRow{names[i], FormatFixed(one.goodputBps * 1e-6, 3),
                         FormatFixed(one.formulaBps * 1e-6, 3),
                         FormatFixed(100 * (one.goodputBps / one.formulaBps - 1), 1)};
  });
  for (const ValidationRow& row : result.csv.rows) {
    result.Expect(std::abs(std::stod(row[3])) <= kMathisPercent,
                  "mathis: " + row[0] + " is off by " + row[3] + " %");
  }
  result.document = {result.csv};
  return result;
}

void UseNs3() {
  SetPacketSource(PacketsInside);
  AddValidationSection("simgrid", ValidateSimGrid);
  AddValidationSection("mathis", ValidateMathis);
  AddValidationSection("roce", ValidateRoce);
}

}  // namespace legacy
