#include "trainer/training.h"

#include <torch/torch.h>
#include <torch/version.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "compress/error.h"
#include "trainer/batch.h"
#include "trainer/local_models.h"
#include "trainer/model.h"
#include "trainer/sampler.h"
#include "trainer/worker_pool.h"

namespace legacy {
namespace {

void Check(const TrainingOptions& options, const Dataset& dataset, const ModelRequest& model) {
  if (options.workers < 1) throw Error("workers", std::to_string(options.workers), "at least 1");
  if (options.total_steps < 1) {
    throw Error("steps", std::to_string(options.total_steps), "at least 1");
  }
  if (options.evaluation_batch < 1) {
    throw Error("evaluation-batch", std::to_string(options.evaluation_batch), "at least 1");
  }
  if (options.local_steps < 1) {
    throw Error("local steps", std::to_string(options.local_steps), "at least 1");
  }
  CheckSchedule(options.schedule);
  const auto require = [&](const char* what, int got, int wanted) {
    if (got == wanted) return;
    throw Error("model " + model.name + ": " + what, std::to_string(got),
                std::to_string(wanted) + " with data set " + dataset.name);
  };
  require("channels", model.channels, dataset.channels());
  require("height", model.height, dataset.height());
  require("width", model.width, dataset.width());
  require("classes", model.classes, dataset.classes);
}

bool AllFinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7F800000;  // all ones in infinities and NaNs alone
  uint32_t bad = 0;
  for (float value : values) {
    bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(value) & kExponent) == kExponent);
  }
  return bad == 0;
}

}  // namespace

struct Training::Impl {
  Impl(const TrainingOptions& chosen, const Dataset& data, const ModelRequest& model,
       std::unique_ptr<Policy> chosen_policy, std::unique_ptr<Scheme> chosen_scheme);

  double RunWorker(int worker, std::span<float> gradient);
  bool Exchanges() const { return (step + 1) % options.local_steps == 0; }
  void ClipLocally(std::span<float> gradient) const;
  double Gradient(Model& model, const Batch& batch, std::span<float> gradient) const;
  void CheckFinite(int worker, std::span<const float> gradient) const;
  void RescaleResiduals(double rate);
  void UpdateWeights(double rate);
  // The same list; all workers where it is empty. Throws Error.
  std::vector<int> Participants(std::span<const int> given) const;

  TrainingOptions options;
  const Dataset& dataset;
  std::unique_ptr<Policy> policy;
  std::unique_ptr<Scheme> scheme;
  WorkerPool pool;
  Sampler sampler;
  std::vector<std::shared_ptr<Model>> replicas;  // by worker; the first owns the weights
  std::vector<Unit> layers;
  std::vector<OperationCost> costs;
  Sgd sgd;
  Aggregation aggregation;
  std::optional<LocalModels> local;  // with local steps
  LinkEstimate link;
  std::vector<BucketWork> buckets;            // of the last step
  double worker_loss = 0;                     // of the first participant's last batch
  std::vector<std::vector<float>> gradients;  // by pool thread
  std::vector<float> mean;
  MessageHook hook;
  GradientHook gradient_hook;
  std::vector<int64_t> steps_of;  // steps that each worker took part in
  int64_t step = 0;
  double last_rate = 0;  // of the last step with a positive rate
};

