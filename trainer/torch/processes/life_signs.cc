#if defined(USE_C10D_GLOO)  // LibTorch has c10d
#include "trainer/torch/processes/life_signs.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

namespace legacy {
namespace {

constexpr int kSilentBeats = 40;  // after which a process counts as dead
constexpr const char* kStop = "stop";

}  // namespace

void LifeSigns::Start() {
  watching_ = true;
  thread_ = std::thread([this] { Watch(); });
}

void LifeSigns::Stop() {
  watching_ = false;
  if (thread_.joinable()) thread_.join();
}

void LifeSigns::Watch() {
  while (watching_) {
    try {
      WatchOnce();
    } catch (const std::exception&) {
      if (!watching_) return;
      // The store ended. The thread that trains has some time to notice by itself.
      if (!ending_) ending_ = SteadyClock::now();
      if (SteadyClock::now() - *ending_ > kGrace) EndProcess();
    }
    std::this_thread::sleep_for(kBeat);
  }
}

// Every process watches the next one, so that a dead process is noticed by one that lives.
void LifeSigns::WatchOnce() {
  line_.Add(StoreKey("beat", group_.rank()), 1);
  if (stop_ != 0 && !group_.Leads()) line_.Set(kStop, "");
  if (group_.Leads() && stop_ == 0 && line_.Has(kStop)) std::raise(SIGTERM);
  if (line_.Has(StoreLine::kReason)) {
    Hear(line_.Get(StoreLine::kReason));
    if (!ending_) ending_ = SteadyClock::now();
    if (SteadyClock::now() - *ending_ > kGrace) EndProcess();
    return;
  }
  const int next = (group_.rank() + 1) % group_.size();
  if (line_.Has(StoreKey("ended", next))) return;
  const int64_t beat = line_.Add(StoreKey("beat", next), 0);
  silent_ = beat == last_beat_ ? silent_ + 1 : 0;
  last_beat_ = beat;
  if (silent_ < kSilentBeats) return;
  line_.SetReason("process " + std::to_string(next) + " (" + line_.Get(StoreKey("name", next)) +
                  ") has been silent for " + std::to_string(kSilentBeats * kBeat.count() / 1000) +
                  " s");
}

// Ends the process at once. Process 0 prints the reason that another process gave; a reason that
// none gave is printed by the processes that are left.
void LifeSigns::EndProcess() {
  const std::string heard = Heard();
  if (group_.Leads() || heard.empty()) {
    std::fprintf(stderr, "legacy-scenario: %s\n", heard.empty() ? kLeaderLost : heard.c_str());
  }
  ReapProcesses(0);  // a stopped process would stay
  _exit(1);
}

void LifeSigns::Hear(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  heard_ = reason;
}

std::string LifeSigns::Heard() {
  const std::lock_guard lock(mutex_);
  return heard_;
}

}  // namespace legacy

#endif
