// Compiles a kernel (block.h) for a GPU. A .cu file that includes this header compiles the kernels
// of all launches that it instantiates; each kernel is compiled in one such file.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/error.h"
#include "compress/cuda/device/block.h"
#include "compress/cuda/device/stream_device.h"

namespace legacy::cuda {

// Has the same functions as HostBlock (block.h).
template <class Kernel>
class DeviceBlock {
 public:
  static constexpr int kThreads = Kernel::kThreads;
  static constexpr int kWarps = kThreads / kWarp;
  static_assert(kThreads % kWarp == 0 && kThreads <= 1024);
  template <class T>
  class PerThread {
   public:
    LEGACY_DEVICE T& operator[](int) { return value_; }
    LEGACY_DEVICE const T& operator[](int) const { return value_; }

   private:
    T value_{};
  };
  // Shared memory that sums, maxima and other functions of all threads use.
  struct Scratch {
    alignas(8) unsigned char warps[kWarps * 8];
  };

  LEGACY_DEVICE DeviceBlock(typename Kernel::Shared& shared, Scratch& scratch)
      : shared_(shared), scratch_(scratch) {}
  LEGACY_DEVICE int64_t index() const { return blockIdx.x; }
  LEGACY_DEVICE int64_t count() const { return gridDim.x; }
  LEGACY_DEVICE typename Kernel::Shared& shared() { return shared_; }

  template <class Step>
  LEGACY_DEVICE void ForEachThread(Step step) {
    step(static_cast<int>(threadIdx.x));
  }
  LEGACY_DEVICE void Sync() { __syncthreads(); }

  template <class T>
  LEGACY_DEVICE T ExclusiveSum(PerThread<T>& x) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    const T own = x[0];
    T inclusive = own;
    LEGACY_UNROLL
    for (int step = 1; step < kWarp; step *= 2) {
      const T below = __shfl_up_sync(kAll, inclusive, step);
      if (lane >= step) inclusive += below;
    }
    T* const sums = Warps<T>();
    __syncthreads();
    if (lane == kWarp - 1) sums[warp] = inclusive;
    __syncthreads();
    T before = 0, total = 0;
    LEGACY_UNROLL
    for (int w = 0; w < kWarps; ++w) {
      before += w < warp ? sums[w] : T(0);
      total += sums[w];
    }
    x[0] = before + inclusive - own;
    return total;
  }
  template <class T>
  LEGACY_DEVICE T Sum(const PerThread<T>& x) {
    return Reduce(x[0], [](T a, T b) { return a + b; });
  }
  template <class T>
  LEGACY_DEVICE T Max(const PerThread<T>& x) {
    return Reduce(x[0], [](T a, T b) { return a < b ? b : a; });
  }
  LEGACY_DEVICE PerThread<uint32_t> Ballot(const PerThread<bool>& x) {
    PerThread<uint32_t> mask;
    mask[0] = __ballot_sync(kAll, x[0]);
    return mask;
  }
  template <int lanes = kWarp, class T>
  LEGACY_DEVICE void FoldSum(PerThread<T>& x) {
    LEGACY_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) {
      x[0] += __shfl_down_sync(kAll, x[0], half);
    }
  }
  template <int lanes, class T>
  LEGACY_DEVICE void GroupMax(PerThread<T>& x) {
    LEGACY_UNROLL
    for (int half = lanes / 2; half > 0; half /= 2) {
      const T other = __shfl_xor_sync(kAll, x[0], half);
      x[0] = x[0] < other ? other : x[0];
    }
  }
  LEGACY_DEVICE void Fence() { __threadfence(); }
  template <class T>
  LEGACY_DEVICE T Fresh(const T* at) {
    // Volatile reads bypass the multiprocessor's own cache.
    return *static_cast<const volatile T*>(at);
  }
  template <class T>
  LEGACY_DEVICE T AtomicAdd(T* at, T x) {
    if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
      return static_cast<T>(
          atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(x)));
    } else {
      return atomicAdd(at, x);
    }
  }
  template <class T>
  LEGACY_DEVICE T AtomicMax(T* at, T x) {
    return atomicMax(at, x);
  }
  template <class T>
  LEGACY_DEVICE T AtomicMin(T* at, T x) {
    return atomicMin(at, x);
  }
  template <class T>
  LEGACY_DEVICE T AtomicOr(T* at, T x) {
    return atomicOr(at, x);
  }
  template <class... T>
  LEGACY_DEVICE bool Combine(uint32_t key, T&... x) {
    const unsigned together = __match_any_sync(__activemask(), key);
    ((x = __reduce_add_sync(together, x)), ...);
    return static_cast<int>(threadIdx.x % kWarp) == __ffs(static_cast<int>(together)) - 1;
  }

 private:
  static constexpr unsigned kAll = 0xFFFFFFFF;

  template <class T>
  LEGACY_DEVICE T* Warps() {
    static_assert(sizeof(T) <= 8);
    return reinterpret_cast<T*>(scratch_.warps);
  }
  template <class T, class Op>
  LEGACY_DEVICE T Reduce(T x, Op op) {
    LEGACY_UNROLL
    for (int half = kWarp / 2; half > 0; half /= 2) x = op(x, __shfl_xor_sync(kAll, x, half));
    T* const warps = Warps<T>();
    __syncthreads();
    if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = x;
    __syncthreads();
    T result = warps[0];
    LEGACY_UNROLL
    for (int w = 1; w < kWarps; ++w) result = op(result, warps[w]);
    return result;
  }

  typename Kernel::Shared& shared_;
  Scratch& scratch_;
};

template <class Kernel>
struct SharedMemory {
  typename DeviceBlock<Kernel>::Scratch scratch;
  typename Kernel::Shared kernel;
};

// Number of blocks that a multiprocessor should have room for; 0 leaves the choice to the compiler.
template <class Kernel>
constexpr int BlocksTogether() {
  if constexpr (requires { Kernel::kBlocksTogether; }) return Kernel::kBlocksTogether;
  return 0;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, BlocksTogether<Kernel>())
    Entry(const typename Kernel::Args args) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto& shared = *reinterpret_cast<SharedMemory<Kernel>*>(memory);
  DeviceBlock<Kernel> block(shared.kernel, shared.scratch);
  Kernel::Run(block, args);
}

// The attribute `used` keeps the code: C++ sources, which do not see it, call what a .cu
// instantiates.
template <class Kernel>
[[gnu::used]] void StreamDevice::Launch(int64_t blocks, const typename Kernel::Args& args) {
  if (blocks == 0) return;
  static_assert(sizeof(args) <= 4096, "what a launch has room for");
  constexpr int64_t kMostBlocks = std::numeric_limits<int32_t>::max();
  if (blocks > kMostBlocks) {
    throw Error("GPU blocks of a launch", std::to_string(blocks), "up to 2^31 - 1");
  }
  constexpr size_t kBytes = sizeof(SharedMemory<Kernel>);
  // Larger sizes have to be requested.
  constexpr size_t kFree = 48 << 10;
  if constexpr (kBytes > kFree) {
    static const cudaError_t raised = cudaFuncSetAttribute(
        Entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes));
    Check(raised, "shared memory of a kernel");
  }
  Entry<Kernel><<<static_cast<unsigned>(blocks), Kernel::kThreads, kBytes, stream_>>>(args);
  Check(cudaGetLastError(), "launch of a kernel");
}

}  // namespace legacy::cuda
