#include "trainer/torch/tasks/task.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "trainer/data/data_catalog.h"
#include "trainer/data/unread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/tasks/language.h"
#include "trainer/torch/tasks/recommendation.h"

namespace legacy {

MetricSums& MetricSums::operator+=(const MetricSums& other) {
  loss += other.loss;
  count += other.count;
  values.resize(std::max(values.size(), other.values.size()));
  for (size_t i = 0; i < other.values.size(); ++i) values[i] += other.values[i];
  return *this;
}

std::unique_ptr<SampleSet> Task::OpenSamples() const {
  throw Error("data set", DataName(),
              "one whose samples are in memory, as federated clients take them in any order");
}

Evaluation Task::Conclude(std::span<const MetricSums> parts) const {
  MetricSums total;
  for (const MetricSums& part : parts) total += part;
  return {total.loss / total.count, MetricsOf(total)};
}

void Task::CheckFinite(const Evaluation& evaluation, const std::string& when) const {
  const auto require = [&](const std::string& what, double value) {
    if (std::isfinite(value)) return;
    // This does not mean that an option was wrong: the training failed.
    throw Error(when + ": evaluation: " + what + ": got '" + (std::isnan(value) ? "nan" : "inf") +
                "'; allowed: finite numbers; a lower learning rate may help");
  };
  require("loss", evaluation.loss);
  for (size_t m = 0; m < evaluation.metrics.size(); ++m) {
    require(Info().metrics[m].name, evaluation.metrics[m]);
  }
}

double Task::MeanSquare(const torch::Tensor& losses) {
  const torch::NoGradGuard no_grad;
  return losses.to(torch::kFloat64).square().mean().item<double>();
}

std::vector<double> Task::MetricsOf(const MetricSums& total) const {
  std::vector<double> metrics;
  for (const double value : total.values) metrics.push_back(value / total.count);
  return metrics;
}

namespace {

std::unique_ptr<Task> LoadText(const CatalogEntry& entry, const TaskRequest& request) {
  constexpr int kWords = 35, kCharacters = 128;  // of a window
  Corpus corpus = LoadCorpus(entry, DataRoot(request.data_root));
  corpus.train = corpus.train.First(request.train_limit);
  (request.validation ? corpus.valid : corpus.test) =
      (request.validation ? corpus.valid : corpus.test).First(request.test_limit);
  const int window = corpus.unit == TextUnit::kWords ? kWords : kCharacters;
  return std::make_unique<LanguageModelling>(std::move(corpus),
                                             request.window > 0 ? request.window : window,
                                             request.evaluation_columns, request.validation);
}

std::unique_ptr<Task> LoadRatings(const CatalogEntry& entry, const TaskRequest& request) {
  for (const int64_t limit : {request.train_limit, request.test_limit}) {
    if (limit == 0) continue;
    throw Error("data set " + entry.name + ": sample limit", std::to_string(limit),
                "0 (all), as users are not left out");
  }
  return std::make_unique<Recommendation>(LoadRatings(entry, DataRoot(request.data_root)),
                                          request.negatives);
}

std::unique_ptr<Task> LoadImages(const CatalogEntry& entry, const TaskRequest& request) {
  if (IsHeldInMemory(entry)) {
    return std::make_unique<Classification>(
        LoadDataset({request.dataset, request.data_root, request.train_limit, request.test_limit,
                     request.augment, request.normalise}));
  }
  const size_t channels = entry.mean.size();
  return std::make_unique<FolderClassification>(FolderClassification::Options{
      .name = entry.name,
      .folder = FolderRequest(entry, DataRoot(request.data_root), request.strict, request.note),
      .mean = request.normalise ? entry.mean : std::vector<double>(channels, 0),
      .stddev = request.normalise ? entry.stddev : std::vector<double>(channels, 1),
      .train_limit = request.train_limit,
      .test_limit = request.test_limit});
}

}  // namespace

std::unique_ptr<Task> LoadTask(const TaskRequest& request) {
  const CatalogEntry entry = FindInCatalog(request.dataset);
  if (request.augment && !IsHeldInMemory(entry)) {
    throw Error("augment with data set " + entry.name + ": only images in memory are moved");
  }
  if (!request.normalise && entry.task != TaskKind::kClassification) {
    throw Error("normalise with data set " + entry.name + ": it has no images");
  }
  if (request.note) {
    for (const std::string& part : UnreadParts(entry, DataRoot(request.data_root))) {
      request.note("not read: " + part);
    }
  }
  switch (entry.task) {
    case TaskKind::kClassification:
      return LoadImages(entry, request);
    case TaskKind::kLanguageModelling:
    case TaskKind::kCharacterModelling:
      return LoadText(entry, request);
    case TaskKind::kRecommendation:
      return LoadRatings(entry, request);
  }
  return nullptr;
}

}  // namespace legacy
