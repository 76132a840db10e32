#include "trainer/device_backend.h"

#include <torch/torch.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "compress/cuda/device/segments.h"
#include "trainer/one_thread.h"
#include "trainer/optimizer.h"
#include "trainer/update_work.h"

namespace legacy {
namespace {

std::vector<float> OnHost(const torch::Tensor& values) {
  const torch::Tensor copy = values.to(torch::kCPU).contiguous();
  const float* data = copy.data_ptr<float>();
  return {data, data + copy.numel()};
}

// The data set is copied to the device, which is written for images alone.
template <class Part, class Whole>
const Part& OfImages(const Whole& whole, const Task& task) {
  if (const auto* part = dynamic_cast<const Part*>(&whole)) return *part;
  throw Error("device", "an accelerator", "cpu for data set " + task.DataName());
}

Accelerator& InUse(Accelerator& accelerator) {
  accelerator.Use();
  return accelerator;
}

}  // namespace

DeviceBackend::DeviceBackend(const BackendJob& job, UnitPlan plan, Accelerator& accelerator)
    : job_(job),
      feed_(OfImages<ImageFeed>(job.feed, job.task)),
      accelerator_(InUse(accelerator)),
      pool_(job.options.threads, UseOneThread),
      data_(OfImages<Classification>(job.task, job.task).images(), accelerator.device()),
      kernels_(accelerator.Kernels(job.layers)),
      recorded_(static_cast<size_t>(job.options.workers)) {
  CheckSgd(job.options.sgd);
  if (job.options.clip_mean > 0) {
    throw Error("device", "an accelerator", "cpu where the mean gradient is clipped");
  }
  if (job.options.optimizer.kind != OptimizerKind::kSgd) {
    throw Error("device", "an accelerator", "cpu for optimizers other than sgd");
  }
  if (!job.options.sgd.decay_vectors && job.options.sgd.weight_decay > 0) {
    throw Error("device", "an accelerator", "cpu where weight decay leaves out vectors");
  }
  if (job.options.passes > 1) {
    throw Error("device", "an accelerator", "cpu where gradients of several passes are added up");
  }
  // A recorded step would repeat the numbers that were drawn when it was recorded.
  if (job.replicas.front()->Draws()) {
    throw Error("device", "an accelerator", "cpu for a model with dropout");
  }
  const auto floats = torch::TensorOptions(torch::kFloat32).device(accelerator.device());
  const int64_t rows = local() ? job.options.workers : 1, numel = job.Numel();
  weights_ = torch::empty({rows, numel}, floats);
  if (job.options.sgd.momentum > 0) velocity_ = torch::zeros({rows, numel}, floats);
  gradient_ = torch::empty({numel}, floats);
  mean_ = torch::zeros({numel}, floats);
  findings_ = torch::zeros({job.options.workers, 1 + 2 * std::ssize(job.layers)},
                           floats.dtype(torch::kInt32));
  PlaceReplicas();
  if (local()) agreed_ = weights_[0].clone();
  if (job.options.outer && job.options.outer->momentum > 0) outer_ = torch::zeros({numel}, floats);
  OpenAggregation(std::move(plan));
}

void DeviceBackend::PlaceReplicas() {
  const torch::NoGradGuard no_grad;
  for (int w = 0; w < job_.options.workers; ++w) {
    Model& replica = *job_.replicas[w];
    const torch::Tensor row = Row(weights_, w);
    const auto parameters = replica.parameters();
    for (size_t l = 0; l < parameters.size(); ++l) {
      const Unit& layer = job_.layers[l];
      const torch::Tensor place = row.narrow(0, layer.offset, layer.numel).view(layer.shape);
      if (w == 0 || local()) place.copy_(parameters[l]);
      torch::Tensor(parameters[l]).set_data(place);
    }
    replica.to(accelerator_.device());  // moves the buffers, as the parameters are there already
  }
}

// Returns a worker's row, or the only row where workers share the weights.
torch::Tensor DeviceBackend::Row(const torch::Tensor& rows, int worker) const {
  return rows.select(0, local() ? worker : 0);
}

void DeviceBackend::OpenAggregation(UnitPlan plan) {
  const int workers = job_.options.workers;
  std::unique_ptr<ModelExchange> exchange;
  if (job_.policy.Traits().has_candidates) {
    not_on_device_ = "policy " + std::string(job_.policy.Name()) + " chooses within the step";
  } else {
    exchange = accelerator_.OpenExchange(job_.scheme, plan.units, workers, &not_on_device_);
  }
  if (exchange) {
    not_on_device_.clear();
  } else {
    exchange = std::make_unique<HostModelExchange>(job_.scheme, plan.units, workers, pool_);
    host_mean_.resize(static_cast<size_t>(job_.Numel()));
  }
  aggregation_ =
      std::make_unique<Aggregation>(std::move(plan), job_.policy, workers, std::move(exchange));
}

// -------------------------------------------------------------------------------------------------
// A step

void DeviceBackend::RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) {
  accelerator_.Use();
  ChooseSamples();
  for (const int worker : step.active_workers) RunWorker(step, exchanges, worker);
  ReadLosses(step, losses);
}

