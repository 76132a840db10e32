#include "trainer/worker_pool.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "base/programs/patience.h"

namespace legacy {

WorkerPool::WorkerPool(int threads, std::function<void()> begin) : begin_(std::move(begin)) {
  if (threads < 1) throw Error("threads", std::to_string(threads), "at least 1");
  if (begin_) begin_();
  for (int thread = 1; thread < threads; ++thread) {
    helpers_.emplace_back([this, thread] { Help(thread); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void WorkerPool::ForEach(int64_t count, const Task& task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    next_ = 0;
    failed_index_ = -1;
    failure_ = nullptr;
    busy_ = static_cast<int>(helpers_.size());
    ++generation_;
  }
  start_.notify_all();
  Drain(0);
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  task_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerPool::Help(int thread) {
  if (begin_) begin_();
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || generation_ != seen; });
      if (stop_) return;
      seen = generation_;
    }
    Drain(thread);
    const std::lock_guard lock(mutex_);
    if (--busy_ == 0) finished_.notify_one();
  }
}

void WorkerPool::Drain(int thread) {
  while (true) {
    int64_t index = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= count_) return;
      index = next_++;
    }
    try {
      GiveUpIfLate();
      (*task_)(index, thread);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (failed_index_ < 0 || index < failed_index_) {
        failed_index_ = index;
        failure_ = std::current_exception();
      }
    }
  }
}

}  // namespace legacy
