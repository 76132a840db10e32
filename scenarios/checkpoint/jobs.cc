#include "scenarios/checkpoint/jobs.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "base/programs/patience.h"

namespace legacy {

Jobs::Jobs(std::vector<Job> jobs, size_t at_once) : jobs_(std::move(jobs)), at_once_(at_once) {}

void Jobs::End(Running& running) {
  const Child::End end = running.child->Wait();
  running.child.reset();
  if (end.status == kJobDone || end.status == kJobStopped) return;
  throw Error(jobs_[running.job].name + ": " + end.how);
}

void Jobs::Tend() {
  for (Running& running : running_) {
    pollfd file = {running.child->file(), POLLIN, 0};
    if (poll(&file, 1, 0) > 0) End(running);  // jobs send nothing, so this one has ended
  }
  std::erase_if(running_, [](const Running& running) { return running.child == nullptr; });
  while (running_.size() < at_once_ && started_ < jobs_.size()) {
    const size_t next = started_++;
    const Job& job = jobs_[next];
    MakeFolder(job.folder);
    if (job.prepare) job.prepare();
    running_.push_back(
        {next, std::make_unique<Child>(job.folder / "log",
                                       [&job](const Child::Say&) { return job.work(); })});
  }
}

void Jobs::Wait(size_t needed) {
  Tend();
  const auto runs = [&](const Running& running) { return running.job == needed; };
  // What the job wrote last may not have been read yet, so the caller looks once more.
  const bool over = needed < started_ && std::ranges::none_of(running_, runs);
  if (over && std::exchange(over_, needed) == needed) {
    throw Error(jobs_[needed].name + ": its process ended without all of its steps");
  }
  Pause();
}

void Jobs::Pause() const {
  GiveUpIfLate();
  constexpr int kMoment = 5;  // milliseconds
  std::vector<pollfd> files;
  for (const Running& running : running_) files.push_back({running.child->file(), POLLIN, 0});
  poll(files.data(), files.size(), kMoment);
}

void Jobs::AwaitStart(size_t job) {
  for (Tend(); started_ <= job; Tend()) Pause();
}

bool Jobs::HasEnded(size_t job) const {
  const auto runs = [job](const Running& running) { return running.job == job; };
  return job < started_ && std::ranges::none_of(running_, runs);
}

void Jobs::RequestCheckpoints() const {
  for (const Running& running : running_) running.child->Signal(SIGUSR1);
}

void Jobs::Stop() {
  started_ = jobs_.size();
  for (const Running& running : running_) running.child->Signal(SIGUSR2);
  for (Running& running : running_) End(running);
  running_.clear();
}

}  // namespace legacy
