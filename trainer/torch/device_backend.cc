#include "trainer/torch/device_backend.h"

#include <torch/torch.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/programs/patience.h"
#include "compress/cuda/device/segments.h"
#include "trainer/optimizer.h"
#include "trainer/torch/evaluation.h"
#include "trainer/torch/one_thread.h"
#include "trainer/update_work.h"

namespace legacy {
namespace {

std::vector<float> OnHost(const torch::Tensor& values) {
  const torch::Tensor copy = values.to(torch::kCPU).contiguous();
  const float* data = copy.data_ptr<float>();
  return {data, data + copy.numel()};
}

// The data set is copied to the device, which is implemented only for images.
template <class Part, class Whole>
const Part& OfImages(const Whole& whole, const Task& task) {
  if (const auto* part = dynamic_cast<const Part*>(&whole)) return *part;
  throw Error("device", "an accelerator", "cpu for data set " + task.DataName());
}

std::vector<int> OwnWorkers(const BackendJob& job) {
  std::vector<int> workers(static_cast<size_t>(job.options.workers));
  std::iota(workers.begin(), workers.end(), 0);
  return job.processes.Own(workers);
}

Accelerator& InUse(Accelerator& accelerator) {
  accelerator.Use();
  return accelerator;
}

}  // namespace

DeviceBackend::DeviceBackend(const BackendJob& job, UnitPlan plan, Accelerator& accelerator)
    : job_(job),
      own_(OwnWorkers(job)),
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
  if (job.options.precision == Precision::kFp16) {
    throw Error("device", "an accelerator",
                "cpu in fp16, where steps that overflow are taken back");
  }
  if (job.options.passes > 1) {
    throw Error("device", "an accelerator", "cpu where gradients of several passes are added up");
  }
  // A recorded step would repeat the numbers that were drawn when it was recorded.
  if (job.model.Draws()) {
    throw Error("device", "an accelerator", "cpu for a model with dropout");
  }
  const auto floats = torch::TensorOptions(torch::kFloat32).device(accelerator.device());
  const int64_t rows = local() ? std::max<int64_t>(std::ssize(own_), 1) : 1, numel = job.Numel();
  weights_ = torch::empty({rows, numel}, floats);
  if (job.options.sgd.momentum > 0) velocity_ = torch::zeros({rows, numel}, floats);
  gradient_ = torch::empty({numel}, floats);
  mean_ = torch::zeros({numel}, floats);
  findings_ =
      torch::zeros({std::ssize(own_), 1 + 2 * std::ssize(job.layers)}, floats.dtype(torch::kInt32));
  if (HasSixteenBits(job.options.precision)) rounded_ = torch::empty_like(weights_);
  PlaceReplicas();
  if (local()) agreed_ = weights_[0].clone();
  if (job.options.outer && job.options.outer->momentum > 0) outer_ = torch::zeros({numel}, floats);
  OpenAggregation(std::move(plan));
}

// A process without workers has a model all the same, which holds the weights.
void DeviceBackend::PlaceReplicas() {
  const torch::NoGradGuard no_grad;
  std::vector<Model*> models;
  for (const int worker : own_) models.push_back(job_.replicas[worker].get());
  if (models.empty()) models.push_back(&job_.model);
  for (size_t m = 0; m < models.size(); ++m) {
    const int64_t number = local() ? static_cast<int64_t>(m) : 0;
    const torch::Tensor row = weights_[number];
    const torch::Tensor read = rounded_.defined() ? rounded_[number] : row;
    const auto parameters = models[m]->parameters();
    for (size_t l = 0; l < parameters.size(); ++l) {
      const Unit& layer = job_.layers[l];
      const torch::Tensor place = row.narrow(0, layer.offset, layer.numel).view(layer.shape);
      if (m == 0 || local()) place.copy_(parameters[l]);
      torch::Tensor(parameters[l])
          .set_data(read.narrow(0, layer.offset, layer.numel).view(layer.shape));
    }
    // Buffers are moved, as the parameters are there already.
    models[m]->to(accelerator_.device());
  }
  Publish();
}

void DeviceBackend::Publish() {
  for (int64_t row = 0; row < weights_.size(0); ++row) Publish(row);
}

