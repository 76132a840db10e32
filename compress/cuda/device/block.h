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
// On a GPU ForEachThread() calls the step once, with the thread's own number. Only Sync(), and
// functions whose comments say so, synchronise threads. On the host it is a loop over the threads,
// in an order that the tests change: a result that depends on it is a race. Values that a thread
// keeps from one step to the next are a PerThread. Blocks must not wait for each other.
#pragma once

#include <array>
#include <cstdint>

#if defined(__CUDACC__)
// Functions that only compute with numbers are constexpr instead, for host and device.
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
  // Returns the number of blocks.
  int64_t count() const { return count_; }
  typename Kernel::Shared& shared() { return shared_; }

  template <class Step>
  void ForEachThread(Step step) {
    for (int i = 0; i < kThreads; ++i) step(static_cast<int>(At(order_, i, kThreads)));
  }
  void Sync() {}

  // Replaces each thread's x by the sum over the threads before it, and returns the sum of all.
  // Synchronises all threads.
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
  // Returns the bits of each warp's lanes: bit l is lane l's.
  PerThread<uint32_t> Ballot(const PerThread<bool>& x) {
    PerThread<uint32_t> masks;
    for (int t = 0; t < kThreads; ++t) {
      for (int l = 0; l < kWarp; ++l) masks[t] |= uint32_t{x[t / kWarp * kWarp + l]} << l;
    }
    return masks;
  }
  // Folds each group of `lanes` neighbouring threads by halves, x[l] += x[l + half], into its
  // first; `lanes` is a power of two up to kWarp.
  template <int lanes = kWarp, class T>
  void FoldSum(PerThread<T>& x) {
    for (int group = 0; group < kThreads; group += lanes) {
      for (int half = lanes / 2; half > 0; half /= 2) {
        for (int l = 0; l < half; ++l) x[group + l] += x[group + l + half];
      }
    }
  }
  // Sets x to the maximum of each group of `lanes` neighbouring threads; `lanes` is a power of two
  // up to kWarp.
  template <int lanes, class T>
  void GroupMax(PerThread<T>& x) {
    for (int first = 0; first < kThreads; first += lanes) {
      T most = x[first];
      for (int l = 1; l < lanes; ++l) most = most < x[first + l] ? x[first + l] : most;
      for (int l = 0; l < lanes; ++l) x[first + l] = most;
    }
  }
  // Makes everything that a thread wrote before its Fence(), and what other threads of its block
  // wrote before a Sync() that precedes it, visible to a block that learns of it by an atomic and
  // reads it with Fresh(). Fresh() may also read the block's shared memory.
  void Fence() {}
  template <class T>
  T Fresh(const T* at) {
    return *at;
  }
  // Atomics work on shared or global memory and return the value before the operation.
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
  // Merges the threads of a warp that reach this call at the same time with the same key, before an
  // atomic; callers must not rely on which threads are merged. Returns true for the thread that
  // continues, whose x then holds the sums over all threads merged with it.
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

// Returns true in the block that completes the last of the `all` parts of some work, of which each
// block does `own`. That block then sees everything that all blocks wrote, by Fresh(). `done` is a
// counter in device memory that is 0 before and after; `last` is in shared memory.
template <class Block>
LEGACY_DEVICE bool EndsWork(Block& block, uint32_t* done, int64_t own, int64_t all, bool& last) {
  block.Sync();
  block.ForEachThread([&](int thread) {
    if (thread != 0) return;
    block.Fence();  // for all threads, of which none waits for its own stores
    const auto parts = static_cast<uint32_t>(own);
    last = block.AtomicAdd(done, parts) + parts == all;
    if (last) *done = 0;
    block.Fence();
  });
  block.Sync();
  return last;
}

}  // namespace legacy::cuda
