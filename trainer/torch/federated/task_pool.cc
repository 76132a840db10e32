#include "trainer/torch/federated/task_pool.h"

#include <exception>
#include <utility>

#include "trainer/torch/one_thread.h"

namespace legacy {

TaskPool::TaskPool(int threads, Run run) : run_(std::move(run)) {
  if (threads == 1) return;
  for (int i = 0; i < threads; ++i) {
    helpers_.emplace_back([this, i] { Help(static_cast<size_t>(i)); });
  }
}

TaskPool::~TaskPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    queue_.clear();
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void TaskPool::Begin(std::shared_ptr<LiveTask> task) {
  if (helpers_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void TaskPool::Wait(LiveTask& task) {
  if (helpers_.empty()) {
    if (task.stage == LiveTask::Stage::kWaiting) {
      run_(task, 0);
      task.stage = LiveTask::Stage::kDone;
    }
  } else {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return task.stage == LiveTask::Stage::kDone; });
  }
  if (task.failure) std::rethrow_exception(task.failure);
}

void TaskPool::Forget(const std::shared_ptr<LiveTask>& task) {
  const std::lock_guard lock(mutex_);
  std::erase(queue_, task);
}

void TaskPool::Help(size_t thread) {
  UseOneThread();
  while (true) {
    std::shared_ptr<LiveTask> next;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !queue_.empty(); });
      if (stop_) return;
      next = std::move(queue_.front());
      queue_.pop_front();
      next->stage = LiveTask::Stage::kRunning;
    }
    try {
      run_(*next, thread);
    } catch (...) {
      next->failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      next->stage = LiveTask::Stage::kDone;
    }
    changed_.notify_all();
  }
}

}  // namespace legacy
