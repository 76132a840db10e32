// Runs kernels (compress/cuda/device/block.h) under ThreadSanitizer as a GPU runs them: every
// thread of a block goes through the whole kernel by itself, and memory is ordered only by Sync(),
// by the collectives of a block and by Fence(). This finds faults that HostDevice cannot show:
// accesses of a block's threads without a Sync() between, accesses of several blocks, a Sync() that
// not all threads reach, shared memory that is read before it is written (it starts with arbitrary
// bytes).
//
// Threads are fibers; the sanitizer is told which switches order memory. Teams of fibers take
// blocks in turn: the sanitizer takes two blocks as unordered unless their numbers differ by a
// multiple of kTeams. Fibers are slow, so that only the first launches of each kernel with one
// block, and with a few blocks, run on them; HostDevice runs the others.
#pragma once

#include <sanitizer/tsan_interface.h>
#include <ucontext.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "compress/cuda/device/host_device.h"

extern "C" void AnnotateIgnoreReadsBegin(const char* file, int line);
extern "C" void AnnotateIgnoreReadsEnd(const char* file, int line);
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);

namespace legacy::test {

// Marks functions whose plain memory accesses the sanitizer ignores.
#define LEGACY_OUT_OF_SIGHT __attribute__((no_sanitize("thread"), noinline))

// While an OutOfSight exists, the sanitizer ignores the thread's reads and writes.
class OutOfSight {
 public:
  OutOfSight() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~OutOfSight() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
  OutOfSight(const OutOfSight&) = delete;
};

// Runs the threads of one block at a time.
class FiberTeam {
 public:
  static constexpr int kMost = 1024;  // threads
  using Body = void (*)(void* block, int thread);

  // Calls body(block, t) for all threads. Their work is ordered after the caller's earlier work;
  // only Join() orders later work after theirs.
  void Run(int threads, Body body, void* block) {
    __tsan_release(&started_);
    const OutOfSight guard;
    Grow(threads);
    body_ = body;
    block_ = block;
    caller_ = __tsan_get_current_fiber();
    for (int t = 0; t < threads; ++t) fibers_[t]->state = State::kReady;
    for (int left = threads; left > 0;) {
      bool any = false;
      for (int t = 0; t < threads; ++t) {
        Fiber& fiber = *fibers_[t];
        if (fiber.state != State::kReady) continue;
        any = true;
        __tsan_switch_to_fiber(fiber.sanitizer, __tsan_switch_to_fiber_no_sync);
        swapcontext(&context_, &fiber.context);
        if (fiber.state == State::kEnded) --left;
      }
      if (!any) {
        std::fputs("a Sync() or a collective that not all threads reach\n", stderr);
        std::abort();
      }
    }
  }
  void Join() { __tsan_acquire(&ended_); }

  // Threads call this; it returns when all threads of the block, or of the warp, have called.
  void MeetBlock(int thread, int threads) {
    __tsan_release(&met_);
    Meet(thread, kMost / cuda::kWarp, 0, threads);
    __tsan_acquire(&met_);
  }
  void MeetWarp(int thread) {  // orders no memory
    const int warp = thread / cuda::kWarp;
    Meet(thread, warp, warp * cuda::kWarp, cuda::kWarp);
  }
  // Threads pass values to each other by these two functions.
  template <class T>
  void Post(int thread, T x) {
    static_assert(sizeof(T) <= sizeof(uint64_t));
    uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof x);
    PostBits(thread, bits);
  }
  template <class T>
  T Posted(int thread) const {
    const uint64_t bits = PostedBits(thread);
    T x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
  }

 private:
  enum class State : uint8_t { kEnded, kReady, kWaits };
  struct Fiber {
    ~Fiber() { __tsan_destroy_fiber(sanitizer); }
    static constexpr size_t kStack = 128 << 10;
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack = std::make_unique<std::byte[]>(kStack);
    void* sanitizer = __tsan_create_fiber(0);
    State state = State::kEnded;
    int waits_for = 0;
  };

