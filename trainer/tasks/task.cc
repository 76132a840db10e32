#include "trainer/tasks/task.h"

#include <utility>

#include "trainer/data/data_catalog.h"
#include "trainer/tasks/classification.h"

namespace legacy {

MetricSums& MetricSums::operator+=(const MetricSums& other) {
  loss += other.loss;
  count += other.count;
  values.resize(std::max(values.size(), other.values.size()));
  for (size_t i = 0; i < other.values.size(); ++i) values[i] += other.values[i];
  return *this;
}

Evaluation Task::Conclude(std::span<const MetricSums> parts) const {
  MetricSums total;
  for (const MetricSums& part : parts) total += part;
  return {total.loss / total.count, MetricsOf(total)};
}

std::vector<double> Task::MetricsOf(const MetricSums& total) const {
  std::vector<double> metrics;
  for (const double value : total.values) metrics.push_back(value / total.count);
  return metrics;
}

std::unique_ptr<Task> LoadTask(const TaskRequest& request) {
  return std::make_unique<Classification>(
      LoadDataset({request.dataset, request.data_root, request.train_limit, request.test_limit}));
}

}  // namespace legacy
