#include "scenarios/published/whole_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/number.h"
#include "scenarios/published/published_steps.h"
#include "scenarios/run/one_step.h"

namespace legacy {
namespace {

// An Aim says what the errors of a class of rows are to be (median, nine of ten), and what they are
// held to where that is not reached yet: the figures of docs/results/whole-steps.md, rounded up.
struct Aim {
  const char* level;
  double median, most;            // aims
  double held_median, held_most;  // limits
};
constexpr Aim kAims[] = {{"A", 0.12, 0.25, 0.20, 0.60}, {"B", 0.15, 0.30, 0.25, 0.70}};
constexpr int64_t kQuick = 8;        // most devices of the rows of a sample
constexpr double kRight = 0.9;       // part of the pairs of a family whose order is to be right
constexpr double kDifferent = 0.05;  // pairs that differ by less have no order

// A TimedStep is a row that was timed.
struct TimedStep {
  const PublishedStep* published;
  analysis::StepRow row;

  // Returns the logarithm of ours over theirs.
  double Error() const { return std::log(row.step_seconds / published->seconds); }
};

std::string Percent(double logarithm) { return FormatFixed(100 * std::expm1(logarithm), 1); }

// Returns the parts of a step that computing and transfers take.
std::string PartsOf(const analysis::StepRow& row) {
  const double compute = row.compute_seconds / row.step_seconds;
  return fmt::format("computing {:.0f} %, transfers {:.0f} %", 100 * compute,
                     100 * row.communication_seconds / row.step_seconds);
}

ValidationTable RowsOf(const std::vector<PublishedStep>& steps,
                       const std::vector<TimedStep>& timed) {
  ValidationTable table{
      .name = "whole-steps",
      .columns = {"step", "class", "device", "devices", "precision", "published (s)",
                  "simulated (s)", "error (%)", "of it", "assumed, or why it is not timed"},
      .rows = {}};
  auto next = timed.begin();  // timed steps are in the order of the rows
  for (const PublishedStep& step : steps) {
    ValidationRow row = {step.id,        step.level,
                         step.device,    std::to_string(step.devices),
                         step.precision, step.seconds > 0 ? FormatNumber(step.seconds) : "-"};
    if (step.not_timed.empty()) {
      row.insert(row.end(), {fmt::format("{:.4g}", next->row.step_seconds), Percent(next->Error()),
                             PartsOf(next->row), step.missing});
      ++next;
    } else {
      row.insert(row.end(), {"-", "-", "-", "not timed: " + step.not_timed});
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Errors are the sizes of logarithms, ascending.
std::vector<double> Errors(const std::vector<TimedStep>& timed, const auto& belongs) {
  std::vector<double> errors;
  for (const TimedStep& one : timed) {
    if (belongs(one)) errors.push_back(std::abs(one.Error()));
  }
  std::ranges::sort(errors);
  return errors;
}

double At(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(std::floor(part * last + 0.5))];
}

ValidationRow SummaryRow(const std::string& name, const std::vector<double>& errors) {
  return {name, std::to_string(errors.size()), Percent(At(errors, 0.5)), Percent(At(errors, 0.9)),
          Percent(errors.back())};
}

// An Order counts pairs of a family that differ by 5 % or more, and those of them in which the same
// step is the longer one here.
struct Order {
  int pairs = 0, right = 0;
};

Order OrderOf(const std::vector<TimedStep>& timed) {
  Order order;
  for (size_t i = 0; i < timed.size(); ++i) {
    for (size_t j = i + 1; j < timed.size(); ++j) {
      if (timed[i].published->Family() != timed[j].published->Family()) continue;
      const double theirs = timed[i].published->seconds / timed[j].published->seconds;
      if (std::abs(std::log(theirs)) < kDifferent) continue;
      ++order.pairs;
      order.right += (theirs > 1) == (timed[i].row.step_seconds > timed[j].row.step_seconds);
    }
  }
  return order;
}

ValidationTable SummaryOf(const std::vector<TimedStep>& timed) {
  ValidationTable table{
      .name = "whole-steps-summary",
      .columns = {"rows", "number", "median error (%)", "nine of ten within (%)", "largest (%)"},
      .rows = {}};
  for (const char* level : {"A", "B", "C"}) {
    const std::vector<double> errors =
        Errors(timed, [&](const TimedStep& one) { return one.published->level == level; });
    if (!errors.empty()) table.rows.push_back(SummaryRow("class " + std::string(level), errors));
  }
  const std::vector<double> one_device =
      Errors(timed, [](const TimedStep& one) { return one.published->devices == 1; });
  table.rows.push_back(SummaryRow("one device", one_device));
  table.rows.push_back(SummaryRow("several devices", Errors(timed, [](const TimedStep& one) {
                                    return one.published->devices > 1;
                                  })));
  std::set<std::string> families;
  for (const TimedStep& one : timed) families.insert(one.published->Family());
  for (const std::string& family : families) {
    table.rows.push_back(SummaryRow(family, Errors(timed, [&](const TimedStep& one) {
                                      return one.published->Family() == family;
                                    })));
  }
  return table;
}

// Returns the aims, whether each is reached, and holds figures to their limits.
ValidationTable AimsOf(const std::vector<TimedStep>& timed, SectionResult& result) {
  ValidationTable table{.name = "whole-steps-aims",
                        .columns = {"aim", "wanted (%)", "here (%)", "reached"},
                        .rows = {}};
  const auto add = [&](const std::string& name, double wanted, double here, bool reached,
                       bool held) {
    table.rows.push_back(
        {name, FormatFixed(100 * wanted, 0), FormatFixed(100 * here, 1), reached ? "yes" : "no"});
    result.Expect(held, fmt::format("whole-steps: {}: {:.1f} %", name, 100 * here));
  };
  for (const Aim& aim : kAims) {
    const std::vector<double> errors =
        Errors(timed, [&](const TimedStep& one) { return one.published->level == aim.level; });
    const double median = std::expm1(At(errors, 0.5)), most = std::expm1(At(errors, 0.9));
    const std::string rows = fmt::format("class {}: ", aim.level);
    add(rows + "median error", aim.median, median, median <= aim.median, median <= aim.held_median);
    add(rows + "nine of ten within", aim.most, most, most <= aim.most, most <= aim.held_most);
  }
  const Order order = OrderOf(timed);
  const double right = static_cast<double>(order.right) / order.pairs;
  add("order of two steps of a family right", kRight, right, right >= kRight, right >= kRight);
  return table;
}

}  // namespace

SectionResult ValidateWholeSteps(const SectionRun& run) {
  constexpr size_t kProgress = 50;  // rows between two lines of progress
  std::vector<PublishedStep> steps = ReadPublishedSteps(PublishedStepsPath());
  if (run.sample) std::erase_if(steps, [](const auto& step) { return step.devices > kQuick; });
  std::vector<TimedStep> timed;
  for (const PublishedStep& step : steps) {
    if (step.not_timed.empty()) timed.push_back({&step, TimeOneStep(step.ToScenario())});
    const size_t done = &step - steps.data() + 1;
    if (done % kProgress == 0) run.progress(fmt::format("{} of {}", done, steps.size()));
  }
  SectionResult result;
  result.csv = RowsOf(steps, timed);
  if (run.sample) return result;
  result.document = {AimsOf(timed, result), SummaryOf(timed), result.csv};
  return result;
}

}  // namespace legacy
