// A worker pool has the threads that run the simulated workers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace legacy {

// A WorkerPool runs tasks by index on a fixed number of threads.
class WorkerPool {
 public:
  using Task = std::function<void(int64_t index, int thread)>;

  // `threads` >= 1 counts the calling thread. Each thread calls `begin` first. Throws Error where
  // `threads` < 1.
  explicit WorkerPool(int threads, std::function<void()> begin = nullptr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Runs task(i, thread) for i in [0, count), thread in [0, threads()), in any order, and returns
  // when all are done. All indices run even where some throw; then the exception of the lowest
  // index is rethrown. Before each index it gives up where it is late (base/programs/patience.h).
  // It is not reentrant.
  void ForEach(int64_t count, const Task& task);

 private:
  void Help(int thread);
  void Drain(int thread);

  const std::function<void()> begin_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  const Task* task_ = nullptr;
  int64_t count_ = 0;
  int64_t next_ = 0;
  uint64_t generation_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  int64_t failed_index_ = -1;
  std::exception_ptr failure_;
  std::vector<std::thread> helpers_;
};

}  // namespace legacy
