#include "analysis/federated/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/number.h"

namespace legacy::analysis {
namespace {

// Tasks that are drawn, evenly chosen and by end.
std::vector<const TaskRow*> DrawnTasks(const RoundTasks& round, size_t most) {
  std::vector<const TaskRow*> tasks;
  for (const TaskRow& task : round.tasks) tasks.push_back(&task);
  std::ranges::stable_sort(tasks, {}, [](const TaskRow* task) { return task->ended; });
  if (tasks.size() <= most) return tasks;
  std::vector<const TaskRow*> chosen;
  for (size_t i = 0; i < most; ++i) {
    chosen.push_back(tasks[i * (tasks.size() - 1) / (most - 1)]);
  }
  return chosen;
}

// Part of a task's bar: a stage with its beginning and end.
struct Bar {
  int stage = 0;  // 0 download, 1 work, 2 upload
  double from = 0;
  double until = 0;
};

std::vector<Bar> BarsOf(const TaskRow& task) {
  std::vector<Bar> bars{
      {0, task.dispatched, std::min(task.downloaded.value_or(task.ended), task.ended)}};
  if (task.downloaded) {
    bars.push_back({1, *task.downloaded, std::min(task.worked.value_or(task.ended), task.ended)});
  }
  if (task.worked) bars.push_back({2, *task.worked, task.ended});
  return bars;
}

// Time that a chart begins with: asynchronous tasks begin before their round.
double ChartStart(const std::vector<const TaskRow*>& tasks, const RoundRow& round) {
  double start = round.start;
  for (const TaskRow* task : tasks) start = std::min(start, task->dispatched);
  return start;
}

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  }
  return escaped;
}

bool IsCounted(const TaskRow& task) { return task.end == "counted"; }

}  // namespace

size_t MedianPosition(std::span<const double> values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return values[i]; });
  return order[(order.size() - 1) / 2];
}

std::optional<RoundTasks> MedianRoundTasks(std::span<const RoundRow> rounds,
                                           std::span<const TaskRow> tasks) {
  std::vector<double> seconds;
  std::vector<size_t> ends;  // of each round's tasks
  size_t end = 0;
  for (const RoundRow& row : rounds) {
    bool known = true;
    for (const int64_t ended :
         {row.counted, row.late, row.lost, row.interrupted, row.cancelled, row.stale}) {
      known = known && static_cast<size_t>(ended) <= tasks.size() - end;
      if (known) end += static_cast<size_t>(ended);
    }
    if (!known) break;
    ends.push_back(end);
    seconds.push_back(row.end - row.start);
  }
  if (ends.empty()) return std::nullopt;
  const size_t chosen = MedianPosition(seconds);
  const size_t begin = chosen == 0 ? 0 : ends[chosen - 1];
  const auto own = tasks.subspan(begin, ends[chosen] - begin);
  return RoundTasks{rounds[chosen], {own.begin(), own.end()}};
}

std::string GanttText(const RoundTasks& round, int rows) {
  constexpr int kColumns = 90;
  constexpr char kStages[] = {'<', '=', '>'};
  const auto tasks = DrawnTasks(round, static_cast<size_t>(rows));
  const double start = ChartStart(tasks, round.round);
  const double span = std::max(1e-9, round.round.end - start);
  const auto column = [&](double time) {
    const double place = kColumns * ((time - start) / span);
    return place > 0 ? static_cast<int>(std::min<double>(place, kColumns)) : 0;
  };
  std::string text = fmt::format(
      "Round {}: {} tasks in {:.4g} s, {} shown in the order of their ends\n"
      "< download   = work   > upload   x not counted\n",
      round.round.version, round.tasks.size(), round.round.end - round.round.start, tasks.size());
  for (const auto* task : tasks) {
    std::string line(kColumns + 1, ' ');
    for (const Bar& bar : BarsOf(*task)) {
      const int from = column(bar.from);
      const int until = std::max(column(bar.until), from + (bar.until > bar.from ? 1 : 0));
      for (int i = from; i < std::min(until, kColumns); ++i) {
        line[static_cast<size_t>(i)] = kStages[bar.stage];
      }
    }
    if (!IsCounted(*task)) {
      line[static_cast<size_t>(std::min(column(task->ended), kColumns))] = 'x';
    }
    text += fmt::format("{:>8} |{}| {}\n", task->client, line, task->end);
  }
  return text;
}

