// Kernels as steps that all threads of a block take, so that one source runs on a GPU and, thread
// by thread, on the host, where all of its index and selection logic is tested:
//
//   struct Double {
//     static constexpr int kThreads = 256;
//     struct Args { const float* in; float* out; int64_t n; };
//     struct Shared {};
//     template <class Block>
//     static LEGACY_DEVICE void Run(Block& block, const Args& args) {
//       block.ForEachThread([&](int thread) {
//         const int64_t i = block.index() * kThreads + thread;
//         if (i < args.n) args.out[i] = 2 * args.in[i];
//       });
//     }
//   };
//   device.template Launch<Double>(blocks, args);   // a HostDevice or a StreamDevice
//
// On a GPU ForEachThread() calls once, with the thread's own number; nothing is synchronised but by
// Sync() and by what says so. On the host it is a loop over the threads, in an order that the tests
// change: a result that depends on it is a race. What a thread keeps from one step to the next is a
// PerThread. Blocks must not wait for each other.
#pragma once

#include <array>
#include <cstdint>

#if defined(__CUDACC__)
// Plain functions of numbers are better constexpr, for host and device.
#define LEGACY_DEVICE __device__ __forceinline__
#define LEGACY_UNROLL _Pragma("unroll")
#define LEGACY_UNROLL_SOME _Pragma("unroll 8")
#else
#define LEGACY_DEVICE inline
#define LEGACY_UNROLL
#define LEGACY_UNROLL_SOME
#endif

namespace legacy::cuda {

inline constexpr int kWarp = 32;

enum class Order : uint8_t { kForward, kBackward, kScattered };

// Position `i` of `n` in an order; kScattered goes through all by steps of a number prime to n.
constexpr int64_t At(Order order, int64_t i, int64_t n) {
  if (order == Order::kForward) return i;
  if (order == Order::kBackward) return n - 1 - i;
  constexpr int64_t kPrimes[] = {7919, 104729, 1299709};
  for (const int64_t prime : kPrimes) {
    if (n % prime != 0) return (i % n * (prime % n) + n / 2) % n;
  }
  return i;
}

template <class Kernel>
class HostBlock {
 public:
  static constexpr int kThreads = Kernel::kThreads;
  template <class T>
  class PerThread {
   public:
    T& operator[](int thread) { return values_[thread]; }
    const T& operator[](int thread) const { return values_[thread]; }

   private:
    std::array<T, kThreads> values_{};
  };

  HostBlock(int64_t index, int64_t count, Order order, typename Kernel::Shared& shared)
      : index_(index), count_(count), order_(order), shared_(shared) {}
  int64_t index() const { return index_; }
  int64_t count() const { return count_; }  // of blocks
  typename Kernel::Shared& shared() { return shared_; }

  template <class Step>
  void ForEachThread(Step step) {
    for (int i = 0; i < kThreads; ++i) step(static_cast<int>(At(order_, i, kThreads)));
  }
  void Sync() {}

  // Synchronises all threads: x becomes the sum over the threads before. Returns the sum of all.
  template <class T>
  T ExclusiveSum(PerThread<T>& x) {
    T sum = 0;
    for (int t = 0; t < kThreads; ++t) {
      const T here = x[t];
      x[t] = sum;
      sum += here;
    }
    return sum;
  }
  template <class T>
  T Sum(const PerThread<T>& x) {
    T sum = 0;
    for (int t = 0; t < kThreads; ++t) sum += x[t];
    return sum;
  }
  template <class T>
  T Max(const PerThread<T>& x) {
    T most = x[0];
    for (int t = 1; t < kThreads; ++t) most = most < x[t] ? x[t] : most;
    return most;
  }
  // Returns for each warp the bits of its lanes: bit l is lane l's.
  PerThread<uint32_t> Ballot(const PerThread<bool>& x) {
    PerThread<uint32_t> masks;
    for (int t = 0; t < kThreads; ++t) {
      for (int l = 0; l < kWarp; ++l) masks[t] |= uint32_t{x[t / kWarp * kWarp + l]} << l;
    }
    return masks;
  }
  // Folds a warp's lanes by halves, x[l] += x[l + half], into lane 0.
  template <class T>
  void FoldSum(PerThread<T>& x) {
    for (int warp = 0; warp < kThreads; warp += kWarp) {
      for (int half = kWarp / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) x[warp + l] += x[warp + l + half];
      }
    }
  }
  // Makes x the largest of each `lanes` neighbours, a power of two up to a warp.
  template <int lanes, class T>
  void GroupMax(PerThread<T>& x) {
    for (int first = 0; first < kThreads; first += lanes) {
      T most = x[first];
      for (int l = 1; l < lanes; ++l) most = most < x[first + l] ? x[first + l] : most;
      for (int l = 0; l < lanes; ++l) x[first + l] = most;
    }
  }
  // Makes what all blocks wrote before their Fence() visible to a block that learns of it by an
  // atomic and reads with Fresh(), which may also read memory of the block.
  void Fence() {}
  template <class T>
  T Fresh(const T* at) {
    return *at;
  }
  // Atomics work on memory of the block or the device, and return what was there before.
  template <class T>
  T AtomicAdd(T* at, T x) {
    const T before = *at;
    *at += x;
    return before;
  }
  template <class T>
  T AtomicMax(T* at, T x) {
    const T before = *at;
    if (before < x) *at = x;
    return before;
  }
  template <class T>
  T AtomicMin(T* at, T x) {
    const T before = *at;
    if (x < before) *at = x;
    return before;
  }
  template <class T>
  T AtomicOr(T* at, T x) {
    const T before = *at;
    *at |= x;
    return before;
  }
  // Before atomics: threads of a warp that come by with one key at the same time, which nobody can
  // rely on, may be taken together. Whether the thread goes on, with the sums of all that it stands
  // for in x.
  template <class... T>
  bool Combine(uint32_t, T&...) {
    return true;
  }

 private:
  int64_t index_;
  int64_t count_;
  Order order_;
  typename Kernel::Shared& shared_;
};

// True where the block, having done `own` of the `all` parts of some work, ended it: then it sees,
// by Fresh(), what all blocks wrote for it. `done` counts in the memory of the device, from 0, and
// is 0 again after; `last` is shared.
template <class Block>
LEGACY_DEVICE bool EndsWork(Block& block, uint32_t* done, int64_t own, int64_t all, bool& last) {
  block.Fence();
  block.Sync();
  block.ForEachThread([&](int thread) {
    if (thread != 0) return;
    const auto parts = static_cast<uint32_t>(own);
    last = block.AtomicAdd(done, parts) + parts == all;
    if (last) *done = 0;
    block.Fence();
  });
  block.Sync();
  return last;
}

}  // namespace legacy::cuda
