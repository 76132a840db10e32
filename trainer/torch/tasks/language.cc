#include "trainer/torch/tasks/language.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

// Columns that are evaluated at the same time. The results depend on it in the last bits.
constexpr int kColumnsOfPart = 5;

// Returns `count` windows of `length` tokens, of which number i begins at first(i), and for each of
// their tokens the next one.
template <typename First>
Batch Windows(std::span<const int32_t> tokens, int length, int64_t count, const First& first) {
  const torch::Tensor inputs = torch::empty({count, length}, torch::kInt64);
  const torch::Tensor targets = torch::empty_like(inputs);
  auto* input = inputs.data_ptr<int64_t>();
  auto* target = targets.data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const auto from = tokens.begin() + first(i);
    input = std::copy_n(from, length, input);
    target = std::copy_n(from + 1, length, target);
  }
  return {inputs, targets};
}

class TextFeed : public Feed {
 public:
  TextFeed(std::span<const int32_t> tokens, int length, const FeedOptions& options)
      : tokens_(tokens), length_(length), batch_size_(options.batch_size) {
    const int64_t streams = options.workers * options.batch_size;
    stretch_ = std::ssize(tokens) / streams;
    steps_per_epoch_ = (stretch_ - 1) / length;
    if (stretch_ < 1 || steps_per_epoch_ < 1) {
      throw Error("batch-size", std::to_string(options.batch_size),
                  "at most " + std::to_string(std::ssize(tokens) / (length + 1) / options.workers) +
                      " for " + std::to_string(options.workers) + " workers on " +
                      std::to_string(tokens.size()) + " tokens in windows of " +
                      std::to_string(length));
    }
  }

  int64_t StepsPerEpoch() const override { return steps_per_epoch_; }
  void Seek(int64_t step) override { window_ = step % steps_per_epoch_; }
  bool Begins() const override { return window_ == 0; }

  Batch Get(int worker) const override {
    return Windows(tokens_, length_, batch_size_, [&](int64_t column) {
      return (worker * batch_size_ + column) * stretch_ + window_ * length_;
    });
  }

 private:
  std::span<const int32_t> tokens_;
  int64_t length_;
  int64_t batch_size_;
  int64_t stretch_ = 0;  // tokens of a column
  int64_t steps_per_epoch_ = 0;
  int64_t window_ = 0;
};

class WindowSamples : public SampleSet {
 public:
  WindowSamples(std::span<const int32_t> tokens, int length) : tokens_(tokens), length_(length) {}

  SampleLabels Labels() const override { return {.samples = (std::ssize(tokens_) - 1) / length_}; }
  Batch Gather(std::span<const int64_t> samples, const RandomKey&) const override {
    return Windows(tokens_, length_, std::ssize(samples),
                   [&](int64_t i) { return samples[i] * length_; });
  }

 private:
  std::span<const int32_t> tokens_;
  int length_;
};

// Returns tokens from all over the text, in runs of consecutive ones.
std::vector<int64_t> SampleOf(std::span<const int32_t> tokens) {
  constexpr size_t kRuns = 16, kRun = 256;
  std::vector<int64_t> sample;
  for (size_t run = 0; run < kRuns; ++run) {
    const size_t first = tokens.size() * run / kRuns;
    const size_t count = std::min(kRun, tokens.size() - first);
    sample.insert(sample.end(), tokens.begin() + first, tokens.begin() + first + count);
  }
  return sample;
}

}  // namespace

LanguageModelling::LanguageModelling(Corpus corpus, int length, int columns, bool validation)
    : corpus_(std::move(corpus)),
      test_(validation ? corpus_.valid : corpus_.test),
      length_(length),
      columns_(columns) {
  const auto at_least = [&](const char* what, int64_t got, int64_t least) {
    if (got >= least) return;
    throw Error(std::string("data set ") + corpus_.name + ": " + what, std::to_string(got),
                "at least " + std::to_string(least));
  };
  at_least("tokens of a window", length, 1);
  at_least("columns of an evaluation", columns, 1);
  at_least("tokens to train on", corpus_.train.size(), 2);
  at_least("tokens to test on", test_.size(), 1 + columns);
  sample_ = std::make_shared<std::vector<int64_t>>(SampleOf(corpus_.train.tokens()));
}