void DeviceBackend::Publish(int64_t row) {
  if (rounded_.defined()) rounded_[row].copy_(weights_[row].to(torch::kBFloat16));
}

void DeviceBackend::OpenAggregation(UnitPlan plan) {
  const int workers = job_.options.workers;
  std::unique_ptr<ModelExchange> exchange;
  if (!job_.processes.Alone()) {
    not_on_device_ = "several processes exchange messages there";
  } else if (job_.policy.Traits().has_candidates) {
    not_on_device_ = "policy " + std::string(job_.policy.Name()) + " chooses within the step";
  } else {
    exchange = accelerator_.OpenExchange(job_.scheme, plan.units, workers, &not_on_device_);
  }
  if (exchange) {
    not_on_device_.clear();
  } else {
    exchange = std::make_unique<HostModelExchange>(job_.scheme, plan.units, workers, pool_,
                                                   job_.processes);
    host_mean_.resize(static_cast<size_t>(job_.Numel()));
  }
  aggregation_ = std::make_unique<Aggregation>(std::move(plan), job_.policy, workers,
                                               std::move(exchange), job_.processes);
}

// -------------------------------------------------------------------------------------------------
// A step

void DeviceBackend::UseAccelerator() const {
  accelerator_.Use();
  accelerator_.AllowTf32(job_.options.precision == Precision::kTf32);
}

void DeviceBackend::RunWorkers(const StepInfo& step, bool exchanges, std::span<double> losses) {
  const std::vector<int> active = job_.processes.Own(step.active_workers);
  if (active.empty()) return;
  UseAccelerator();
  ChooseSamples();
  for (const int worker : active) {
    GiveUpIfLate();
    RunWorker(step, exchanges, worker, losses);
  }
  if (OnDevice() || !exchanges) ReadLosses(step, active, losses);
}

// Copies the samples of all own workers at once. Those of inactive workers are not read.
void DeviceBackend::ChooseSamples() {
  std::vector<torch::Tensor> chosen;
  for (const int worker : own_) {
    chosen.push_back(DeviceData::Choice(feed_.Samples(worker), feed_.AugmentKey(worker)));
  }
  const torch::Tensor all = torch::stack(chosen);
  if (!choices_.defined()) choices_ = torch::empty_like(all, accelerator_.device());
  choices_.copy_(all);
}

// Queues a worker's batch, forward and backward pass, its loss, and the checks of its gradient. All
// of it uses addresses that do not change from step to step.
void DeviceBackend::QueueGradient(int worker) {
  Model& model = *job_.replicas[worker];
  const Batch batch = data_.Training(choices_[Slot(worker)]);
  const torch::AutoGradMode with_graph(true);  // even if the calling thread has switched it off
  ModelState state;                            // models of images have none
  const torch::Tensor loss = job_.task.Loss(model, batch, state, job_.options.label_smoothing);
  const double scale = job_.LossScale(batch);
  std::vector<torch::Tensor> parts = model.Gradient(scale == 1 ? loss : loss * scale);

  const torch::NoGradGuard no_grad;
  for (torch::Tensor& part : parts) part = part.reshape({-1});
  torch::cat_out(gradient_, parts);
  if (rounded_.defined()) gradient_.copy_(gradient_.to(torch::kBFloat16));
  const torch::Tensor findings = findings_[Slot(worker)];
  findings[0].copy_(loss.view(torch::kInt32));
  auto* const found = reinterpret_cast<uint32_t*>(findings.data_ptr<int32_t>()) + 1;
  kernels_->FindLargest(gradient_.data_ptr<float>(), found, found + job_.layers.size());
}

