#include "trainer/torch/federated/local_training.h"

#include <torch/torch.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/programs/patience.h"
#include "compress/cpu/vector.h"
#include "trainer/aggregation.h"
#include "trainer/torch/evaluation.h"
#include "trainer/torch/heap.h"

namespace legacy {
namespace {

// Returns the key of the draws of a step of a task.
RandomKey KeyOf(const LocalTask& task, uint64_t seed, int64_t step, Purpose purpose) {
  constexpr int kStepBits = 24;
  return {.seed = seed,
          .step = (static_cast<uint64_t>(task.version) << kStepBits) + static_cast<uint64_t>(step),
          .worker = static_cast<uint32_t>(task.client),
          .purpose = purpose};
}

// Returns a number that grows with the magnitude; that of infinity is below those of NaN. Loops
// over it are vectorized.
int32_t MagnitudeBits(float value) { return std::bit_cast<int32_t>(value) & 0x7FFFFFFF; }

// Gives the batches of a task: its samples in another order in each epoch.
class LocalOrder {
 public:
  LocalOrder(const LocalTask& task, int64_t batch_size, uint64_t seed)
      : task_(task), seed_(seed), samples_(task.samples.begin(), task.samples.end()) {
    batch_size_ = std::min(batch_size, std::ssize(samples_));
    next_ = std::ssize(samples_);
  }

  std::span<const int64_t> Next() {
    if (next_ == std::ssize(samples_)) Shuffle();
    const int64_t first = next_;
    next_ = std::min(next_ + batch_size_, std::ssize(samples_));
    return std::span(samples_).subspan(static_cast<size_t>(first),
                                       static_cast<size_t>(next_ - first));
  }

 private:
  // The order of an epoch does not depend on those before it.
  void Shuffle() {
    std::ranges::copy(task_.samples, samples_.begin());
    RandomStream random(KeyOf(task_, seed_, epoch_++, Purpose::kLocalOrder));
    for (size_t i = samples_.size(); i > 1; --i) {
      std::swap(samples_[i - 1], samples_[random.Below(static_cast<uint32_t>(i))]);
    }
    next_ = 0;
  }

