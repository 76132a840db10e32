#include "scenarios/network/sweep_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "analysis/table_text.h"
#include "scenarios/network/compared_results.h"

namespace legacy {
namespace {

constexpr size_t kLeastText = 8;  // characters that shortening leaves of a swept value

// Returns a line without trailing spaces.
std::string WithoutEnd(std::string line) { return line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

SweepTable::SweepTable(std::vector<std::string> swept, const std::vector<ExperimentOptions>& points,
                       std::vector<Fidelity> fidelities, size_t columns)
    : swept_(std::move(swept)), fidelities_(std::move(fidelities)) {
  for (const std::string& name : swept_) {
    size_t width = DisplayWidth(name);
    for (const ExperimentOptions& point : points) {
      width = std::max(
          width,
          DisplayWidth(
              OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "--sweep").get(point)));
    }
    widths_.push_back(width);
  }
  const auto total = [this] {
    return DisplayWidth(Line(swept_, "", [](Fidelity) { return Cells{}; }));
  };
  beside_ = fidelities_.size() == 1 || total() <= columns;
  while (total() > columns) {
    const auto widest = std::ranges::max_element(widths_);
    if (*widest <= kLeastText) break;
    --*widest;
  }
}

std::string SweepTable::Line(const std::vector<std::string>& values, const std::string& fidelity,
                             const std::function<Cells(Fidelity)>& cells) const {
  std::string line;
  const auto add = [&](const std::string& cell, size_t width) {
    line += fmt::format("{}{:>{}}", line.empty() ? "" : "  ", cell, width);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    add(analysis::Shorten(values[i], widths_[i]), widths_[i]);
  }
  const bool compared = fidelities_.size() > 1;
  if (!beside_) add(fidelity, 8);
  const Fidelity reference = ReferenceOf(fidelities_);
  for (const Fidelity each : fidelities_) {
    const Cells of_one = cells(each);
    add(of_one.time, 9);
    add(of_one.rate, 12);
    if (compared && (!beside_ || each != reference)) add(of_one.difference, 10);
    if (!beside_) break;
  }
  return line;
}

std::string SweepTable::Header() const {
  const std::string line = Line(swept_, "fidelity", [this](Fidelity fidelity) {
    return Cells{beside_ ? NameOf(fidelity) : "time", "algbw", "difference"};
  });
  return line + "\n";
}

std::string SweepTable::Lines(const ExperimentOptions& options, const PreparedExperiment& prepared,
                              const std::vector<Measurement>& measurements) const {
  std::vector<std::string> values;
  for (const std::string& name : swept_) {
    values.push_back(
        OptionNamed(ExperimentRows(), name, OptionNames::kFlags, "--sweep").get(options));
  }
  const auto cells = [&](Fidelity fidelity) -> Cells {
    const std::vector<const Measurement*> at = MeasurementsAt(measurements, fidelity);
    if (at.empty()) return {};
    const double time = TimesOf(at).mean;
    const int64_t bytes = prepared.experiment.HasFlows()
                              ? 0
                              : CollectiveBytes(prepared.experiment, prepared.algorithm);
    const std::optional<double> difference = DifferenceOf(prepared, measurements, *at.front());
    return {TimeText(time),
            bytes > 0 && time > 0 ? RateText(8 * static_cast<double>(bytes) / time) : "-",
            difference ? DifferenceText(difference) : ""};
  };
  std::string text;
  if (beside_) return WithoutEnd(Line(values, "", cells)) + "\n";
  for (const Fidelity fidelity : prepared.experiment.fidelities) {
    const std::string line =
        Line(values, NameOf(fidelity), [&](Fidelity) { return cells(fidelity); });
    text += WithoutEnd(line) + "\n";
  }
  return text;
}

}  // namespace legacy
