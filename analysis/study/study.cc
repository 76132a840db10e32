#include "analysis/study/study.h"

#include <algorithm>

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

}  // namespace legacy::analysis
