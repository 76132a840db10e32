// The validation section that compares our engines with the Linux kernel's TCP.
#include <algorithm>
#include <cmath>

#include "scenarios/network/validation/linux_cases.h"
#include "scenarios/network/validation/validation_sections.h"

namespace legacy {
namespace {

// Targets: median and 90th percentile of the errors in percent, and the largest factor.
constexpr double kLinuxMedianPercent = 5;
constexpr double kNinthPercent = 15;
constexpr double kWorstFactor = 2;
// Messages of fewer frames say more about the token buckets of the measurement than about TCP.
constexpr double kFewFrames = 30;

enum LinuxColumn {
  kLinuxName,
  kLinuxClass,
  kLinuxMeasured,
  kLinuxPacket,
  kLinuxPacketRatio,
  kLinuxFlow,
  kLinuxFlowRatio
};

std::string ClassOf(const LinuxCase& one) {
  if (!one.NotSimulated().empty()) return "not simulated";
  if (one.smallest_frames < kFewFrames && one.shaped_hosts) return "few frames";
  return one.shaped_hosts ? "collectives" : "wide area";
}

ValidationRow LinuxRow(const LinuxCase& one) {
  ValidationRow row{one.name, ClassOf(one), FormatFixed(one.seconds, 6)};
  if (!one.NotSimulated().empty()) {
    row.insert(row.end(), {"", "", "", ""});
    return row;
  }
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow}) {
    const double seconds = SimulateLinuxCase(one, fidelity);
    row.push_back(FormatFixed(seconds, 6));
    row.push_back(FormatFixed(seconds / one.seconds, 3));
  }
  return row;
}

// Returns how far a ratio is from 1, as a factor of at least 1.
double Factor(const ValidationRow& row, int column) {
  const double ratio = std::stod(row[column]);
  return std::max(ratio, 1 / ratio);
}

double PercentOf(double factor) { return 100 * (factor - 1); }

// Errors of some rows at one fidelity, ascending.
struct Errors {
  std::vector<double> factors;
  std::string worst;
};

Errors ErrorsOf(const std::vector<ValidationRow>& rows, int column) {
  Errors errors;
  double largest = 0;
  for (const ValidationRow& row : rows) {
    errors.factors.push_back(Factor(row, column));
    if (errors.factors.back() > largest) {
      largest = errors.factors.back();
      errors.worst = row[kLinuxName];
    }
  }
  std::ranges::sort(errors.factors);
  return errors;
}

double QuantileOf(const Errors& errors, double part) {
  const auto rank =
      static_cast<size_t>(std::ceil(part * static_cast<double>(errors.factors.size())));
  return errors.factors[std::max<size_t>(rank, 1) - 1];
}

void SummariseLinux(SectionResult& result) {
  ValidationTable summary{"linux-summary",
                          {"rows", "cases", "fidelity", "median (%)", "90th percentile (%)",
                           "worst (factor)", "worst case"},
                          {}};
  for (const std::string name : {"all", "collectives", "few frames", "wide area"}) {
    std::vector<ValidationRow> rows;
    for (const ValidationRow& row : result.csv.rows) {
      if (row[kLinuxClass] == name || (name == "all" && !row[kLinuxPacket].empty()))
        rows.push_back(row);
    }
    for (const auto& [fidelity, column] :
         {std::pair("packet", kLinuxPacketRatio), std::pair("flow", kLinuxFlowRatio)}) {
      const Errors errors = ErrorsOf(rows, column);
      const double median = PercentOf(QuantileOf(errors, 0.5));
      const double ninth = PercentOf(QuantileOf(errors, 0.9));
      const double worst = errors.factors.back();
      summary.rows.push_back({name, std::to_string(rows.size()), fidelity, FormatFixed(median, 1),
                              FormatFixed(ninth, 1), FormatFixed(worst, 2), errors.worst});
      if (name != "all") continue;
      const std::string what = "linux: " + std::string(fidelity);
      if (median > kLinuxMedianPercent) {
        result.misses.push_back(what + ": median error " + FormatFixed(median, 1) + " %");
      }
      if (ninth > kNinthPercent) {
        result.misses.push_back(what + ": 90th percentile " + FormatFixed(ninth, 1) + " %");
      }
      if (worst > kWorstFactor) {
        result.misses.push_back(what + ": off by a factor of " + FormatFixed(worst, 2) + " in " +
                                errors.worst);
      }
    }
  }
  constexpr size_t kWorst = 12;
  ValidationTable worst{"linux-worst", result.csv.columns, {}};
  for (const ValidationRow& row : result.csv.rows) {
    if (!row[kLinuxPacket].empty()) worst.rows.push_back(row);
  }
  const auto both = [](const ValidationRow& row) {
    return std::max(Factor(row, kLinuxPacketRatio), Factor(row, kLinuxFlowRatio));
  };
  std::ranges::stable_sort(worst.rows, [&](const ValidationRow& a, const ValidationRow& b) {
    return both(a) > both(b);
  });
  worst.rows.resize(std::min(worst.rows.size(), kWorst));
  result.document = {summary, worst};
}

}  // namespace

SectionResult ValidateLinux(const SectionRun& run) {
  std::vector<LinuxCase> cases = LinuxCases();
  if (run.sample) {
    // Incasts into short queues depend on the last bit of the C library.
    std::erase_if(
        cases, [](const LinuxCase& one) { return one.bytes > 100'000 || one.operation == "ps"; });
  }
  std::vector<std::string> names;
  for (const LinuxCase& one : cases) names.push_back(one.name);
  SectionResult result;
  result.csv = {"linux",
                {"case", "class", "measured (s)", "packet (s)", "packet / measured", "flow (s)",
                 "flow / measured"},
                {}};
  result.csv.rows = ForkRows(run, names, [&](int i) { return LinuxRow(cases[i]); });
  if (!run.sample) SummariseLinux(result);
  return result;
}

}  // namespace legacy
