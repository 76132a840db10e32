#include "trainer/torch/host_backend.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/programs/patience.h"
#include "compress/cpu/vector.h"
#include "trainer/rounding.h"
#include "trainer/torch/evaluation.h"
#include "trainer/torch/heap.h"
#include "trainer/torch/models/tensor_state.h"
#include "trainer/torch/one_thread.h"
#include "trainer/update_work.h"

namespace legacy {
namespace {

std::vector<float> FlatWeights(const Model& model) {
  std::vector<float> weights;
  for (const torch::Tensor& parameter : model.parameters()) {
    const float* data = parameter.data_ptr<float>();
    weights.insert(weights.end(), data, data + parameter.numel());
  }
  return weights;
}

void SetWeights(Model& model, std::span<const float> weights) {
  for (const torch::Tensor& parameter : model.parameters()) {
    const auto numel = static_cast<size_t>(parameter.numel());
    std::copy_n(weights.begin(), numel, parameter.data_ptr<float>());
    weights = weights.subspan(numel);
  }
}

}  // namespace

HostBackend::HostBackend(const BackendJob& job, UnitPlan plan)
    : job_(job),
      pool_(job.options.threads, UseOneThread),
      states_(static_cast<size_t>(job.options.workers * job.options.passes)),
      optimizer_(MakeOptimizer(job.Numel(), job.options.sgd, job.options.optimizer)),
      momentum_from_(job.scheme.Traits().momentum_from),
      gradients_(static_cast<size_t>(job.options.threads),
                 std::vector<float>(static_cast<size_t>(job.Numel()))),
      mean_(static_cast<size_t>(job.Numel())) {
  KeepFreedMemory();
  const int workers = job.options.workers;
  auto exchange =
      std::make_unique<HostModelExchange>(job.scheme, plan.units, workers, pool_, job.processes);
  aggregation_ = std::make_unique<Aggregation>(std::move(plan), job.policy, workers,
                                               std::move(exchange), job.processes);
  if (job.options.Local()) {
    local_.emplace(job.replicas, job.model, std::vector<Unit>(job.layers.begin(), job.layers.end()),
                   job.options.sgd, job.options.optimizer,
                   job.options.outer.value_or(OuterOptions()), job.options.precision,
                   job.processes);
  } else {
    weights_.emplace(job.model, job.options.precision, job.layers, job.options.weights.get());
  }
  if (job.options.precision == Precision::kFp16) {
    scaled_.emplace(job.scheme, workers, aggregation_->exchange(), job.processes);
  }
}

void HostBackend::RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) {
  if (job_.feed.Begins()) std::ranges::fill(states_, ModelState());
  if (scaled_) scaled_->Begin(step.active_workers);
  const std::vector<int> own = job_.processes.Own(step.active_workers);
  pool_.ForEach(std::ssize(own), [&](int64_t i, int thread) {
    const int worker = own[i];
    losses[worker] = RunWorker(step, exchanges, worker, gradients_[thread]);
  });
}

// Computes the gradient and first encodings of one worker. Returns its loss.
double HostBackend::RunWorker(const StepInfo& step, bool exchanges, int worker,
                              std::span<float> gradient) {
  const double loss = Gradient(step, worker, gradient);
  if (scaled_) scaled_->Unscale(worker, gradient);
  CheckFinite(step, worker, gradient);
  if (gradient_hook_) gradient_hook_(step.step, worker, gradient);
  ClipLocally(gradient);
  if (local_) {
    local_->Update(worker, gradient, step.learning_rate, step.step);
    if (!exchanges) return loss;
    local_->Moved(worker, gradient);
  }
  ToMomentum(step, gradient);
  if (scaled_) scaled_->ForExchange(gradient);
  aggregation_->AddGradient(worker, gradient.data(), [&](size_t u) {
    const Unit& unit = aggregation_->plan().units[u];
    return gradient.subspan(unit.offset, unit.numel);
  });
  return loss;
}

double HostBackend::Gradient(const StepInfo& step, int worker, std::span<float> gradient) {
  const int64_t passes = job_.options.passes;
  const Batch batch = job_.feed.Get(worker);
  Model& replica = *job_.replicas[worker];
  double loss = 0;
  for (int64_t pass = 0; pass < passes; ++pass) {
    GiveUpIfLate();
    replica.SetDraws(job_.DrawKey(step.step, worker, Purpose::kDropout, pass));
    ModelState& state = states_[static_cast<size_t>(worker * passes + pass)];
    loss += Pass(worker, PartOf(batch, pass, passes), state, pass > 0, gradient);
  }
  return loss / static_cast<double>(passes);
}

double HostBackend::Pass(int worker, const Batch& batch, ModelState& state, bool adds,
                         std::span<float> gradient) {
  Model& model = *job_.replicas[worker];
  const torch::AutoGradMode with_graph(true);  // even if the calling thread has switched it off
  const torch::Tensor loss = job_.task.Loss(model, batch, state, job_.options.label_smoothing);
  const double scale = job_.LossScale(batch) * (scaled_ ? scaled_->Factor() : 1);
  const auto parts = model.Gradient(scale == 1 ? loss : loss * scale);
  for (size_t l = 0; l < parts.size(); ++l) {
    const torch::Tensor part = parts[l].contiguous();
    const std::span<float> values(part.data_ptr<float>(),
                                  static_cast<size_t>(job_.layers[l].numel));
    Round(worker, values);
    const auto sum = gradient.subspan(static_cast<size_t>(job_.layers[l].offset), values.size());
    if (adds) {
      cpu::Add(values, sum);
    } else {
      std::memcpy(sum.data(), values.data(), values.size_bytes());
    }
  }
  return loss.item<double>();
}