const TaskInfo& LanguageModelling::Info() const {
  return InfoOf(corpus_.unit == TextUnit::kWords ? TaskKind::kLanguageModelling
                                                 : TaskKind::kCharacterModelling);
}

ModelRequest LanguageModelling::RequestFor(const std::string& model, uint64_t seed) const {
  return {.name = model,
          .channels = 0,
          .height = 0,
          .width = 0,
          .classes = static_cast<int>(corpus_.vocabulary_size()),
          .seed = seed,
          .task = Info().kind,
          .length = length_,
          .tokens = sample_};
}

std::unique_ptr<Feed> LanguageModelling::Open(const FeedOptions& options) const {
  return std::make_unique<TextFeed>(corpus_.train.tokens(), length_, options);
}

std::unique_ptr<SampleSet> LanguageModelling::OpenSamples() const {
  return std::make_unique<WindowSamples>(corpus_.train.tokens(), length_);
}

torch::Tensor LanguageModelling::Loss(Model& model, const Batch& batch, ModelState& state,
                                      double smoothing, double* squares) const {
  const torch::Tensor outputs = model.Continue(batch.inputs, state);
  const torch::Tensor losses = model.TargetLosses(outputs, batch.targets, smoothing);
  if (squares != nullptr) *squares = MeanSquare(losses.detach());
  return losses.mean();
}

int64_t LanguageModelling::Parts(int64_t) const {
  return (columns_ + kColumnsOfPart - 1) / kColumnsOfPart;
}

// Every token but the first is predicted once. Columns that end before others are filled up with
// targets that do not count.
MetricSums LanguageModelling::Evaluate(Model& model, int64_t part, int64_t) const {
  const std::span<const int32_t> tokens = test_.tokens();
  const int64_t predicted = std::ssize(tokens) - 1;
  const int64_t begin = part * kColumnsOfPart;
  const int64_t columns = std::min<int64_t>(kColumnsOfPart, columns_ - begin);
  const auto start = [&](int64_t column) { return predicted * column / columns_; };
  int64_t longest = 0;
  for (int64_t c = begin; c < begin + columns; ++c) {
    longest = std::max(longest, start(c + 1) - start(c));
  }
  MetricSums sums;
  ModelState state;
  for (int64_t first = 0; first < longest; first += length_) {
    const int64_t length = std::min<int64_t>(length_, longest - first);
    const torch::Tensor inputs = torch::zeros({columns, length}, torch::kInt64);
    const torch::Tensor targets = torch::full({columns, length}, kIgnored, torch::kInt64);
    for (int64_t c = 0; c < columns; ++c) {
      const int64_t from = start(begin + c) + first;
      const int64_t count = std::min(length, start(begin + c + 1) - from);
      std::copy_n(tokens.begin() + from, count, inputs[c].data_ptr<int64_t>());
      std::copy_n(tokens.begin() + from + 1, count, targets[c].data_ptr<int64_t>());
      sums.count += static_cast<double>(count);
    }
    const torch::Tensor losses = model.TargetLosses(model.Continue(inputs, state), targets, 0);
    sums.loss += losses.to(torch::kFloat64).sum().item<double>();
  }
  return sums;
}

std::vector<double> LanguageModelling::MetricsOf(const MetricSums& total) const {
  const double loss = total.loss / total.count;
  std::vector<double> metrics = {std::exp(loss)};
  if (corpus_.unit != TextUnit::kWords) metrics.push_back(loss / std::numbers::ln2);
  return metrics;
}

}  // namespace legacy
