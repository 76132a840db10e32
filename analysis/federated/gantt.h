// A Gantt chart shows one round's tasks.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analysis/federated/federated_rows.h"

namespace legacy::analysis {

// A round with the tasks that ended in it.
struct RoundTasks {
  RoundRow round;
  std::vector<TaskRow> tasks;
};

// Returns the position of the median, the lower of two; there is one value or more.
size_t MedianPosition(std::span<const double> values);

// Returns the round with the median duration among those of a training whose tasks are all known.
// Both are in the order of their files. Returns nothing where there is no such round.
std::optional<RoundTasks> MedianRoundTasks(std::span<const RoundRow> rounds,
                                           std::span<const TaskRow> tasks);

// Return a chart in the order of the tasks' ends, for a terminal (at most `rows` tasks, evenly
// chosen) and as SVG (at most 200). `whose` begins the SVG's title.
std::string GanttText(const RoundTasks& round, int rows = 24);
std::string GanttSvg(const RoundTasks& round, const std::string& whose = "");

}  // namespace legacy::analysis
