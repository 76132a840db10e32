// The processes of a training, as threads of a test.
#pragma once

#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "trainer/processes/process_group.h"

namespace legacy::test {

// ThreadProcesses meet in one place for each call of the group.
class ThreadProcesses {
 public:
  explicit ThreadProcesses(int size) : in_(static_cast<size_t>(size)) {
    for (int rank = 0; rank < size; ++rank) groups_.push_back(std::make_unique<Group>(*this, rank));
  }

  ProcessGroup& operator[](int rank) { return *groups_[rank]; }

  // Runs `process` for each rank, in a thread of its own, and returns why all ended; "" if they
  // completed their work.
  std::string Run(const std::function<void(int rank)>& process) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size(); ++rank) {
      threads.emplace_back([&, rank] {
        try {
          process(rank);
        } catch (const std::exception& error) {
          groups_[rank]->Fail(error.what());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return reason_;
  }

 private:
  class Group : public ProcessGroup {
   public:
    Group(ThreadProcesses& all, int rank)
        : ProcessGroup(rank, all.size(), all.size(), rank), all_(all) {}
    void Meet(const std::string&) override {}
    std::vector<Bytes> AllGather(ByteSpan own) override { return all_.Exchange(rank(), own); }
    Bytes Broadcast(ByteSpan bytes, int root) override {
      return all_.Exchange(rank(), bytes)[root];
    }
    Bytes Move(ByteSpan bytes, int from, int to) override {
      if (from == to) return rank() == to ? Bytes(bytes.begin(), bytes.end()) : Bytes();
      const std::vector<Bytes> gathered = all_.Exchange(rank(), bytes);
      return rank() == to ? gathered[from] : Bytes();
    }
    void Check() override {
      const std::lock_guard lock(all_.mutex_);
      if (!all_.reason_.empty()) throw GroupError(all_.reason_);
    }
    void CarryBy(std::unique_ptr<Carrier>) override {}
    void End() override {}
    bool Fail(const std::string& reason) noexcept override {
      const std::lock_guard lock(all_.mutex_);
      if (all_.reason_.empty()) all_.reason_ = reason;
      all_.met_.notify_all();
      return true;
    }

   private:
    ThreadProcesses& all_;
  };

  int size() const { return static_cast<int>(in_.size()); }

  std::vector<Bytes> Exchange(int rank, ByteSpan own) {
    std::unique_lock lock(mutex_);
    in_[rank].assign(own.begin(), own.end());
    const int64_t call = calls_;
    if (++arrived_ == size()) {
      out_ = in_;
      arrived_ = 0;
      ++calls_;
      met_.notify_all();
    }
    met_.wait(lock, [&] { return calls_ != call || !reason_.empty(); });
    if (calls_ == call) throw GroupError(reason_);
    return out_;  // the next call ends only when this thread has come to it
  }

  std::vector<std::unique_ptr<Group>> groups_;
  std::mutex mutex_;
  std::condition_variable met_;
  std::vector<Bytes> in_, out_;  // by rank
  int arrived_ = 0;
  int64_t calls_ = 0;
  std::string reason_;
};

}  // namespace legacy::test