  void Grow(int threads) {
    while (static_cast<int>(fibers_.size()) < threads) {
      fibers_.push_back(std::make_unique<Fiber>());
      Fiber& fiber = *fibers_.back();
      by_number_[fibers_.size() - 1] = &fiber;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = Fiber::kStack;
      const auto self = reinterpret_cast<uintptr_t>(this);
      makecontext(&fiber.context, reinterpret_cast<void (*)()>(&FiberTeam::Enter), 3,
                  static_cast<unsigned>(self >> 32), static_cast<unsigned>(self),
                  static_cast<unsigned>(fibers_.size() - 1));
    }
  }
  static void Enter(unsigned high, unsigned low, unsigned thread) {
    const auto self = static_cast<uintptr_t>(high) << 32 | low;
    reinterpret_cast<FiberTeam*>(self)->Live(static_cast<int>(thread));
  }
  void Live(int thread) {
    while (true) {
      Body body = nullptr;
      void* block = nullptr;
      {
        const OutOfSight guard;
        body = body_;
        block = block_;
      }
      __tsan_acquire(&started_);
      body(block, thread);
      __tsan_release(&ended_);
      SetState(thread, State::kEnded);
      Leave(thread);
    }
  }
  LEGACY_OUT_OF_SIGHT void PostBits(int thread, uint64_t bits) { posted_[thread] = bits; }
  LEGACY_OUT_OF_SIGHT uint64_t PostedBits(int thread) const { return posted_[thread]; }
  LEGACY_OUT_OF_SIGHT void SetState(int thread, State state) { by_number_[thread]->state = state; }
  LEGACY_OUT_OF_SIGHT void Meet(int thread, int group, int first, int count) {
    if (++arrived_[group] == count) {
      arrived_[group] = 0;
      for (int t = first; t < first + count; ++t) {
        Fiber* const other = by_number_[t];
        if (other->state == State::kWaits && other->waits_for == group) {
          other->state = State::kReady;
        }
      }
      return;
    }
    by_number_[thread]->state = State::kWaits;
    by_number_[thread]->waits_for = group;
    Leave(thread);
  }
  LEGACY_OUT_OF_SIGHT void Leave(int thread) {
    __tsan_switch_to_fiber(caller_, __tsan_switch_to_fiber_no_sync);
    swapcontext(&by_number_[thread]->context, &context_);
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  // Holds the same fibers for functions that the sanitizer ignores, which may only make plain
  // accesses.
  Fiber* by_number_[kMost] = {};
  int arrived_[kMost / cuda::kWarp + 1] = {};  // threads that wait, for each warp and for the block
  uint64_t posted_[kMost] = {};
  Body body_ = nullptr;
  void* block_ = nullptr;
  void* caller_ = nullptr;
  ucontext_t context_;
  char started_ = 0, met_ = 0, ended_ = 0;  // addresses that name the events to the sanitizer
};

// Makes the same calls as DeviceBlock (stream_device.cuh).
template <class Kernel>
class FiberBlock {
 public:
  static constexpr int kThreads = Kernel::kThreads;
  static_assert(kThreads % cuda::kWarp == 0 && kThreads <= FiberTeam::kMost);
  template <class T>
  class PerThread {
   public:
    T& operator[](int) { return value_; }
    const T& operator[](int) const { return value_; }

   private:
    T value_{};
  };

  FiberBlock(FiberTeam& team, char& fence, int thread, int64_t index, int64_t count,
             typename Kernel::Shared& shared)
      : team_(team),
        fence_(fence),
        thread_(thread),
        index_(index),
        count_(count),
        shared_(shared) {}
  int64_t index() const { return index_; }
  int64_t count() const { return count_; }
  typename Kernel::Shared& shared() { return shared_; }

  template <class Step>
  void ForEachThread(Step step) {
    step(thread_);
  }
  void Sync() { team_.MeetBlock(thread_, kThreads); }

  template <class T>
  T ExclusiveSum(PerThread<T>& x) {
    T sum = 0;
    Share(x[0], 0, kThreads, [&](int t, T other) {
      if (t == thread_) x[0] = sum;
      sum += other;
    });
    return sum;
  }
  template <class T>
  T Sum(const PerThread<T>& x) {
    T sum = 0;
    Share(x[0], 0, kThreads, [&](int, T other) { sum += other; });
    return sum;
  }
  template <class T>
  T Max(const PerThread<T>& x) {
    T most = x[0];
    Share(x[0], 0, kThreads, [&](int, T other) { most = most < other ? other : most; });
    return most;
  }
  PerThread<uint32_t> Ballot(const PerThread<bool>& x) {
    PerThread<uint32_t> mask;
    ShareInWarp(x[0], [&](int lane, bool other) { mask[0] |= uint32_t{other} << lane; });
    return mask;
  }
  template <int lanes = cuda::kWarp, class T>
  void FoldSum(PerThread<T>& x) {
    std::array<T, cuda::kWarp> all;
    ShareInWarp(x[0], [&](int lane, T other) { all[lane] = other; });
    T* const group = &all[thread_ % cuda::kWarp / lanes * lanes];
    for (int half = lanes / 2; half > 0; half /= 2) {
      for (int l = 0; l < half; ++l) group[l] += group[l + half];
    }
    if (thread_ % lanes == 0) x[0] = group[0];
  }
  template <int lanes, class T>
  void GroupMax(PerThread<T>& x) {
    const int group = thread_ % cuda::kWarp / lanes;
    ShareInWarp(x[0], [&](int lane, T other) {
      if (lane / lanes == group && x[0] < other) x[0] = other;
    });
  }
  void Fence() {
    __tsan_release(&fence_);
    __tsan_acquire(&fence_);
  }
  template <class T>
  T Fresh(const T* at) {
    return std::atomic_ref<T>(const_cast<T&>(*at)).load(std::memory_order_relaxed);
  }
  template <class T>
  T AtomicAdd(T* at, T x) {
    return std::atomic_ref<T>(*at).fetch_add(x, std::memory_order_relaxed);
  }
  template <class T>
  T AtomicMax(T* at, T x) {
    return Change(at, [x](T before) { return before < x ? x : before; });
  }
  template <class T>
  T AtomicMin(T* at, T x) {
    return Change(at, [x](T before) { return x < before ? x : before; });
  }
  template <class T>
  T AtomicOr(T* at, T x) {
    return std::atomic_ref<T>(*at).fetch_or(x, std::memory_order_relaxed);
  }
  template <class... T>
  bool Combine(uint32_t, T&...) {
    return true;
  }

