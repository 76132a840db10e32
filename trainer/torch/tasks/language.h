// Language modelling: a model of tokens (words, characters or bytes) gives the next one.
//
// Training reads the text as truncated backpropagation through time does: each worker has its own
// contiguous stretch, in `batch_size` columns that are read side by side, a window of `length`
// tokens at a step. What a recurrent model carries over continues from window to window, and starts
// again with each epoch. Tokens that fill no window are left out.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "trainer/data/corpus.h"
#include "trainer/torch/tasks/task.h"

namespace legacy {

class LanguageModelling : public Task {
 public:
  // The corpus' test text (or its validation text, with `validation`) is evaluated whole, in
  // `columns` contiguous stretches of equal length that are read side by side, as the windows of
  // training are; the last windows may be short. With one column it is read in order in one pass.
  // Throws Error on texts that are too short.
  LanguageModelling(Corpus corpus, int length, int columns, bool validation = false);

  const TaskInfo& Info() const override;
  const std::string& DataName() const override { return corpus_.name; }
  ModelRequest RequestFor(const std::string& model, uint64_t seed) const override;
  std::unique_ptr<Feed> Open(const FeedOptions& options) const override;
  std::unique_ptr<SampleSet> OpenSamples() const override;
  torch::Tensor Loss(Model& model, const Batch& batch, ModelState& state, double smoothing,
                     double* squares) const override;
  int64_t Parts(int64_t batch) const override;
  MetricSums Evaluate(Model& model, int64_t part, int64_t batch) const override;

 protected:
  // Perplexity, and bits per character for characters, from the mean loss of all tokens.
  std::vector<double> MetricsOf(const MetricSums& total) const override;

 private:
  Corpus corpus_;
  TokenFile test_;  // the text that is evaluated
  int length_;
  int columns_;
  std::shared_ptr<const std::vector<int64_t>> sample_;  // tokens of the training text
};

}  // namespace legacy
