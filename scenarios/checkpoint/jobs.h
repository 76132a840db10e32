// Jobs train side by side, each in a process of its own (base/programs/child.h). They are started
// in order, some at a time. Each has a folder for its journal, its log and its checkpoints.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/programs/child.h"

namespace legacy {

// A Job is the work of one process.
struct Job {
  std::string name;              // for messages: "method topk, seed 1"
  std::filesystem::path folder;  // is made
  // Prepares the job in this process, right before it starts. It may be empty.
  std::function<void()> prepare;
  // Works in the child, and returns one of the statuses below; what it throws ends the run.
  std::function<int()> work;
};

inline constexpr int kJobDone = 0;
inline constexpr int kJobStopped = 3;  // it wrote a checkpoint, if those are on

// A Jobs runs the jobs, and ends those that are left when it is destroyed.
class Jobs {
 public:
  Jobs(std::vector<Job> jobs, size_t at_once);

  // Starts jobs where there is room, and notes those that ended. Throws Error that names a job that
  // failed, and why.
  void Tend();
  // Waits until that job has started.
  void AwaitStart(size_t job);
  // Waits until a job ends, at most a moment, and tends. Throws Error where job `needed` is over.
  void Wait(size_t needed);
  // Returns true where that job's process has ended. One that has written all of its journal may
  // still be busy in its folder.
  bool HasEnded(size_t job) const;
  // Asks all running jobs for a checkpoint.
  void RequestCheckpoints() const;
  // Stops the running jobs, and waits for them.
  void Stop();

 private:
  struct Running {
    size_t job = 0;
    std::unique_ptr<Child> child;
  };

  void End(Running& running);
  void Pause() const;

  std::vector<Job> jobs_;
  const size_t at_once_;
  size_t started_ = 0;
  size_t over_ = static_cast<size_t>(-1);  // the needed job, once it was found to be over
  std::vector<Running> running_;
};

}  // namespace legacy
