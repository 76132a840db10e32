#include "trainer/data/decode_pool.h"

#include <string>

#include "base/error.h"

namespace legacy {

// A Batch is one request. Its jobs are decoded from the first to the last, by several threads.
struct DecodePool::Batch {
  std::vector<ImageJob> jobs;
  DecodedImages images;
  bool begun = false;  // true if its memory counts as waiting
  bool taken = false;
  size_t next = 0;  // first job that no thread decodes yet
  size_t running = 0;
  size_t failed_job = 0;
  std::exception_ptr failure;  // of the first job that failed

  bool AllGivenOut() const { return next == jobs.size(); }
};

DecodePool::DecodePool(const ImageFolder& folder, int threads, int64_t most_images)
    : folder_(folder), most_images_(most_images) {
  if (threads < 0) throw Error("decoding threads", std::to_string(threads), "0 or more");
  if (most_images < 0) {
    throw Error("images to decode ahead", std::to_string(most_images), "0 or more");
  }
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Help(); });
}

DecodePool::~DecodePool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DecodePool::Begin(Batch& batch) {
  batch.begun = true;
  batch.images.bytes = static_cast<int64_t>(batch.jobs.size()) * folder_.image_bytes();
  // Memory that is not cleared takes no time under the lock.
  batch.images.pixels =
      std::make_shared_for_overwrite<uint8_t[]>(static_cast<size_t>(batch.images.bytes));
  waiting_ += static_cast<int64_t>(batch.jobs.size());
}

std::shared_ptr<DecodePool::Batch> DecodePool::NextBatch() {
  for (const auto& [ticket, batch] : batches_) {
    if (batch->AllGivenOut()) continue;
    if (!batch->begun) {
      const auto images = static_cast<int64_t>(batch->jobs.size());
      if (waiting_ + images > most_images_) return nullptr;  // later requests do not overtake
      Begin(*batch);
    }
    return batch;
  }
  return nullptr;
}

void DecodePool::DecodeOne(std::unique_lock<std::mutex>& lock, Batch& batch) {
  const size_t job = batch.next++;
  ++batch.running;
  lock.unlock();
  std::exception_ptr failure;
  try {
    const auto bytes = static_cast<size_t>(folder_.image_bytes());
    folder_.Decode(batch.jobs[job], batch.images.span().subspan(job * bytes, bytes));
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  if (failure && (!batch.failure || job < batch.failed_job)) {
    batch.failure = failure;
    batch.failed_job = job;
  }
  if (--batch.running == 0 && batch.AllGivenOut()) done_.notify_all();
}

void DecodePool::Help() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (const std::shared_ptr<Batch> batch = NextBatch()) {
      DecodeOne(lock, *batch);
    } else {
      work_.wait(lock);
    }
  }
}

DecodePool::Ticket DecodePool::Prefetch(std::vector<ImageJob> jobs) {
  const auto batch = std::make_shared<Batch>();
  batch->jobs = std::move(jobs);
  Ticket ticket = 0;
  {
    const std::lock_guard lock(mutex_);
    ticket = next_ticket_++;
    batches_.emplace(ticket, batch);
  }
  work_.notify_all();
  return ticket;
}

DecodedImages DecodePool::Take(Ticket ticket) {
  std::unique_lock lock(mutex_);
  const auto found = batches_.find(ticket);
  if (found == batches_.end() || found->second->taken) {
    throw Error("ticket of decoded images", std::to_string(ticket),
                "one that was given and not yet taken");
  }
  const std::shared_ptr<Batch> batch = found->second;
  batch->taken = true;
  if (!batch->begun) Begin(*batch);
  while (!batch->AllGivenOut()) DecodeOne(lock, *batch);
  done_.wait(lock, [&] { return batch->running == 0; });
  waiting_ -= static_cast<int64_t>(batch->jobs.size());
  batches_.erase(ticket);
  lock.unlock();
  work_.notify_all();
  if (batch->failure) std::rethrow_exception(batch->failure);
  return std::move(batch->images);
}

int64_t DecodePool::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

}  // namespace legacy
