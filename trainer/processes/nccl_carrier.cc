#include "trainer/processes/nccl_carrier.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <thread>
#include <utility>

#include "base/error.h"

namespace legacy {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Time in which the group finds out which process died, after NCCL lost it.
constexpr std::chrono::seconds kInquest(25);

void Check(cudaError_t status) {
  if (status == cudaSuccess) return;
  throw Error(std::string("NCCL between the processes: ") + cudaGetErrorString(status));
}

// Returns the identity by which NCCL tells GPUs apart: their machine and their place in it.
Bytes IdentityOf(int gpu) {
  if (gpu < 0) return {};
  std::array<char, 32> bus{};
  Check(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), gpu));
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  text += std::string(" ") + bus.data();
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// The communicator does not block, and neither does this process: a thread that waits polls the
// GPU, NCCL and the group in turn.
class NcclCarrier : public Carrier {
 public:
  NcclCarrier(ProcessGroup& processes, int gpu) : processes_(processes), gpu_(gpu) {}
  ~NcclCarrier() override { Abort(); }

  // Meets the carriers of the other processes.
  void Meet();
  void AllGather(ByteSpan own, std::span<std::byte> all) override;

 private:
  void Reserve(size_t bytes);
  void CheckNccl(ncclResult_t result);
  void Await();
  // A communicator without a failure is aborted as well, because that waits for no other process.
  // Memory on the GPU is freed when the process ends, as freeing it here would wait for a kernel
  // that hangs.
  void Abort() noexcept {
    if (comm_ != nullptr) ncclCommAbort(std::exchange(comm_, nullptr));
  }

  ProcessGroup& processes_;
  int gpu_;
  ncclComm_t comm_ = nullptr;
  cudaStream_t stream_ = nullptr;
  std::byte* buffer_ = nullptr;  // on the GPU: the bytes of all processes, by rank
  size_t reserved_ = 0;
};

void NcclCarrier::Meet() {
  Check(cudaSetDevice(gpu_));
  Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  ncclUniqueId id{};
  if (processes_.Leads()) CheckNccl(ncclGetUniqueId(&id));
  const Bytes given = processes_.Broadcast(std::as_bytes(std::span(&id, 1)), 0);
  std::memcpy(&id, given.data(), sizeof id);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  CheckNccl(ncclCommInitRankConfig(&comm_, processes_.size(), id, processes_.rank(), &config));
  Await();
}

void NcclCarrier::Reserve(size_t bytes) {
  if (bytes <= reserved_) return;
  Check(cudaFree(std::exchange(buffer_, nullptr)));
  reserved_ = 0;
  Check(cudaMalloc(&buffer_, bytes));
  reserved_ = bytes;
}

void NcclCarrier::AllGather(ByteSpan own, std::span<std::byte> all) {
  if (comm_ == nullptr) throw Error("NCCL between the processes was left before");
  try {
    Check(cudaSetDevice(gpu_));
    Reserve(all.size());
    std::byte* const mine = buffer_ + own.size() * static_cast<size_t>(processes_.rank());
    Check(cudaMemcpyAsync(mine, own.data(), own.size(), cudaMemcpyHostToDevice, stream_));
    CheckNccl(ncclAllGather(mine, buffer_, own.size(), ncclInt8, comm_, stream_));
    Await();
    // The copy comes after everything else, and is complete when Await returns.
    Check(cudaMemcpyAsync(all.data(), buffer_, all.size(), cudaMemcpyDeviceToHost, stream_));
    Await();
  } catch (...) {
    Abort();
    throw;
  }
}

// Throws Error on failures, but first gives the processes that watch a dead one time to name it.
void NcclCarrier::CheckNccl(ncclResult_t result) {
  if (result == ncclSuccess || result == ncclInProgress) return;
  const auto until = SteadyClock::now() + kInquest;
  while (result == ncclRemoteError && SteadyClock::now() < until) {
    processes_.Check();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  throw Error(std::string("NCCL between the processes: ") + ncclGetErrorString(result) +
              "; NCCL_DEBUG=INFO says more");
}

// Waits until NCCL has queued the requested work, and the GPU has done it.
void NcclCarrier::Await() {
  constexpr std::chrono::microseconds kLongest(1000);
  for (std::chrono::microseconds pause(10);; pause = std::min(2 * pause, kLongest)) {
    ncclResult_t state = ncclSuccess;
    CheckNccl(ncclCommGetAsyncError(comm_, &state));
    CheckNccl(state);
    if (state == ncclSuccess) {
      const cudaError_t done = cudaStreamQuery(stream_);
      if (done == cudaSuccess) return;
      if (done != cudaErrorNotReady) Check(done);
      cudaGetLastError();  // forgets that it is not ready
    }
    processes_.Check();
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

std::unique_ptr<Carrier> OpenNccl(ProcessGroup& processes, int gpu, std::string* why) {
  *why = WhyNotNccl(processes.AllGather(IdentityOf(gpu)));
  if (!why->empty()) return nullptr;
  auto carrier = std::make_unique<NcclCarrier>(processes, gpu);
  carrier->Meet();
  return carrier;
}

}  // namespace legacy
