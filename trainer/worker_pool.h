// Threads that run the simulated workers. Parallelism is over workers only: each thread computes
// with one intra-op thread, since LibTorch's sums differ between one and two.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace legacy {

// One intra-op thread for LibTorch and OpenBLAS on the calling thread; called by every thread that
// computes.
void UseOneThread();

class WorkerPool {
 public:
  using Task = std::function<void(int64_t index, int thread)>;

  // `threads` >= 1, the calling thread included. Throws Error otherwise.
  explicit WorkerPool(int threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

  // Runs task(i, thread) for i in [0, count), thread in [0, threads()), in any order; returns when
  // all are done. All indices run even where some throw; then the exception of the lowest index is
  // rethrown. Not reentrant.
  void ForEach(int64_t count, const Task& task);

 private:
  void Help(int thread);
  void Drain(int thread);

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