// In fp32 and bf16, CheckFinite finds what is not finite.
void HostBackend::Round(int worker, std::span<float> part) {
  if (!RoundGradient(job_.options.precision, part) && scaled_) scaled_->Overflow(worker);
}

UpdateInfo HostBackend::InfoOf(const StepInfo& step, const Unit& layer) const {
  return {.offset = layer.offset,
          .learning_rate = step.learning_rate,
          .step = step.step - (scaled_ ? scaled_->skipped() : 0),
          .is_vector = layer.shape.size() <= 1,
          .momentum_from = momentum_from_};
}

void HostBackend::ToMomentum(const StepInfo& step, std::span<float> gradient) const {
  if (!momentum_from_ || step.step < *momentum_from_) return;
  for (size_t l = 0; l < job_.layers.size(); ++l) {
    const Unit& layer = job_.layers[l];
    const auto numel = static_cast<size_t>(layer.numel);
    optimizer_->ToMomentum(std::as_const(*weights_).Of(l),
                           gradient.subspan(static_cast<size_t>(layer.offset), numel),
                           InfoOf(step, layer));
  }
}

void HostBackend::CheckFinite(const StepInfo& step, int worker,
                              std::span<const float> gradient) const {
  const std::optional<int64_t> bad = cpu::FirstNonFinite(gradient);
  if (!bad) return;
  const auto layer = std::find_if(job_.layers.begin(), job_.layers.end(), [&](const Unit& unit) {
    return *bad < unit.offset + unit.numel;
  });
  ThrowNotFinite(worker, step.step, *layer, gradient[*bad], job_.scheme);
}

// Clips the gradient, over all layers.
void HostBackend::ClipLocally(std::span<float> gradient) const {
  const std::optional<double> limit = WorkerClip(job_.scheme, job_.options);
  if (!limit) return;
  const float factor = ClipFactor(*limit, cpu::SquaredNorm(gradient));
  if (factor < 1) cpu::Scale(gradient, factor);
}

void HostBackend::Finish(const StepInfo& step) {
  aggregation_->Finish(mean_.data());
  if (scaled_ && !scaled_->Finish(step.step, mean_)) return;
  if (job_.options.clip_mean > 0) {
    const float factor = ClipFactor(job_.options.clip_mean, cpu::SquaredNorm(mean_));
    if (factor < 1) cpu::Scale(mean_, factor);
  }
  if (local_) return local_->Agree(mean_);
  pool_.ForEach(std::ssize(job_.layers), [&](int64_t l, int) {
    const Unit& layer = job_.layers[l];
    const auto numel = static_cast<size_t>(layer.numel);
    optimizer_->Update(weights_->Of(l), {mean_.data() + layer.offset, numel}, InfoOf(step, layer));
    weights_->Publish(l, step.step);
  });
}

Evaluation HostBackend::Evaluate(int worker) {
  ReturnFreedMemory();  // batches of evaluations are larger
  const auto evaluate = [&](Model& model, std::span<const int64_t> parts,
                            std::span<MetricSums> sums) {
    const std::vector<float> own = local_ ? FlatWeights(model) : std::vector<float>();
    if (local_) local_->WriteMean(model);
    pool_.ForEach(std::ssize(parts), [&](int64_t i, int) {
      const torch::NoGradGuard no_grad;
      sums[i] = job_.task.Evaluate(*ModelOfPart(model, parts[i]), parts[i],
                                   job_.options.evaluation_batch);
    });
    if (local_) SetWeights(model, own);
  };
  return EvaluateTogether(job_, worker, evaluate);
}

std::vector<float> HostBackend::Weights() const {
  return local_ ? local_->Agreed() : weights_->Flat();
}

BackendReport HostBackend::Report() const {
  return {.device = "cpu", .name = "", .compression = "on the host", .steps = ""};
}

void HostBackend::SaveShared(StateWriter& out) const {
  aggregation_->exchange().SaveShared(out);
  if (local_) {
    local_->SaveShared(out);
    out.Floats(mean_);  // policies are shown it in the steps until the next exchange, too
    return;
  }
  weights_->Save(out);
  optimizer_->Save(out);
  if (scaled_) scaled_->Save(out);
}

void HostBackend::LoadShared(StateReader& in) {
  aggregation_->exchange().LoadShared(in);
  if (local_) {
    local_->LoadShared(in);
    return in.AnyFloats(mean_);
  }
  weights_->Load(in);
  optimizer_->Load(in);
  if (scaled_) scaled_->Load(in);
}

void HostBackend::SaveWorker(int worker, StateWriter& out) const {
  aggregation_->exchange().SaveWorker(worker, out);
  job_.replicas[worker]->SaveState(out);
  const int64_t passes = job_.options.passes;
  for (int64_t pass = 0; pass < passes; ++pass) {
    const ModelState& state = states_[static_cast<size_t>(worker * passes + pass)];
    out.Number(state.size());
    for (const torch::Tensor& tensor : state) SaveTensor(tensor, out);
  }
  if (local_) local_->SaveWorker(worker, out);
}

void HostBackend::LoadWorker(int worker, StateReader& in) {
  aggregation_->exchange().LoadWorker(worker, in);
  job_.replicas[worker]->LoadState(in);
  const int64_t passes = job_.options.passes;
  for (int64_t pass = 0; pass < passes; ++pass) {
    ModelState& state = states_[static_cast<size_t>(worker * passes + pass)];
    state.clear();
    constexpr uint64_t kMostTensors = 1 << 16;
    for (uint64_t left = in.Number("tensors of a model's state", kMostTensors); left > 0; --left) {
      state.push_back(LoadTensor(in));
    }
  }
  if (local_) local_->LoadWorker(worker, in);
}

}  // namespace legacy