// Copies the samples of all workers at once. Nobody reads those of inactive workers.
void DeviceBackend::ChooseSamples() {
  std::vector<torch::Tensor> chosen;
  for (int w = 0; w < job_.options.workers; ++w) {
    chosen.push_back(DeviceData::Choice(feed_.Samples(w), feed_.AugmentKey(w)));
  }
  const torch::Tensor all = torch::stack(chosen);
  if (!choices_.defined()) choices_ = torch::empty_like(all, accelerator_.device());
  choices_.copy_(all);
}

// Queues a worker's batch, forward and backward pass, its loss, and the checks of its gradient. All
// of it uses addresses that do not change from step to step.
void DeviceBackend::QueueGradient(int worker) {
  Model& model = *job_.replicas[worker];
  const Batch batch = data_.Training(choices_[worker]);
  const torch::AutoGradMode with_graph(true);  // even where the calling thread has switched it off
  ModelState state;                            // models of images have none
  const torch::Tensor loss = job_.task.Loss(model, batch, state, job_.options.label_smoothing);
  const double scale = job_.LossScale(batch);
  std::vector<torch::Tensor> parts =
      torch::autograd::grad({scale == 1 ? loss : loss * scale}, model.parameters());

  const torch::NoGradGuard no_grad;
  for (torch::Tensor& part : parts) part = part.reshape({-1});
  torch::cat_out(gradient_, parts);
  findings_[worker][0].copy_(loss.view(torch::kInt32));
  auto* const found = reinterpret_cast<uint32_t*>(findings_[worker].data_ptr<int32_t>()) + 1;
  kernels_->FindLargest(gradient_.data_ptr<float>(), found, found + job_.layers.size());
}

void DeviceBackend::RunWorker(const StepInfo& step, bool exchanges, int worker) {
  if (recorded_[worker]) {
    recorded_[worker]();
  } else {
    QueueGradient(worker);
    // The first run has made LibTorch's one-time initialisations, which cannot be recorded.
    if (records_) {
      recorded_[worker] =
          accelerator_.Record([this, worker] { QueueGradient(worker); }, &not_recorded_);
      records_ = recorded_[worker] != nullptr;
    }
  }
  if (gradient_hook_) gradient_hook_(step.step, worker, OnHost(gradient_));
  if (const auto limit = WorkerClip(job_.scheme, job_.options)) {
    kernels_->Clip(gradient_.data_ptr<float>(), *limit);
  }
  if (local()) {
    UpdateWeights(worker, gradient_, step.learning_rate);
    if (exchanges) torch::sub_out(gradient_, agreed_, weights_[worker]);
  }
  if (exchanges) AddGradient(worker);
}

void DeviceBackend::AddGradient(int worker) {
  host_gradient_.clear();
  const auto on_host = [this] {
    if (host_gradient_.empty()) host_gradient_ = OnHost(gradient_);
    return std::span<const float>(host_gradient_);
  };
  const float* gradient = OnDevice() ? gradient_.data_ptr<float>() : on_host().data();
  aggregation_->AddGradient(worker, gradient, [&](size_t u) {
    const Unit& unit = aggregation_->plan().units[u];
    return on_host().subspan(unit.offset, unit.numel);
  });
}

