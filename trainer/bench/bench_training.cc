// legacy-bench-training measures what the toolkit adds to the bare training loop. It runs N
// workers' dense steps through Training and through a LibTorch loop over the same batches, with one
// thread each or both on a GPU, in turns in one run. It prints medians and their ratio.

#include <torch/torch.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "base/median.h"
#include "trainer/torch/accelerator.h"
#include "trainer/torch/data/batch.h"
#include "trainer/torch/data/device_data.h"
#include "trainer/torch/models/model.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/tasks/classification.h"
#include "trainer/torch/training.h"

namespace legacy {
namespace {

double SecondsOf(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A BareLoop adds N forward and backward passes up in .grad and then steps torch::optim::SGD.
class BareLoop {
 public:
  BareLoop(const TrainingOptions& options, const Task& task, const ModelRequest& request)
      : options_(options),
        task_(task),
        model_(MakeModel(request)),
        sgd_(model_->parameters(), torch::optim::SGDOptions(options.schedule.learning_rate)
                                       .momentum(options.sgd.momentum)),
        feed_(task.Open({options.workers, options.batch_size, options.seed})),
        states_(static_cast<size_t>(options.workers)) {
    if (!options.accelerator) return;
    device_data_.emplace(dynamic_cast<const Classification&>(task).images(),
                         options.accelerator->device());
    model_->to(options.accelerator->device());
  }

  void Step(int64_t step) {
    feed_->Seek(step);
    if (feed_->Begins()) std::ranges::fill(states_, ModelState());
    sgd_.zero_grad();
    for (int w = 0; w < options_.workers; ++w) {
      const Batch batch = BatchOf(w);
      const torch::Tensor loss = task_.Loss(*model_, batch, states_[w], 0);
      (loss / options_.workers).backward();
    }
    sgd_.step();
  }

 private:
  Batch BatchOf(int worker) const {
    if (!device_data_) return feed_->Get(worker);
    const auto& feed = dynamic_cast<const ImageFeed&>(*feed_);
    const torch::Tensor choice = DeviceData::Choice(feed.Samples(worker), std::nullopt);
    return device_data_->Training(choice.to(options_.accelerator->device()));
  }

  TrainingOptions options_;
  const Task& task_;
  std::shared_ptr<Model> model_;
  torch::optim::SGD sgd_;
  std::unique_ptr<Feed> feed_;
  std::vector<ModelState> states_;
  std::optional<DeviceData> device_data_;  // data on an accelerator
};

void Compare(const std::string& dataset, const std::string& model, int workers, int64_t batch,
             int steps, const std::string& device) {
  const std::unique_ptr<Task> task =
      LoadTask({.dataset = dataset, .data_root = {}, .test_limit = 100});
  const ModelRequest request = task->RequestFor(model, 1);
  TrainingOptions options;
  options.workers = workers;
  options.batch_size = batch;
  options.total_steps = steps + 1;
  options.schedule.learning_rate = 0.01;
  options.sgd.momentum = 0.9;
  options.accelerator = ChooseDevice(ParseDeviceRequest(device, "--device")).accelerator;
  Accelerator* const accelerator = options.accelerator.get();
  if (accelerator) accelerator->Use();
  const auto seconds_of = [&](const std::function<void()>& work) {
    return SecondsOf([&] {
      work();
      if (accelerator) torch::cuda::synchronize();
    });
  };
  UseOneThread();
  BareLoop bare(options, *task, request);
  Training training(options, *task, request, MakeUniformPolicy(1),
                    MakeScheme("dense", {.error_feedback = false}));
  bare.Step(0);
  training.Step();
  std::vector<double> bare_seconds, our_seconds, ratios;
  for (int step = 1; step <= steps; ++step) {
    // Both take turns, so that a machine that slows down slows both.
    bare_seconds.push_back(seconds_of([&] { bare.Step(step); }));
    our_seconds.push_back(seconds_of([&] { training.Step(); }));
    ratios.push_back(our_seconds.back() / bare_seconds.back());
  }
  std::printf("%s, %d workers x %lld samples, %d steps, %s\n", model.c_str(), workers,
              static_cast<long long>(batch), steps,
              accelerator ? accelerator->Name().c_str() : "1 thread");
  std::printf("bare loop %.2f ms   Training %.2f ms   ratio of medians %.3f   median ratio %.3f\n",
              1e3 * Median(bare_seconds), 1e3 * Median(our_seconds),
              Median(our_seconds) / Median(bare_seconds), Median(ratios));
}

}  // namespace
}  // namespace legacy

int main(int argc, char** argv) {
  CLI::App app("Training's dense steps against the bare LibTorch loop.", "legacy-bench-training");
  std::string dataset;
  std::string model = "small-cnn";
  int workers = 16;
  int64_t batch = 32;
  int steps = 30;
  app.add_option("--dataset", dataset, "data set [four models on embedded ones, one by one]");
  app.add_option("--model", model, "model")->capture_default_str();
  app.add_option("--workers", workers, "workers")->capture_default_str();
  app.add_option("--batch", batch, "samples of each worker")->capture_default_str();
  app.add_option("--steps", steps, "measured steps")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  std::string device = "cpu";
  app.add_option("--device", device, "cpu, cuda or auto")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (!dataset.empty() || app.count("--model") > 0 || device != "cpu") {
      legacy::Compare(dataset.empty() ? "glyphs" : dataset, model, workers, batch, steps, device);
      return 0;
    }
    legacy::Compare("glyphs", "small-cnn", 16, 32, 30, device);
    legacy::Compare("glyphs", "resnet18", 4, 32, 5, device);
    legacy::Compare("grammar", "lstm:hidden=200,dropout=0", 4, 20, 12, device);
    legacy::Compare("grammar", "gpt-tiny", 4, 8, 12, device);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "legacy-bench-training: %s\n", error.what());
    return 1;
  }
  return 0;
}