void DeviceBackend::RunWorker(const StepInfo& step, bool exchanges, int worker,
                              std::span<double> losses) {
  if (recorded_[worker]) {
    recorded_[worker]();
  } else {
    QueueGradient(worker);
    // The first run has done LibTorch's one-time initialisations, which cannot be recorded.
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
    UpdateWeights(RowOf(worker), gradient_, step.learning_rate);
    if (exchanges) torch::sub_out(gradient_, agreed_, weights_[RowOf(worker)]);
  }
  if (!exchanges) return;
  // If the host compresses, it waits now, and rejects values that are not finite before a codec
  // does.
  if (!OnDevice()) ReadLosses(step, {&worker, 1}, losses);
  AddGradient(worker);
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

void DeviceBackend::ReadLosses(const StepInfo& step, std::span<const int> active,
                               std::span<double> losses) const {
  const torch::Tensor findings = findings_.to(torch::kCPU);
  const auto layers = job_.layers.size();
  for (const int worker : active) {
    const auto* const found =
        reinterpret_cast<const uint32_t*>(findings[Slot(worker)].data_ptr<int32_t>());
    losses[worker] = std::bit_cast<float>(found[0]);
    for (size_t l = 0; l < layers; ++l) {
      if (found[1 + layers + l] == cuda::kNoPosition) continue;
      ThrowNotFinite(worker, step.step, job_.layers[l], std::bit_cast<float>(found[1 + l]),
                     job_.scheme);
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
  Publish();
}

void DeviceBackend::UpdateWeights(int64_t row, const torch::Tensor& gradient, double rate) {
  const SgdOptions& sgd = job_.options.sgd;
  kernels_->Update(KindOf(sgd), RatesOf(sgd, rate),
                   {.gradient = gradient.data_ptr<float>(),
                    .weights = weights_[row].data_ptr<float>(),
                    .velocity = velocity_.defined() ? velocity_[row].data_ptr<float>() : nullptr});
  Publish(row);
}

// -------------------------------------------------------------------------------------------------
// Results

Evaluation DeviceBackend::Evaluate(int worker) {
  UseAccelerator();
  const torch::NoGradGuard no_grad;
  const auto evaluate = [&](Model& model, std::span<const int64_t> parts,
                            std::span<MetricSums> sums) {
    if (!local()) return EvaluateParts(model, parts, sums);
    torch::Tensor row = weights_[job_.processes.Owns(worker) ? RowOf(worker) : 0];
    const torch::Tensor own = row.clone();
    WriteMean(row);
    Publish();
    EvaluateParts(model, parts, sums);
    row.copy_(own);
    Publish();
  };
  return EvaluateTogether(job_, worker, evaluate);
}

// The weights travel between processes layer by layer. `mean` may be a row of them.
void DeviceBackend::WriteMean(torch::Tensor& mean) const {
  const int workers = job_.options.workers;
  for (const Unit& layer : job_.layers) {
    torch::Tensor rows = weights_.narrow(1, layer.offset, layer.numel);
    if (!job_.processes.Alone()) {
      const std::vector<float> all =
          GatherWorkers(job_.processes, workers, OnHost(rows.narrow(0, 0, std::ssize(own_))));
      rows = torch::tensor(all, mean.options()).view({workers, layer.numel});
    }
    const torch::Tensor shares = rows * (1.0f / static_cast<float>(workers));
    torch::Tensor part = mean.narrow(0, layer.offset, layer.numel);
    part.zero_();
    for (int w = 0; w < workers; ++w) part.add_(shares[w]);
  }
}

// Queues all parts before it waits for their sums.
void DeviceBackend::EvaluateParts(Model& model, std::span<const int64_t> parts,
                                  std::span<MetricSums> sums) const {
  if (parts.empty()) return;
  const int64_t size = job_.options.evaluation_batch;
  std::vector<torch::Tensor> losses, hits, hits5;
  for (size_t i = 0; i < parts.size(); ++i) {
    GiveUpIfLate();
    const int64_t first = parts[i] * size;
    const Batch batch = data_.Test(first, std::min(size, data_.test_samples() - first));
    const ClassificationSums part =
        SumsOf(ModelOfPart(model, parts[i])->Forward(batch.inputs), batch.targets);
    losses.push_back(part.loss);
    hits.push_back(part.hits);
    hits5.push_back(part.hits5);
    sums[i].count = static_cast<double>(batch.targets.size(0));
  }
  const auto on_host = [](const std::vector<torch::Tensor>& values) {
    return torch::stack(values).to(torch::kCPU, torch::kFloat64);
  };
  const torch::Tensor loss = on_host(losses), hit = on_host(hits), hit5 = on_host(hits5);
  for (size_t i = 0; i < parts.size(); ++i) {
    sums[i].loss = loss.data_ptr<double>()[i];
    sums[i].values = {hit.data_ptr<double>()[i], hit5.data_ptr<double>()[i]};
  }
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