  const LocalTask& task_;
  uint64_t seed_;
  std::vector<int64_t> samples_;
  int64_t batch_size_ = 1;
  int64_t next_ = 0;
  int64_t epoch_ = 0;
};

}  // namespace

int64_t LocalSteps(const LocalTask& task, int64_t batch_size) {
  if (task.samples.empty()) return 0;
  if (task.steps > 0) return task.steps - task.from;
  return task.epochs * ((std::ssize(task.samples) + batch_size - 1) / batch_size);
}

LocalTrainer::LocalTrainer(const Task& task, const SampleSet& samples, const ModelRequest& model,
                           const LocalOptions& options, const ClientRule& rule)
    : task_(task),
      samples_(samples),
      options_(options),
      rule_(rule),
      model_(MakeModel(model)),
      parameters_(model_->parameters()),
      layers_(LayersOf(*model_)) {
  if (options.batch_size < 1) {
    throw Error("batch-size", std::to_string(options.batch_size), "at least 1");
  }
  if (!(options.clip >= 0)) throw Error("clip", std::to_string(options.clip), "0 or more");
  CheckSgd(options.sgd);
  const auto numel = static_cast<size_t>(layers_.back().offset + layers_.back().numel);
  gradient_.resize(numel);
  for (size_t l = 0; l < layers_.size(); ++l) {
    const std::span<const float> weights = Weights(l);
    initial_weights_.insert(initial_weights_.end(), weights.begin(), weights.end());
  }
  // Other buffers, such as a mask, are constants of the model. If passes change them nevertheless,
  // as in a user's module, each task begins with the model's own.
  for (const auto& buffer : model_->named_buffers()) {
    const std::string& name = buffer.key();
    const bool statistic = name.ends_with("running_mean") || name.ends_with("running_var");
    if (statistic && buffer.value().scalar_type() == torch::kFloat32) {
      buffers_.push_back(buffer.value());
    }
  }
  initial_buffers_ = Buffers();
  StateWriter state;
  model_->SaveState(state);
  initial_state_ = state.Take();
}

std::vector<float> LocalTrainer::Buffers() const {
  std::vector<float> values;
  for (const torch::Tensor& buffer : buffers_) {
    const auto* from = buffer.data_ptr<float>();
    values.insert(values.end(), from, from + buffer.numel());
  }
  return values;
}

std::span<float> LocalTrainer::Weights(size_t layer) const {
  return {parameters_[layer].data_ptr<float>(), static_cast<size_t>(layers_[layer].numel)};
}

Model& LocalTrainer::Set(std::span<const float> weights, std::span<const float> buffers) {
  for (size_t l = 0; l < layers_.size(); ++l) {
    const std::span<float> own = Weights(l);
    std::memcpy(own.data(), weights.data() + layers_[l].offset, own.size_bytes());
  }
  StateReader state(initial_state_);
  model_->LoadState(state);
  if (buffers.empty()) buffers = initial_buffers_;
  for (torch::Tensor& buffer : buffers_) {
    const auto numel = static_cast<size_t>(buffer.numel());
    std::copy_n(buffers.begin(), numel, buffer.data_ptr<float>());
    buffers = buffers.subspan(numel);
  }
  return *model_;
}

LocalResult LocalTrainer::Train(const LocalTask& task) {
  Set(task.base, task.buffers);
  model_->train();
  const auto optimizer = MakeOptimizer(std::ssize(gradient_), options_.sgd, options_.optimizer);
  if (!task.optimizer.empty()) {
    StateReader in(task.optimizer);
    optimizer->Load(in);
  }
  LocalResult result;
  result.samples = std::ssize(task.samples);
  result.local_steps = LocalSteps(task, options_.batch_size);
  LocalOrder order(task, options_.batch_size, options_.seed);
  for (int64_t step = 0; step < task.from; ++step) order.Next();
  int64_t& seen = result.seen;
  for (int64_t step = task.from; step < task.from + result.local_steps; ++step) {
    GiveUpIfLate();
    const std::span<const int64_t> batch = order.Next();
    const LossMoments losses = Step(task, batch, step, *optimizer);
    result.loss += losses.mean * static_cast<double>(batch.size());
    result.squared_loss += losses.squares * static_cast<double>(batch.size());
    seen += std::ssize(batch);
  }
  const auto count = static_cast<double>(std::max<int64_t>(1, seen));
  result.loss /= count;
  result.squared_loss /= count;

  result.update.resize(gradient_.size());
  int32_t largest = 0;
  for (size_t l = 0; l < layers_.size(); ++l) {
    const std::span<const float> own = Weights(l);
    const float* const base = task.base.data() + layers_[l].offset;
    float* const update = result.update.data() + layers_[l].offset;
    for (size_t i = 0; i < own.size(); ++i) {
      update[i] = own[i] - base[i];
      largest = std::max(largest, MagnitudeBits(update[i]));
    }
  }
  result.buffers = Buffers();
  for (const float value : result.buffers) largest = std::max(largest, MagnitudeBits(value));
  result.finite = largest < MagnitudeBits(std::numeric_limits<float>::infinity());
  for (size_t l = 0; task.keep_weights && l < layers_.size(); ++l) {
    const std::span<const float> own = Weights(l);
    result.weights.insert(result.weights.end(), own.begin(), own.end());
  }
  StateWriter state;
  optimizer->Save(state);
  result.optimizer = state.Take();
  return result;
}

LossMoments LocalTrainer::Step(const LocalTask& task, std::span<const int64_t> batch, int64_t step,
                               Optimizer& optimizer) {
  const torch::AutoGradMode with_graph(true);  // even if the calling thread has switched it off
  model_->SetDraws(KeyOf(task, options_.seed, step, Purpose::kDropout));
  ModelState state;
  LossMoments moments;
  const torch::Tensor loss = task_.Loss(
      *model_, samples_.Gather(batch, KeyOf(task, options_.seed, step, Purpose::kAugment)), state,
      options_.label_smoothing, options_.squares ? &moments.squares : nullptr);
  const auto parts = model_->Gradient(loss);
  for (size_t l = 0; l < parts.size(); ++l) {
    const torch::Tensor part = parts[l].contiguous();
    std::memcpy(gradient_.data() + layers_[l].offset, part.data_ptr<float>(),
                static_cast<size_t>(layers_[l].numel) * sizeof(float));
  }
  if (options_.clip > 0) {
    const float factor = ClipFactor(options_.clip, cpu::SquaredNorm(gradient_));
    if (factor < 1) cpu::Scale(gradient_, factor);
  }
  const double rate = task.rate(step);
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Unit& layer = layers_[l];
    const auto offset = static_cast<size_t>(layer.offset);
    const auto numel = static_cast<size_t>(layer.numel);
    const auto part = [&](std::span<const float> whole) {
      return whole.empty() ? whole : whole.subspan(offset, numel);
    };
    const std::span<float> weights = Weights(l);
    const std::span<float> gradient = std::span(gradient_).subspan(offset, numel);
    CorrectGradient(rule_, weights, part(task.base), part(task.state), gradient);
    optimizer.Update(weights, gradient,
                     {.offset = layer.offset,
                      .learning_rate = rate,
                      .step = task.first_step + step,
                      .is_vector = layer.shape.size() <= 1});
    CorrectWeights(rule_, part(task.downlink), part(task.state), rate, weights);
  }
  moments.mean = loss.item<double>();
  return moments;
}

Evaluation EvaluateOn(const Task& task, Model& model, int64_t version, int64_t batch,
                      WorkerPool& pool) {
  ReturnFreedMemory();  // batches of evaluations are larger
  model.eval();
  std::vector<MetricSums> sums(static_cast<size_t>(task.Parts(batch)));
  pool.ForEach(std::ssize(sums), [&](int64_t part, int) {
    const torch::NoGradGuard no_grad;
    sums[part] = task.Evaluate(*ModelOfPart(model, part), part, batch);
  });
  Evaluation evaluation = task.Conclude(sums);
  task.CheckFinite(evaluation, "version " + std::to_string(version));
  return evaluation;
}

}  // namespace legacy
