// Signs of life: each process says that it is alive, watches the next one, and learns why all end.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/programs/program.h"
#include "trainer/processes/launch.h"
#include "trainer/processes/process_group.h"
#include "trainer/torch/processes/store_line.h"

namespace legacy {

inline constexpr std::chrono::milliseconds kBeat(500);      // between two signs of life
inline constexpr std::chrono::milliseconds kGrace(10'000);  // for a process to end by itself
inline constexpr const char* kLeaderLost =
    "process 0, which leads the others, simulates and writes, ended without a word";

// LifeSigns are those of one process of a group, on a thread of their own.
class LifeSigns {
 public:
  // Opens a line to the store. Throws what LibTorch throws where there is none.
  LifeSigns(const ProcessGroup& group, const Launch& launch, const StopFlag& stop)
      : group_(group), stop_(stop), line_(launch, false) {}
  ~LifeSigns() { Stop(); }

  void Start();
  void Stop();
  // Keeps the reason for which all end, which Heard returns; "": none yet.
  void Hear(const std::string& reason);
  std::string Heard();

 private:
  using SteadyClock = std::chrono::steady_clock;

  void Watch();
  void WatchOnce();
  [[noreturn]] void EndProcess();

  const ProcessGroup& group_;
  const StopFlag& stop_;
  std::thread thread_;
  std::atomic<bool> watching_ = false;
  std::mutex mutex_;
  std::string heard_;
  // State of the thread.
  StoreLine line_;
  int64_t last_beat_ = 0;
  int silent_ = 0;  // beats since the neighbour's last sign of life
  std::optional<SteadyClock::time_point> ending_;
};

}  // namespace legacy
