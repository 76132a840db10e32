// A decode pool has threads that decode images ahead of the training.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "trainer/data/image_folder.h"

namespace legacy {

// DecodedImages are the pixels of a batch, [images, 3, size, size]. Copies share them.
struct DecodedImages {
  std::shared_ptr<uint8_t[]> pixels;
  int64_t bytes = 0;

  std::span<uint8_t> span() const { return {pixels.get(), static_cast<size_t>(bytes)}; }
};

// A DecodePool decodes batches in the order in which they were asked for. All its functions may be
// called by any thread.
class DecodePool {
 public:
  // A Ticket names a batch that was asked for.
  using Ticket = uint64_t;

  // At most `most_images` decoded images wait to be taken; a batch that is larger than that is
  // decoded when it is taken. `threads` may be 0: then all work is done in Take(). `folder` must
  // outlive the pool. Throws Error on negative counts.
  DecodePool(const ImageFolder& folder, int threads, int64_t most_images);
  // Ends the threads. Batches that nobody took are dropped.
  ~DecodePool();
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;

  // Asks for a batch, and returns at once.
  Ticket Prefetch(std::vector<ImageJob> jobs);
  // Returns the batch's pixels, and forgets it. The caller helps to decode it where it is not done.
  // Throws the Error of its first job that failed, and Error where the ticket was taken or never
  // given.
  DecodedImages Take(Ticket ticket);

  // Images that are decoded, or being decoded, and not yet taken.
  int64_t waiting() const;

 private:
  struct Batch;

  void Help();
  // Decodes the next image of the batch, for which it lets go of the lock.
  void DecodeOne(std::unique_lock<std::mutex>& lock, Batch& batch);
  // Returns the first batch with an image that may be decoded now, or nothing.
  std::shared_ptr<Batch> NextBatch();
  void Begin(Batch& batch);

  const ImageFolder& folder_;
  const int64_t most_images_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  std::map<Ticket, std::shared_ptr<Batch>> batches_;
  Ticket next_ticket_ = 1;
  int64_t waiting_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace legacy
