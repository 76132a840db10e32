#include "scenarios/federated/plan_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/run_directory.h"
#include "base/error.h"
#include "scenarios/federated/plan_report.h"
#include "scenarios/federated/plan_rows.h"

namespace legacy {
namespace {

using fabric::kNever;
using fabric::TaskFate;
using fabric::TimeNs;

constexpr const char* kPolicy = "plan";

template <class Row>
std::string LineOf(Row row, const PlanRequest& request) {
  row.policy = kPolicy;
  row.seed = request.seed;
  return analysis::RowLine(row);
}

// Tasks of a round that are drawn: those with records, evenly chosen and by end.
std::vector<const fabric::TaskRow*> DrawnTasks(const Plan& plan, const PlannedRound& round,
                                               size_t most) {
  std::vector<const fabric::TaskRow*> tasks;
  const auto end =
      std::min<int64_t>(round.first_task + round.tasks, static_cast<int64_t>(plan.tasks.size()));
  for (int64_t i = round.first_task; i < end; ++i) tasks.push_back(&plan.tasks[i]);
  std::stable_sort(tasks.begin(), tasks.end(),
                   [](const auto* a, const auto* b) { return a->times.ended < b->times.ended; });
  if (tasks.size() <= most) return tasks;
  std::vector<const fabric::TaskRow*> chosen;
  for (size_t i = 0; i < most; ++i) {
    chosen.push_back(tasks[i * (tasks.size() - 1) / (most - 1)]);
  }
  return chosen;
}

// Part of a task's bar: a stage with its begin and end.
struct Bar {
  int stage = 0;  // 0 download, 1 work, 2 upload
  TimeNs from = 0;
  TimeNs until = 0;
};

std::vector<Bar> BarsOf(const fabric::TaskRow& task) {
  const fabric::TaskTimes& times = task.times;
  std::vector<Bar> bars{{0, times.dispatched, std::min(times.downloaded, times.ended)}};
  if (times.downloaded != kNever) {
    bars.push_back({1, times.downloaded, std::min(times.worked, times.ended)});
  }
  if (times.worked != kNever) bars.push_back({2, times.worked, times.ended});
  return bars;
}

// Time that a chart begins with: asynchronous tasks begin before their round.
TimeNs ChartStart(const std::vector<const fabric::TaskRow*>& tasks, const PlannedRound& round) {
  TimeNs start = round.row.start;
  for (const auto* task : tasks) start = std::min(start, task->times.dispatched);
  return start;
}

}  // namespace

std::string RoundsCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::RoundRow>();
  for (const PlannedRound& round : plan.rounds) text += LineOf(RowOf(round), request);
  return text;
}

std::string TasksCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::TaskRow>();
  const ClientWork& work = request.work;
  for (const fabric::TaskRow& task : plan.tasks) {
    TaskFigures figures;
    figures.samples = request.population.SamplesOf(task.client);
    if (!work.step_seconds.empty()) {
      figures.local_steps =
          work.local_steps > 0 ? work.local_steps : (figures.samples + work.batch - 1) / work.batch;
    }
    text += LineOf(RowOf(task, figures), request);
  }
  return text;
}

std::string ClientsCsv(const PlanRequest& request, const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::ClientRow>();
  for (size_t number = 0; number < plan.clients.size(); ++number) {
    text += LineOf(RowOf(request, plan, static_cast<int64_t>(number)), request);
  }
  return text;
}

std::string LinksCsv(const Plan& plan) {
  std::string text = analysis::HeaderLine<analysis::LinkRow>();
  for (const analysis::LinkRow& row : plan.links) text += analysis::RowLine(row);
  return text;
}

const PlannedRound& GanttRound(const Plan& plan, int64_t wanted) {
  const auto kept = static_cast<int64_t>(plan.tasks.size());
  std::vector<std::pair<TimeNs, size_t>> rounds;
  for (size_t i = 0; i < plan.rounds.size(); ++i) {
    const PlannedRound& round = plan.rounds[i];
    if (round.first_task + round.tasks <= kept) {
      rounds.emplace_back(round.row.end - round.row.start, i);
    }
  }
  if (rounds.empty() || wanted > static_cast<int64_t>(rounds.size())) {
    throw Error("--gantt", std::to_string(wanted),
                rounds.empty() ? "no round, as none ended"
                               : "a round from 1 to " + std::to_string(rounds.size()));
  }
  if (wanted > 0) return plan.rounds[rounds[static_cast<size_t>(wanted) - 1].second];
  std::sort(rounds.begin(), rounds.end());
  return plan.rounds[rounds[(rounds.size() - 1) / 2].second];
}