namespace {

std::vector<std::shared_ptr<Model>> MakeReplicas(const ModelRequest& request, int workers,
                                                 bool share) {
  std::vector<std::shared_ptr<Model>> replicas{MakeModel(request)};
  while (replicas.size() < static_cast<size_t>(workers)) {
    replicas.push_back(share ? ShareParameters(*replicas.front(), request) : MakeModel(request));
  }
  for (const auto& replica : replicas) replica->train();
  return replicas;
}

std::vector<float> FlatWeights(Model& model) {
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

int64_t Numel(const std::vector<Unit>& layers) {
  return layers.back().offset + layers.back().numel;
}

TrainingOptions Checked(const TrainingOptions& options, const Dataset& dataset,
                        const ModelRequest& model) {
  Check(options, dataset, model);
  return options;
}

}  // namespace

Training::Impl::Impl(const TrainingOptions& chosen, const Dataset& data, const ModelRequest& model,
                     std::unique_ptr<Policy> chosen_policy, std::unique_ptr<Scheme> chosen_scheme)
    : options(Checked(chosen, data, model)),
      dataset(data),
      policy(std::move(chosen_policy)),
      scheme(std::move(chosen_scheme)),
      pool(options.threads),
      sampler(data.train_labels.size(0), options.workers, options.batch_size, options.seed),
      replicas(MakeReplicas(model, options.workers, options.local_steps == 1)),
      layers(LayersOf(*replicas.front())),
      costs(replicas.front()->Costs()),
      sgd(Numel(layers), options.sgd),
      aggregation(PlanUnits(layers, options.scope, options.buckets), *scheme, *policy,
                  options.workers, pool),
      gradients(static_cast<size_t>(options.threads),
                std::vector<float>(static_cast<size_t>(Numel(layers)))),
      mean(static_cast<size_t>(Numel(layers))),
      steps_of(static_cast<size_t>(options.workers)) {
  if (scheme->OwnsMomentum() && options.sgd.momentum != 0) {
    throw Error("momentum", std::to_string(options.sgd.momentum),
                "0 with scheme " + std::string(scheme->Name()) +
                    ", which applies momentum before it compresses");
  }
  if (options.local_steps > 1) local.emplace(replicas, layers, options.sgd);
}

// Gradient and first encodings of one worker; returns its loss.
double Training::Impl::RunWorker(int worker, std::span<float> gradient) {
  std::optional<RandomKey> augment;
  if (dataset.augment) {
    augment = RandomKey{.seed = options.seed,
                        .step = static_cast<uint64_t>(step),
                        .worker = static_cast<uint32_t>(worker),
                        .layer = 0,
                        .purpose = Purpose::kAugment};
  }
  const Batch batch = TrainingBatch(dataset, sampler.Batch(worker), augment);
  const double loss = Gradient(*replicas[worker], batch, gradient);
  CheckFinite(worker, gradient);
  if (gradient_hook) gradient_hook(step, worker, gradient);
  ClipLocally(gradient);
  if (local) {
    local->Update(worker, gradient, LearningRate(options.schedule, step, options.total_steps));
    if (!Exchanges()) return loss;
    local->Moved(worker, gradient);
  }
  aggregation.TakeGradient(worker, gradient);
  return loss;
}

double Training::Impl::Gradient(Model& model, const Batch& batch, std::span<float> gradient) const {
  const torch::AutoGradMode with_graph(true);  // whatever the caller's thread has switched off
  const std::vector<torch::Tensor> parameters = model.parameters();
  const torch::Tensor loss = torch::cross_entropy_loss(model.Forward(batch.images), batch.labels);
  const auto parts = torch::autograd::grad({loss}, parameters);
  for (size_t l = 0; l < parts.size(); ++l) {
    const torch::Tensor part = parts[l].contiguous();
    std::memcpy(gradient.data() + layers[l].offset, part.data_ptr<float>(),
                static_cast<size_t>(layers[l].numel) * sizeof(float));
  }
  return loss.item<double>();
}

// To the scheme's norm, over all layers.
void Training::Impl::ClipLocally(std::span<float> gradient) const {
  const std::optional<double> limit = scheme->LocalClipNorm(options.workers);
  if (!limit) return;
  double squared = 0;
  for (const float x : gradient) squared += static_cast<double>(x) * static_cast<double>(x);
  const double norm = std::sqrt(squared);
  if (norm <= *limit) return;
  const auto factor = static_cast<float>(*limit / norm);
  for (float& x : gradient) x *= factor;
}

void Training::Impl::CheckFinite(int worker, std::span<const float> gradient) const {
  if (AllFinite(gradient)) return;
  for (const Unit& layer : layers) {
    const auto part = gradient.subspan(layer.offset, layer.numel);
    const auto bad =
        std::find_if_not(part.begin(), part.end(), [](float x) { return std::isfinite(x); });
    if (bad == part.end()) continue;
    throw Error("worker " + std::to_string(worker) + ", step " + std::to_string(step) +
                    ", layer '" + layer.name + "': gradient",
                std::to_string(*bad), "finite numbers; a lower learning rate may help");
  }
}

// Residuals keep the step that they stand for: what was left at the old rate is applied as if at
// that rate.
void Training::Impl::RescaleResiduals(double rate) {
  if (rate <= 0) return;
  const double before = std::exchange(last_rate, rate);
  // With local steps residuals are in units of the weights.
  if (!options.rescale_residuals || local || before <= 0 || before == rate) return;
  const float factor = static_cast<float>(before / rate);
  for (size_t u = 0; u < aggregation.plan().units.size(); ++u) {
    aggregation.exchange(static_cast<int>(u)).RescaleResiduals(factor);
  }
}

void Training::Impl::UpdateWeights(double rate) {
  if (local) return local->Agree(mean);
  const std::vector<torch::Tensor> parameters = replicas.front()->parameters();
  pool.ForEach(static_cast<int64_t>(layers.size()), [&](int64_t l, int) {
    const Unit& layer = layers[l];
    const auto numel = static_cast<size_t>(layer.numel);
    sgd.Update({parameters[l].data_ptr<float>(), numel}, {mean.data() + layer.offset, numel},
               layer.offset, rate);
  });
}

std::vector<int> Training::Impl::Participants(std::span<const int> given) const {
  std::vector<int> participants(given.begin(), given.end());
  if (participants.empty()) {
    participants.resize(static_cast<size_t>(options.workers));
    std::iota(participants.begin(), participants.end(), 0);
  }
  int least = 0;
  for (const int worker : participants) {
    if (worker < least || worker >= options.workers) {
      throw Error("participants: worker", std::to_string(worker),
                  "ascending numbers below " + std::to_string(options.workers));
    }
    least = worker + 1;
  }
  return participants;
}

Training::Training(const TrainingOptions& options, const Dataset& dataset,
                   const ModelRequest& model, std::unique_ptr<Policy> policy,
                   std::unique_ptr<Scheme> scheme)
    : impl_(std::make_unique<Impl>(options, dataset, model, std::move(policy), std::move(scheme))) {
}

Training::~Training() = default;

std::string LibTorchVersion() { return TORCH_VERSION; }

StepOutcome Training::Step(std::span<const int> participants) {
  Impl& my = *impl_;
  const std::vector<int> active = my.Participants(participants);
  const auto count = static_cast<int64_t>(active.size());
  StepOutcome outcome;
  outcome.step = my.step;
  outcome.learning_rate = LearningRate(my.options.schedule, my.step, my.options.total_steps);
  my.RescaleResiduals(outcome.learning_rate);

  if (my.local && count < my.options.workers) {
    throw Error("local steps", std::to_string(my.options.local_steps),
                "1 where workers may be dropped");
  }
  const bool exchanges = my.Exchanges();
  if (exchanges) {
    const StepInfo info{.step = my.step,
                        .total_steps = my.options.total_steps,
                        .learning_rate = outcome.learning_rate,
                        .steps_per_epoch = my.sampler.StepsPerEpoch(),
                        .link = my.link};
    my.aggregation.Begin(my.options.seed, info, participants);
  }
  my.sampler.Seek(my.step);

  std::vector<double> losses(static_cast<size_t>(my.options.workers));
  my.pool.ForEach(count, [&](int64_t i, int thread) {
    losses[active[i]] = my.RunWorker(active[i], my.gradients[thread]);
  });
  for (const int worker : active) ++my.steps_of[worker];
  my.buckets.clear();
  if (exchanges) {
    my.aggregation.Finish(my.mean, my.hook);
    my.UpdateWeights(outcome.learning_rate);
    my.buckets = my.aggregation.Buckets();
    outcome.units = my.aggregation.Outcomes();
  } else {
    outcome.units.resize(my.aggregation.plan().units.size());
  }

  outcome.loss = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(count);
  outcome.work.step = my.step;
  outcome.work.workers = my.options.workers;
  outcome.work.batch_size = my.options.batch_size;
  if (count < my.options.workers) outcome.work.participants = active;
  outcome.work.buckets = my.buckets;
  my.worker_loss = losses[active.front()];
  ++my.step;
  return outcome;
}

void Training::Observe(const StepTimes& times) {
  Impl& my = *impl_;
  // A bucket's time, by bytes, to its units.
  const UnitPlan& plan = my.aggregation.plan();
  std::vector<double> bytes(plan.units.size());
  if (!my.buckets.empty()) bytes = my.aggregation.UnitBytes();
  std::vector<double> exposed(bytes.size());
  for (size_t b = 0; b < times.bucket_exposed_seconds.size(); ++b) {
    const std::vector<int>& layers = my.buckets.at(b).layers;
    const auto travels = [&](size_t u) {
      return std::find(layers.begin(), layers.end(), plan.unit_layers[u].front()) != layers.end();
    };
    double sum = 0;
    for (size_t u = 0; u < bytes.size(); ++u) sum += travels(u) ? bytes[u] : 0;
    for (size_t u = 0; u < bytes.size() && sum > 0; ++u) {
      if (travels(u)) exposed[u] += times.bucket_exposed_seconds[b] * bytes[u] / sum;
    }
  }
  my.policy->Observe({.step = my.step - 1,
                      .loss = my.worker_loss,
                      .mean_gradient = my.mean,
                      .simulated_seconds = times.simulated_seconds,
                      .compute_seconds = times.compute_seconds,
                      .codec_seconds = times.codec_seconds,
                      .communication_seconds = times.communication_seconds,
                      .message_bytes = std::accumulate(bytes.begin(), bytes.end(), 0.0),
                      .unit_bytes = bytes,
                      .unit_exposed_seconds = exposed});
}

void Training::SetLink(const LinkEstimate& link) { impl_->link = link; }

Evaluation Training::Evaluate() {
  Impl& my = *impl_;
  const int64_t samples = my.dataset.test_labels.size(0);
  const int64_t size = my.options.evaluation_batch;
  const int64_t batches = (samples + size - 1) / size;
  std::vector<double> losses(static_cast<size_t>(batches));
  std::vector<int64_t> hits(static_cast<size_t>(batches));
  const auto most = std::max_element(my.steps_of.begin(), my.steps_of.end());
  const auto& replica = my.replicas[most - my.steps_of.begin()];
  const std::vector<float> own = my.local ? FlatWeights(*replica) : std::vector<float>();
  if (my.local) my.local->WriteMean(*replica);
  replica->eval();
  my.pool.ForEach(batches, [&](int64_t b, int) {
    const torch::NoGradGuard no_grad;
    const Batch batch = TestBatch(my.dataset, b * size, std::min(size, samples - b * size));
    const torch::Tensor logits = replica->Forward(batch.images);
    losses[b] =
        torch::cross_entropy_loss(logits, batch.labels, {}, at::Reduction::Sum).item<double>();
    hits[b] = (logits.argmax(1) == batch.labels).sum().item<int64_t>();
  });
  replica->train();
  if (my.local) SetWeights(*replica, own);
  const double total = static_cast<double>(samples);
  return {std::accumulate(losses.begin(), losses.end(), 0.0) / total,
          static_cast<double>(std::accumulate(hits.begin(), hits.end(), int64_t{0})) / total};
}

void Training::SetMessageHook(MessageHook hook) { impl_->hook = std::move(hook); }

int64_t Training::step() const { return impl_->step; }
int64_t Training::StepsPerEpoch() const { return impl_->sampler.StepsPerEpoch(); }
const TrainingOptions& Training::options() const { return impl_->options; }
const Policy& Training::policy() const { return *impl_->policy; }
const Scheme& Training::scheme() const { return *impl_->scheme; }

std::span<const Unit> Training::Layers() const { return impl_->layers; }
std::span<const Unit> Training::Units() const { return impl_->aggregation.plan().units; }
std::span<const OperationCost> Training::Costs() const { return impl_->costs; }

std::vector<int64_t> Training::LayerNumels() const {
  std::vector<int64_t> numels;
  for (const Unit& layer : impl_->layers) numels.push_back(layer.numel);
  return numels;
}

std::vector<float> Training::Weights() const {
  return impl_->local ? impl_->local->Agreed() : FlatWeights(*impl_->replicas.front());
}

void Training::SetGradientHook(GradientHook hook) { impl_->gradient_hook = std::move(hook); }

std::span<const float> Training::MeanGradient() const { return impl_->mean; }
Model& Training::Replica(int worker) { return *impl_->replicas.at(worker); }
Exchange& Training::UnitExchange(int unit) { return impl_->aggregation.exchange(unit); }
Sgd& Training::Optimizer() { return impl_->sgd; }

}  // namespace legacy
