#include "trainer/bench/bare_clients.h"

#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "trainer/torch/data/batch.h"
#include "trainer/torch/one_thread.h"

namespace legacy::bench {
namespace {

std::mutex sum_mutex;

}  // namespace

BareClients::BareClients(const Classification& task, const Partition& partition,
                         const ModelRequest& model, const BareOptions& options)
    : task_(task), partition_(partition), options_(options) {
  for (int i = 0; i < options.threads; ++i) models_.push_back(MakeModel(model));
  for (const torch::Tensor& parameter : models_.front()->parameters()) {
    weights_.push_back(parameter.detach().clone());
  }
}

void BareClients::Train(int64_t client, Model& model, std::vector<torch::Tensor>& sums) {
  const std::vector<torch::Tensor> parameters = model.parameters();
  {
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < parameters.size(); ++i) parameters[i].copy_(weights_[i]);
  }
  model.train();
  torch::optim::SGD sgd(
      parameters, torch::optim::SGDOptions(options_.learning_rate).momentum(options_.momentum));
  std::vector<int64_t> samples = partition_.SamplesOf(client);
  std::shuffle(samples.begin(), samples.end(), std::mt19937(static_cast<uint32_t>(client)));
  double loss_sum = 0;
  for (size_t first = 0; first < samples.size(); first += options_.batch_size) {
    const size_t count = std::min<size_t>(options_.batch_size, samples.size() - first);
    const Batch batch =
        TrainingBatch(task_.images(), std::span(samples).subspan(first, count), std::nullopt);
    sgd.zero_grad();
    const torch::Tensor loss =
        torch::cross_entropy_loss(model.Forward(batch.inputs), batch.targets);
    loss.backward();
    sgd.step();
    loss_sum += loss.item<double>();
  }
  const torch::NoGradGuard no_grad;
  const std::lock_guard lock(sum_mutex);
  for (size_t i = 0; i < parameters.size(); ++i) {
    sums[i].add_(parameters[i] - weights_[i], static_cast<double>(samples.size()));
  }
  loss_ += loss_sum;
}

void BareClients::Round(std::span<const int64_t> clients) {
  std::vector<torch::Tensor> sums;
  for (const torch::Tensor& weight : weights_) sums.push_back(torch::zeros_like(weight));
  std::atomic<size_t> next = 0;
  const auto work = [&](Model& model) {
    UseOneThread();
    for (size_t at = next++; at < clients.size(); at = next++) Train(clients[at], model, sums);
  };
  std::vector<std::thread> helpers;
  for (size_t i = 1; i < models_.size(); ++i) helpers.emplace_back(work, std::ref(*models_[i]));
  work(*models_.front());
  for (std::thread& helper : helpers) helper.join();
  double samples = 0;
  for (const int64_t client : clients) samples += static_cast<double>(partition_.SizeOf(client));
  for (size_t i = 0; i < weights_.size(); ++i) weights_[i].add_(sums[i], 1 / samples);
}

}  // namespace legacy::bench
