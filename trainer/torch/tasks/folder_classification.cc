#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "base/error.h"
#include "trainer/torch/tasks/classification.h"

namespace legacy {
namespace {

// A FolderFeed asks for the batches of the next steps before they are needed.
class FolderFeed : public Feed {
 public:
  FolderFeed(const FolderClassification& task, const FeedOptions& options)
      : task_(task),
        options_(options),
        sampler_(task.Samples(true), options.workers, options.batch_size, options.seed),
        pool_(task.folder(), DecodersBeside(options.threads),
              kAhead * OwnWorkers(options) * options.batch_size) {}

  int64_t StepsPerEpoch() const override { return sampler_.StepsPerEpoch(); }

  void Seek(int64_t step) override {
    while (!asked_.empty() && asked_.begin()->first < step) {
      // Inactive workers did not take their batches.
      for (const Asked& batch : asked_.begin()->second) {
        if (!batch.taken && !batch.samples.empty()) pool_.Take(batch.ticket);
      }
      asked_.erase(asked_.begin());
    }
    step_ = step;
    for (int64_t next = step; next < step + kAhead; ++next) {
      if (!asked_.contains(next)) Ask(next);
    }
  }

  Batch Get(int worker) const override {
    const Asked& asked = asked_.at(step_)[static_cast<size_t>(worker)];
    asked.taken = true;
    return task_.BatchOf(true, asked.samples, pool_.Take(asked.ticket));
  }

 private:
  static constexpr int64_t kAhead = 2;  // steps, the current one included

  struct Asked {
    std::vector<int64_t> samples;  // numbers in the folder
    DecodePool::Ticket ticket = 0;
    mutable bool taken = false;
  };

  // Computing threads decode the images that are missing; the other cores decode ahead, and one
  // more thread uses the time in which workers wait for the exchange.
  static int DecodersBeside(int threads) {
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()) - threads);
  }

  static int64_t OwnWorkers(const FeedOptions& options) {
    return std::max(1, (options.workers - options.first + options.stride - 1) / options.stride);
  }

  void Ask(int64_t step) {
    sampler_.Seek(step);
    std::vector<Asked>& batches = asked_[step];
    for (int worker = 0; worker < options_.workers; ++worker) {
      Asked& asked = batches.emplace_back();
      if (worker % options_.stride != options_.first) continue;
      std::vector<ImageJob> jobs;
      for (const int64_t sample : sampler_.Batch(worker)) {
        asked.samples.push_back(task_.InFolder(true, sample));
        jobs.push_back({.training = true,
                        .sample = asked.samples.back(),
                        .augment = RandomKey{.seed = options_.seed,
                                             .step = static_cast<uint64_t>(step),
                                             .worker = static_cast<uint32_t>(worker),
                                             .layer = static_cast<uint32_t>(jobs.size()),
                                             .purpose = Purpose::kAugment}});
      }
      asked.ticket = pool_.Prefetch(std::move(jobs));
    }
  }

  const FolderClassification& task_;
  FeedOptions options_;
  Sampler sampler_;
  mutable DecodePool pool_;
  std::map<int64_t, std::vector<Asked>> asked_;  // batches of each worker, by step
  int64_t step_ = 0;
};

}  // namespace

FolderClassification::FolderClassification(const Options& options)
    : options_(options), folder_(options.folder) {
  for (const bool training : {true, false}) {
    if (folder_.samples(training) > 0) continue;
    throw Error("data set " + options_.name,
                "0 images in " + std::string(training ? "train/" : "val/"), "at least 1");
  }
  if (!options_.folder.note) return;
  for (const std::string& line : folder_.Unread()) options_.folder.note("not read: " + line);
}

ModelRequest FolderClassification::RequestFor(const std::string& model, uint64_t seed) const {
  return {.name = model,
          .channels = 3,
          .height = folder_.size(),
          .width = folder_.size(),
          .classes = static_cast<int>(folder_.classes().size()),
          .seed = seed};
}

std::unique_ptr<Feed> FolderClassification::Open(const FeedOptions& options) const {
  return std::make_unique<FolderFeed>(*this, options);
}

int64_t FolderClassification::Samples(bool training) const {
  const int64_t limit = training ? options_.train_limit : options_.test_limit;
  const int64_t all = folder_.samples(training);
  return limit > 0 ? std::min(limit, all) : all;
}

int64_t FolderClassification::InFolder(bool training, int64_t sample) const {
  return sample * folder_.samples(training) / Samples(training);
}

Batch FolderClassification::BatchOf(bool training, std::span<const int64_t> samples,
                                    const DecodedImages& pixels) const {
  const int64_t size = folder_.size();
  const torch::Tensor images =
      torch::from_blob(pixels.pixels.get(), {std::ssize(samples), 3, size, size}, torch::kUInt8);
  const torch::Tensor labels = torch::empty({std::ssize(samples)}, torch::kInt64);
  std::ranges::transform(samples, labels.data_ptr<int64_t>(),
                         [&](int64_t sample) { return folder_.label(training, sample); });
  return {NormalizeImages(images, options_.mean, options_.stddev), labels};
}

Batch FolderClassification::TestImages(int64_t first, int64_t count) const {
  const DecodedImages pixels = {std::make_shared<uint8_t[]>(count * folder_.image_bytes()),
                                count * folder_.image_bytes()};
  std::vector<int64_t> samples;
  for (int64_t i = 0; i < count; ++i) {
    samples.push_back(InFolder(false, first + i));
    folder_.Decode({.training = false, .sample = samples.back()},
                   pixels.span().subspan(i * folder_.image_bytes(), folder_.image_bytes()));
  }
  return BatchOf(false, samples, pixels);
}

}  // namespace legacy