void DeviceBackend::ReadLosses(const StepInfo& step, std::span<double> losses) const {
  const torch::Tensor findings = findings_.to(torch::kCPU);
  const auto layers = job_.layers.size();
  for (const int worker : step.active_workers) {
    const auto* const found =
        reinterpret_cast<const uint32_t*>(findings[worker].data_ptr<int32_t>());
    losses[worker] = std::bit_cast<float>(found[0]);
    for (size_t l = 0; l < layers; ++l) {
      if (found[1 + layers + l] == cuda::kNoPosition) continue;
      ThrowNotFinite(worker, step.step, job_.layers[l], std::bit_cast<float>(found[1 + l]));
    }
  }
}

void DeviceBackend::Finish(const StepInfo& step) {
  accelerator_.Use();
  aggregation_->Finish(OnDevice() ? mean_.data_ptr<float>() : host_mean_.data());
  if (!OnDevice()) mean_.copy_(torch::from_blob(host_mean_.data(), {job_.Numel()}));
  if (local()) return Agree();
  UpdateWeights(0, mean_, step.learning_rate);
}

// Makes the outer update, and copies the weights agreed on to all workers.
void DeviceBackend::Agree() {
  const OuterOptions outer = job_.options.outer.value_or(OuterOptions());
  const SgdOptions sgd = SgdOf(outer);
  kernels_->Update(KindOf(sgd), RatesOf(sgd, outer.rate),
                   {.gradient = mean_.data_ptr<float>(),
                    .weights = agreed_.data_ptr<float>(),
                    .velocity = outer_.defined() ? outer_.data_ptr<float>() : nullptr});
  weights_.copy_(agreed_.expand_as(weights_));
}

void DeviceBackend::UpdateWeights(int row, const torch::Tensor& gradient, double rate) {
  const SgdOptions& sgd = job_.options.sgd;
  kernels_->Update(KindOf(sgd), RatesOf(sgd, rate),
                   {.gradient = gradient.data_ptr<float>(),
                    .weights = weights_[row].data_ptr<float>(),
                    .velocity = velocity_.defined() ? velocity_[row].data_ptr<float>() : nullptr});
}

// -------------------------------------------------------------------------------------------------
// Results

Evaluation DeviceBackend::Evaluate(int worker) {
  accelerator_.Use();
  const torch::NoGradGuard no_grad;
  const int64_t samples = data_.test_samples();
  const int64_t size = job_.options.evaluation_batch;
  Model& replica = *job_.replicas[worker];
  torch::Tensor own;
  if (local()) {
    const torch::Tensor row = weights_[worker];
    own = row.clone();
    const torch::Tensor shares = weights_ * (1.0f / static_cast<float>(job_.options.workers));
    row.zero_();
    for (int w = 0; w < job_.options.workers; ++w) row.add_(shares[w]);
  }
  replica.eval();
  std::vector<torch::Tensor> losses, hits, hits5;
  for (int64_t first = 0; first < samples; first += size) {
    const Batch batch = data_.Test(first, std::min(size, samples - first));
    const ClassificationSums sums = SumsOf(replica.Forward(batch.inputs), batch.targets);
    losses.push_back(sums.loss);
    hits.push_back(sums.hits);
    hits5.push_back(sums.hits5);
  }
  replica.train();
  if (local()) weights_[worker].copy_(own);
  const auto total = [](const std::vector<torch::Tensor>& parts) {
    const torch::Tensor all = torch::stack(parts).to(torch::kCPU, torch::kFloat64);
    return std::accumulate(all.data_ptr<double>(), all.data_ptr<double>() + all.numel(), 0.0);
  };
  const MetricSums sums = {
      total(losses), static_cast<double>(samples), {total(hits), total(hits5)}};
  return job_.task.Conclude({&sums, 1});
}

std::vector<float> DeviceBackend::Weights() const {
  accelerator_.Use();
  return OnHost(local() ? agreed_ : weights_[0]);
}

std::span<const float> DeviceBackend::Mean() {
  accelerator_.Use();
  if (OnDevice()) host_mean_ = OnHost(mean_);
  return host_mean_;
}

BackendReport DeviceBackend::Report() const {
  const bool recorded =
      std::any_of(recorded_.begin(), recorded_.end(), [](const auto& work) { return bool(work); });
  std::string steps = recorded ? accelerator_.RecordName() : "operation by operation";
  if (!records_) steps += ", as LibTorch cannot record them: " + not_recorded_;
  return {.device = accelerator_.device().str(),
          .name = accelerator_.Name(),
          .compression = OnDevice() ? "on the device" : "on the host: " + not_on_device_,
          .steps = steps};
}

}  // namespace legacy
