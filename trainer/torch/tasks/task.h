// A task is what is trained: where batches come from, what the loss is, and by which metrics a
// model is judged. It holds the data, and nothing of one training, so that trainings share it.
//
//   std::unique_ptr<Task> task = LoadTask({.dataset = "ptb"});
//   Training training(options, *task, task->RequestFor("lstm:hidden=200", seed), ...);
#pragma once

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/data_catalog.h"
#include "trainer/data/sample_labels.h"
#include "trainer/data/task_catalog.h"
#include "trainer/torch/data/batch.h"
#include "trainer/torch/models/model.h"

namespace legacy {

// A Feed gives the batches of one training. They are a function of seed, step and worker alone, so
// that every policy and scheme sees the same batches.
class Feed {
 public:
  virtual ~Feed() = default;

  virtual int64_t StepsPerEpoch() const = 0;
  // Makes Get() give the batches of `step`.
  virtual void Seek(int64_t step) = 0;
  // True where the step does not continue from the one before it, so that the states of recurrent
  // models start again.
  virtual bool Begins() const { return true; }
  // Returns the batch of a worker, one of FeedOptions. Any thread may ask.
  virtual Batch Get(int worker) const = 0;
};

struct FeedOptions {
  int workers = 1;
  int64_t batch_size = 1;  // samples of each worker
  uint64_t seed = 1;
  int threads = 1;  // that compute; others may prepare batches
  // Workers for which Get() is called: first, first + stride, ... Those of other processes need no
  // preparation.
  int first = 0;
  int stride = 1;
};

// A SampleSet gives training samples by number, in any order and number: those of a client of
// federated learning. Any thread may call its functions.
class SampleSet {
 public:
  virtual ~SampleSet() = default;

  // Returns what is known of the samples. It is valid as long as the set.
  virtual SampleLabels Labels() const = 0;
  // Returns the batch of the samples with these numbers. What it draws (crops, negatives) follows
  // seed, step, worker and layer of the key.
  virtual Batch Gather(std::span<const int64_t> samples, const RandomKey& key) const = 0;
};

// Sums over a part of the test set. The metrics are computed from their totals.
struct MetricSums {
  double loss = 0;
  double count = 0;            // of what the loss is a sum over
  std::vector<double> values;  // of each metric, as far as it is a mean
  MetricSums& operator+=(const MetricSums& other);
};

// A Task is immutable: any thread may call its functions.
class Task {
 public:
  virtual ~Task() = default;

  virtual const TaskInfo& Info() const = 0;
  // Returns the name of the data set, for messages.
  virtual const std::string& DataName() const = 0;
  // Returns the request of a model that takes the task's inputs.
  virtual ModelRequest RequestFor(const std::string& model, uint64_t seed) const = 0;
  // Throws Error where there are too few samples for the options.
  virtual std::unique_ptr<Feed> Open(const FeedOptions& options) const = 0;
  // Returns the training samples: images; windows of a text, one after the other, each independent
  // of the others; pairs with their negatives. The task outlives them. Throws Error where they
  // cannot be read in any order.
  virtual std::unique_ptr<SampleSet> OpenSamples() const;
  // Returns the mean loss of a batch. `state` is what the model carries over; the call updates it.
  // `smoothing` is spread evenly over all classes (Szegedy et al., CVPR 2016). Where `squares` is
  // not null, it becomes the mean of the squares of the losses that the mean is over: those of
  // images, tokens, or pairs.
  virtual torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing,
                             double* squares) const = 0;
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing) const {
    return Loss(model, batch, state, smoothing, nullptr);
  }

  // The test set is evaluated in parts of about `batch` samples, side by side.
  virtual int64_t Parts(int64_t batch) const = 0;
  virtual MetricSums Evaluate(Model& model, int64_t part, int64_t batch) const = 0;
  // Returns loss and metrics from the sums of all parts, which are added in order.
  Evaluation Conclude(std::span<const MetricSums> parts) const;
  // Throws Error that says when, as in "after step 5", where loss or a metric is not finite.
  // Metrics alone do not show it: of logits that are NaN, the first class is the largest.
  void CheckFinite(const Evaluation& evaluation, const std::string& when) const;

 protected:
  // Returns the mean of the squares of losses.
  static double MeanSquare(const torch::Tensor& losses);
  // Returns the metrics, in the order of Info().
  virtual std::vector<double> MetricsOf(const MetricSums& total) const;
};

// A TaskRequest says which data set to load, and what part of it.
struct TaskRequest {
  std::string dataset = "glyphs";  // of the catalogue, with its options
  // Folder that holds fashion-mnist/, cifar-10-batches-bin/, ...; "": LEGACY_DATA, then
  // ~/.cache/legacy-data.
  std::string data_root;
  int64_t train_limit = 0;  // number of first samples; 0: all (embedded ones: their default size)
  int64_t test_limit = 0;
  int window = 0;               // tokens of a window; 0: 35 words, or 128 characters
  int evaluation_columns = 10;  // stretches of text that are evaluated side by side
  bool validation = false;      // true: texts are evaluated on their validation part
  int negatives = 4;            // drawn items that each pair of a recommendation comes with
  bool strict = false;          // true: the first broken image ends the training
  // Augmentation of images in memory; nothing: that of the data set.
  std::optional<Augmentation> augment = {};
  bool normalise = true;  // false: inputs of images are pixels / 255
  // Is told, by any thread, what of the data is not read, and of each broken image left out.
  std::function<void(const std::string&)> note = {};
};

// Loads the data of a task. Throws Error naming the file, the byte offset and what was expected;
// for a missing file, how to get it.
std::unique_ptr<Task> LoadTask(const TaskRequest& request);

}  // namespace legacy
