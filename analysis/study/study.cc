#include "analysis/study/study.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace legacy::analysis {

const char* StateText(StudyState state) {
  switch (state) {
    case StudyState::kPending:
      return "pending";
    case StudyState::kDone:
      return "done";
    case StudyState::kFailed:
      return "failed";
  }
  return "";
}

size_t ShownPosition(const Study& study) {
  return study.target ? MetricPosition(study.metrics, study.target->metric) : 0;
}

Metric ShownMetric(const Study& study) {
  return study.metrics.empty() ? Metric() : study.metrics.at(ShownPosition(study));
}

size_t AxisIndex(const Study& study, const std::string& name) {
  const auto found = std::ranges::find(study.axes, name, &StudyAxis::name);
  if (found != study.axes.end()) return static_cast<size_t>(found - study.axes.begin());
  std::vector<std::string> names;
  for (const StudyAxis& axis : study.axes) names.push_back(axis.name);
  throw Error("axis", name, names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")));
}

}  // namespace legacy::analysis
