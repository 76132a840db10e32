#include <dlfcn.h>

#include <cmath>

#include "base/random.h"
#include "compress/cuda/bench/device.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream_device.cuh"
#include "compress/cuda/device/vectors.h"

namespace legacy::bench {
namespace {

using cuda::Check;
using Vectors = cuda::TileVectors<256, 4>;
static_assert(Vectors::kElements == cuda::kTile);

enum class Kind : int { kStudentT, kZeros, kConstant };

struct FillKernel {
  static constexpr int kThreads = 256;
  struct Args {
    Kind kind;
    uint32_t seed;
    float* values;
    int64_t n;
  };
  struct Shared {};

  // Student's t with 4 degrees of freedom, by its quantile function, which has a closed form.
  static LEGACY_DEVICE float StudentT(uint32_t draw) {
    const double p = (draw + 0.5) / 4294967296.0;
    const double alpha = sqrt(4 * p * (1 - p));
    const double q = cos(acos(alpha) / 3) / alpha;
    return static_cast<float>(copysign(2 * sqrt(q > 1 ? q - 1 : 0.0), p - 0.5));
  }
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    block.ForEachThread([&](int thread) {
      const int64_t i = block.index() * kThreads + thread;
      if (i >= args.n) return;
      const auto draws =
          Philox4x32({static_cast<uint32_t>(i), static_cast<uint32_t>(i >> 32), 0, 0},
                     {args.seed, static_cast<uint32_t>(Purpose::kGradient)});
      const bool zero = args.kind == Kind::kZeros && draws[1] % 10 != 0;
      args.values[i] = args.kind == Kind::kConstant ? 0.5f : zero ? 0.0f : StudentT(draws[0]);
    });
  }
};

struct CopyKernel {
  static constexpr int kThreads = 256;
  struct Args {
    const float* from;
    float* to;
    int64_t n;
  };
  struct Shared {};
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const cuda::Tile tile = cuda::FlatTile(block.index(), args.n);
    const bool vectors = Vectors::ByVectors(args.from, tile) && Vectors::ByVectors(args.to, tile);
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      Vectors::Read(args.from, tile, vectors, thread, own);
      Vectors::Write(own, tile, vectors, thread, args.to);
    });
  }
};

struct ReadKernel {
  static constexpr int kThreads = 256;
  struct Args {
    const float* from;
    int64_t n;
    float* sink;
  };
  struct Shared {};
  template <class Block>
  static LEGACY_DEVICE void Run(Block& block, const Args& args) {
    const cuda::Tile tile = cuda::FlatTile(block.index(), args.n);
    block.ForEachThread([&](int thread) {
      Vectors::Own<float> own;
      Vectors::Read(args.from, tile, Vectors::ByVectors(args.from, tile), thread, own);
      float sum = 0;
      LEGACY_UNROLL
      for (const float x : own) sum += x;
      // Sums of zeros never reach this, but the compiler cannot know.
      if (sum == 12345) *args.sink = sum;
    });
  }
};

class Event {
 public:
  Event() { Check(cudaEventCreate(&event_), "event"); }
  Event(const Event&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  void Record() { Check(cudaEventRecord(event_, nullptr), "event"); }
  double SecondsSince(const Event& begin) const {
    float milliseconds = 0;
    Check(cudaEventSynchronize(event_), "measured work");
    Check(cudaEventElapsedTime(&milliseconds, begin.event_, event_), "event");
    return 1e-3 * milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

// Asks the driver's management library, which is not part of the toolkit.
std::string DriverVersion() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return "";
  using Init = int();
  using GetVersion = int(char*, unsigned);
  const auto init = reinterpret_cast<Init*>(dlsym(library, "nvmlInit_v2"));
  const auto get = reinterpret_cast<GetVersion*>(dlsym(library, "nvmlSystemGetDriverVersion"));
  char version[80] = "";
  if (init && get && init() == 0) get(version, sizeof version);
  return version;
}

}  // namespace

DeviceInfo FindDevice() {
  int count = 0, device = 0, cuda = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess) throw Error(std::string("no GPU: ") + cudaGetErrorString(found));
  if (count == 0) throw Error("no GPU");
  Check(cudaGetDevice(&device), "device");
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, device), "device");
  Check(cudaRuntimeGetVersion(&cuda), "version");
  return {.name = properties.name,
          .driver = DriverVersion(),
          .cuda = std::to_string(cuda / 1000) + "." + std::to_string(cuda % 1000 / 10),
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
          .cache_bytes = properties.l2CacheSize};
}

void Arena::Free::operator()(void* memory) const { cudaFree(memory); }

void* Arena::Allocate(size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
  // Clears the error, which would otherwise be reported by a later call.
  if (status != cudaSuccess) cudaGetLastError();
  Check(status, "memory");
  pieces_.emplace_back(memory);
  bytes_ += static_cast<int64_t>(bytes);
  return memory;
}

void Arena::Upload(const void* from, void* to, size_t bytes) {
  if (bytes > 0) Check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy");
}

const std::vector<std::string>& InputKinds() {
  static const std::vector<std::string> kinds = {"student-t", "zeros", "constant"};
  return kinds;
}

void DownloadBytes(const void* from, void* to, size_t bytes) {
  if (bytes > 0) Check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy");
}

void FillInput(const std::string& kind, uint32_t seed, float* values, int64_t n) {
  int number = 0;
  for (const std::string& known : InputKinds()) {
    if (known == kind) break;
    ++number;
  }
  const int64_t blocks = (n + FillKernel::kThreads - 1) / FillKernel::kThreads;
  cuda::StreamDevice(nullptr).Launch<FillKernel>(blocks,
                                                 {static_cast<Kind>(number), seed, values, n});
}

void CopyBytes(const void* from, void* to, int64_t bytes) {
  Check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, nullptr),
        "copy");
}

void CopyFloats(const float* from, float* to, int64_t n, cuda::Stream stream) {
  cuda::StreamDevice(stream).Launch<CopyKernel>(cuda::TileCount(n), {from, to, n});
}

void ReadFloats(const float* from, int64_t n, float* sink) {
  cuda::StreamDevice(nullptr).Launch<ReadKernel>(cuda::TileCount(n), {from, n, sink});
}

double Seconds(const std::function<void()>& before, const std::function<void()>& work) {
  Event begin, end;
  before();
  begin.Record();
  work();
  end.Record();
  return end.SecondsSince(begin);
}

std::function<void()> Capture(const std::function<void(cuda::StreamDevice)>& work) {
  struct Graph {
    ~Graph() {
      if (exec) cudaGraphExecDestroy(exec);
      if (graph) cudaGraphDestroy(graph);
      if (stream) cudaStreamDestroy(stream);
    }
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
  };
  const auto captured = std::make_shared<Graph>();
  Check(cudaStreamCreate(&captured->stream), "stream");
  Check(cudaStreamBeginCapture(captured->stream, cudaStreamCaptureModeThreadLocal), "capture");
  work(cuda::StreamDevice(captured->stream));
  Check(cudaStreamEndCapture(captured->stream, &captured->graph), "capture");
  Check(cudaGraphInstantiate(&captured->exec, captured->graph, 0), "graph");
  return [captured] { Check(cudaGraphLaunch(captured->exec, nullptr), "graph"); };
}

}  // namespace legacy::bench
