// A task pool trains the tasks of clients in parallel with the simulation that started them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "trainer/torch/federated/client_task.h"

namespace legacy {

// A TaskPool runs tasks in the order in which they began. With one thread it has none of its own,
// and a task runs when it is waited for.
class TaskPool {
 public:
  using Run = std::function<void(LiveTask& task, size_t thread)>;

  TaskPool(int threads, Run run);
  // Waits for the tasks that run; those that have not begun to are forgotten.
  ~TaskPool();
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;

  void Begin(std::shared_ptr<LiveTask> task);
  // Waits until a task is done, or runs it. Throws what it threw.
  void Wait(LiveTask& task);
  // Forgets a task, unless it runs already.
  void Forget(const std::shared_ptr<LiveTask>& task);

 private:
  void Help(size_t thread);

  Run run_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<LiveTask>> queue_;
  bool stop_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace legacy