namespace {

constexpr double kGanttWidth = 900, kLeft = 80, kRight = 20, kTop = 40, kBottom = 50;
constexpr const char* kColours[] = {"#2C5F8A", "#EECC66", "#66AA88"};

// A GanttScale has the places of times and of rows of tasks in a picture.
struct GanttScale {
  double start = 0;  // time at the left edge
  double span = 1;   // seconds up to the right edge
  double row_height = 0;

  double X(double time) const {
    return kLeft + (kGanttWidth - kLeft - kRight) * (time - start) / span;
  }
  double Y(size_t row) const { return kTop + row_height * static_cast<double>(row); }
};

std::string SvgHead(const RoundTasks& round, const std::string& whose, double height) {
  constexpr const char* kNames[] = {"download", "work", "upload"};
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\" font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
      "<text x=\"{2}\" y=\"18\">{6}Round {3}: {4} tasks in {5:.4g} s</text>\n",
      kGanttWidth, height, kLeft, round.round.version, round.tasks.size(),
      round.round.end - round.round.start, whose.empty() ? "" : Escaped(whose) + ", ");
  for (int stage = 0; stage < 3; ++stage) {
    svg += fmt::format(
        "<rect x=\"{0}\" y=\"9\" width=\"12\" height=\"12\" fill=\"{1}\"/>"
        "<text x=\"{2}\" y=\"19\">{3}</text>\n",
        kGanttWidth - 290 + 90 * stage, kColours[stage], kGanttWidth - 274 + 90 * stage,
        kNames[stage]);
  }
  return svg;
}

std::string SvgTask(const TaskRow& task, const GanttScale& scale, double y) {
  const double height = scale.row_height;
  const bool counted = IsCounted(task);
  const bool has_words = height >= 9;
  std::string svg;
  for (const Bar& bar : BarsOf(task)) {
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"{}/>\n",
        scale.X(bar.from), y, std::max(0.0, scale.X(bar.until) - scale.X(bar.from)), 0.85 * height,
        kColours[bar.stage], counted ? "" : " opacity=\"0.4\"");
  }
  if (has_words) {
    svg += fmt::format(
        "<text x=\"{:.0f}\" y=\"{:.2f}\" text-anchor=\"end\" font-size=\"9\">{}</text>\n",
        kLeft - 6, y + 0.75 * height, task.client);
  }
  if (!counted) {
    svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"9\">{}</text>\n",
                       std::min(scale.X(task.ended) + 2, kGanttWidth - 55), y + 0.8 * height,
                       has_words ? task.end : "");
  }
  return svg;
}

// Returns the axis of seconds, whose line is at `y`, and the picture's end.
std::string SvgAxis(const GanttScale& scale, double y) {
  constexpr int kTicks = 6;
  const double step = RoundStep(scale.span, kTicks);
  std::string svg;
  for (int tick = 0; tick * step <= scale.span; ++tick) {
    svg += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"#444\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4:.4g}</text>\n",
        scale.X(scale.start + tick * step), y, y + 5, y + 18, tick * step);
  }
  return svg + fmt::format(
                   "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">seconds</text>\n"
                   "</svg>\n",
                   (kLeft + kGanttWidth - kRight) / 2, y + 36);
}

}  // namespace

std::string GanttSvg(const RoundTasks& round, const std::string& whose) {
  constexpr size_t kMostTasks = 200;
  const auto tasks = DrawnTasks(round, kMostTasks);
  const double start = ChartStart(tasks, round.round);
  const auto rows = static_cast<double>(tasks.size());
  const GanttScale scale{.start = start,
                         .span = std::max(1e-9, round.round.end - start),
                         .row_height = std::clamp(600.0 / std::max(1.0, rows), 3.0, 16.0)};
  const double bottom = scale.Y(tasks.size());
  std::string svg = SvgHead(round, whose, bottom + kBottom);
  for (size_t i = 0; i < tasks.size(); ++i) svg += SvgTask(*tasks[i], scale, scale.Y(i));
  return svg + SvgAxis(scale, bottom + 4);
}

}  // namespace legacy::analysis