 private:
  template <class T, class Op>
  static T Change(T* at, Op op) {
    std::atomic_ref<T> value(*at);
    T before = value.load(std::memory_order_relaxed);
    while (!value.compare_exchange_weak(before, op(before), std::memory_order_relaxed)) {
    }
    return before;
  }
  // Calls take(t, x of thread t) for the block's threads first, ..., end - 1.
  template <class T, class Take>
  void Share(T x, int first, int end, Take take) {
    team_.MeetBlock(thread_, kThreads);
    team_.Post(thread_, x);
    team_.MeetBlock(thread_, kThreads);
    for (int t = first; t < end; ++t) take(t, team_.template Posted<T>(t));
  }
  // Calls take(l, x of lane l) for the warp's threads.
  template <class T, class Take>
  void ShareInWarp(T x, Take take) {
    team_.MeetWarp(thread_);
    team_.Post(thread_, x);
    team_.MeetWarp(thread_);
    const int first = thread_ / cuda::kWarp * cuda::kWarp;
    for (int l = 0; l < cuda::kWarp; ++l) take(l, team_.template Posted<T>(first + l));
  }

  FiberTeam& team_;
  char& fence_;
  int thread_;
  int64_t index_;
  int64_t count_;
  typename Kernel::Shared& shared_;
};

// Uses HostDevice's memory.
class FiberDevice : public cuda::HostDevice {
 public:
  template <class Kernel>
  void Launch(int64_t blocks, const typename Kernel::Args& args) {
    constexpr int64_t kOnes = 6, kMostTogether = 12, kAll = 36;  // blocks
    static int64_t ones = 0, all = 0;
    if (blocks > kMostTogether || (blocks == 1 ? ++ones > kOnes : (all += blocks) > kAll)) {
      return HostDevice::Launch<Kernel>(blocks, args);
    }
    using Shared = typename Kernel::Shared;
    struct Running {
      FiberTeam& team;
      int64_t index, blocks;
      const typename Kernel::Args& args;
      Shared* shared;
    };
    constexpr int kRubbish = 0xA5;
    // Shared memory is freed only after all blocks ended.
    std::vector<std::unique_ptr<std::byte[]>> memory;
    std::vector<std::unique_ptr<Running>> running;
    for (int64_t i = 0; i < blocks; ++i) {
      memory.push_back(
          std::make_unique_for_overwrite<std::byte[]>(sizeof(Shared) + alignof(Shared)));
      void* place = memory.back().get();
      size_t space = sizeof(Shared) + alignof(Shared);
      std::memset(place, kRubbish, space);
      std::align(alignof(Shared), sizeof(Shared), place, space);
      running.push_back(std::make_unique<Running>(
          Running{Teams()[i % kTeams], i, blocks, args, static_cast<Shared*>(place)}));
      running.back()->team.Run(
          Kernel::kThreads,
          [](void* block, int thread) {
            const auto& own = *static_cast<Running*>(block);
            FiberBlock<Kernel> threads(own.team, Fence(), thread, own.index, own.blocks,
                                       *own.shared);
            Kernel::Run(threads, own.args);
          },
          running.back().get());
    }
    for (FiberTeam& team : Teams()) team.Join();
  }

 private:
  static constexpr int kTeams = 3;
  static std::array<FiberTeam, kTeams>& Teams() {
    static std::array<FiberTeam, kTeams> teams;
    return teams;
  }
  static char& Fence() {
    static char fence = 0;
    return fence;
  }
};

}  // namespace legacy::test