std::string GanttText(const Plan& plan, const PlannedRound& round, int rows) {
  constexpr int kColumns = 90;
  constexpr char kStages[] = {'<', '=', '>'};
  const auto tasks = DrawnTasks(plan, round, static_cast<size_t>(rows));
  const TimeNs start = ChartStart(tasks, round);
  const double span = std::max(1.0, static_cast<double>(round.row.end - start));
  const auto column = [&](TimeNs time) {
    return std::clamp(static_cast<int>(kColumns * (static_cast<double>(time - start) / span)), 0,
                      kColumns);
  };
  std::string text = fmt::format(
      "Round {}: {} tasks in {:.4g} s, {} shown in the order of their ends\n"
      "< download   = work   > upload   x not counted\n",
      round.row.version, round.tasks, Seconds(round.row.end - round.row.start), tasks.size());
  for (const auto* task : tasks) {
    std::string line(kColumns + 1, ' ');
    for (const Bar& bar : BarsOf(*task)) {
      const int from = column(bar.from);
      const int until = std::max(column(bar.until), from + (bar.until > bar.from ? 1 : 0));
      for (int i = from; i < std::min(until, kColumns); ++i) {
        line[static_cast<size_t>(i)] = kStages[bar.stage];
      }
    }
    if (task->fate != TaskFate::Counted) {
      line[static_cast<size_t>(std::min(column(task->times.ended), kColumns))] = 'x';
    }
    text += fmt::format("{:>8} |{}| {}\n", task->client, line, fabric::NameOf(task->fate));
  }
  return text;
}

std::string GanttSvg(const Plan& plan, const PlannedRound& round) {
  constexpr size_t kMostTasks = 200;
  constexpr double kWidth = 900, kLeft = 80, kRight = 20, kTop = 40, kBottom = 50;
  constexpr const char* kColours[] = {"#4477AA", "#CCBB44", "#228833"};
  constexpr const char* kNames[] = {"download", "work", "upload"};
  const auto tasks = DrawnTasks(plan, round, kMostTasks);
  const TimeNs start = ChartStart(tasks, round);
  const double span = std::max(1.0, static_cast<double>(round.row.end - start));
  const double row_height =
      std::clamp(600.0 / std::max<double>(1, static_cast<double>(tasks.size())), 3.0, 16.0);
  const double height = kTop + row_height * static_cast<double>(tasks.size()) + kBottom;
  const auto x = [&](TimeNs time) {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(time - start) / span;
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\">Round {3}: {4} tasks in {5:.4g} s</text>\n",
      kWidth, height, kLeft, round.row.version, round.tasks,
      Seconds(round.row.end - round.row.start));
  for (int stage = 0; stage < 3; ++stage) {
    svg += fmt::format(
        "<rect x=\"{0}\" y=\"9\" width=\"12\" height=\"12\" fill=\"{1}\"/>"
        "<text x=\"{2}\" y=\"19\">{3}</text>\n",
        kWidth - 290 + 90 * stage, kColours[stage], kWidth - 274 + 90 * stage, kNames[stage]);
  }
  for (size_t i = 0; i < tasks.size(); ++i) {
    const fabric::TaskRow& task = *tasks[i];
    const double y = kTop + row_height * static_cast<double>(i);
    const bool counted = task.fate == TaskFate::Counted;
    for (const Bar& bar : BarsOf(task)) {
      svg += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n",
          x(bar.from), y, std::max(0.0, x(bar.until) - x(bar.from)), 0.85 * row_height,
          kColours[bar.stage], counted ? "" : " opacity=\"0.4\"");
    }
    if (row_height >= 9) {
      svg += fmt::format(
          "<text x=\"{:.0f}\" y=\"{:.2f}\" text-anchor=\"end\" font-size=\"9\">{}</text>\n",
          kLeft - 6, y + 0.75 * row_height, task.client);
    }
    if (!counted) {
      svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"9\">{}</text>\n",
                         std::min(x(task.times.ended) + 2, kWidth - 55), y + 0.8 * row_height,
                         row_height >= 9 ? fabric::NameOf(task.fate) : "");
    }
  }
  const double axis = kTop + row_height * static_cast<double>(tasks.size()) + 4;
  constexpr int kTicks = 5;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double at = kLeft + (kWidth - kLeft - kRight) * tick / kTicks;
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#444\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:.4g}</text>\n",
        at, axis, axis + 5, axis + 18, span * 1e-9 * tick / kTicks);
  }
  svg +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">seconds</text>\n</svg>\n",
                  (kLeft + kWidth - kRight) / 2, axis + 36);
  return svg;
}

}  // namespace legacy
