// The carrier over NCCL, with threads as processes, and fakes in the place of CUDA and NCCL: what
// it asks them for, and that it waits for nothing in vain. Memory of a GPU is the host's here.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tests/trainer/torch/thread_processes.h"
#include "trainer/processes/nccl_carrier.h"

namespace {

constexpr int kProcesses = 3;

}  // namespace

// A communicator of the fake.
struct ncclComm {
  int rank = 0;
  ncclResult_t error = ncclSuccess;  // error with which it fails from now on
  int64_t asked = 0;                 // calls so far
  int to_queue = 0;                  // looks at its state until the last call is in the stream
  std::byte* receives = nullptr;
  bool aborted = false;
};

namespace {

// The fake's state. Calls of all communicators have one length, and complete together.
struct World {
  std::mutex mutex;
  std::list<ncclComm> comms;
  std::list<legacy::Bytes> memory;
  std::array<ncclComm*, kProcesses> by_rank{};
  int64_t completed = 0;

  bool Complete() const {
    for (const ncclComm* comm : by_rank) {
      if (comm == nullptr || comm->asked == completed) return false;
    }
    return true;
  }
} g_world;

// Each thread is a process, whose stream is that of its communicator.
thread_local ncclComm* t_comm = nullptr;
thread_local int t_device = -1;

}  // namespace

extern "C" {

cudaError_t cudaSetDevice(int device) {
  t_device = device;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetPCIBusId(char* id, int size, int device) {
  std::snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", device);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned int flags) {
  EXPECT_EQ(flags, unsigned{cudaStreamNonBlocking});
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamQuery(cudaStream_t) {
  const std::lock_guard lock(g_world.mutex);
  const bool empty = t_comm->to_queue > 0 || t_comm->asked == g_world.completed;
  return empty ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  const std::lock_guard lock(g_world.mutex);
  *memory = g_world.memory.emplace_back(bytes, std::byte{0xee}).data();
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  const std::lock_guard lock(g_world.mutex);
  g_world.memory.remove_if([&](const legacy::Bytes& bytes) { return bytes.data() == memory; });
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "an error of CUDA"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 7, sizeof *id);
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  EXPECT_EQ(size, kProcesses);
  EXPECT_EQ(id.internal[sizeof id - 1], 7) << "the identifier is process 0's";
  EXPECT_EQ(config->blocking, 0);
  EXPECT_EQ(t_device, rank);
  const std::lock_guard lock(g_world.mutex);
  *comm = t_comm = g_world.by_rank[rank] = &g_world.comms.emplace_back();
  t_comm->rank = rank;
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const std::lock_guard lock(g_world.mutex);
  EXPECT_FALSE(comm->aborted);
  const bool all = std::ranges::find(g_world.by_rank, nullptr) == g_world.by_rank.end();
  if (comm->error != ncclSuccess) {
    *state = comm->error;
  } else {
    *state = all && comm->to_queue == 0 ? ncclSuccess : ncclInProgress;
  }
  if (comm->to_queue > 0) --comm->to_queue;
  return ncclSuccess;
}
ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  const std::lock_guard lock(g_world.mutex);
  EXPECT_FALSE(comm->aborted);
  EXPECT_EQ(type, ncclInt8);
  comm->receives = static_cast<std::byte*>(receive);
  EXPECT_EQ(send, comm->receives + static_cast<size_t>(comm->rank) * count) << "it is in place";
  ++comm->asked;
  comm->to_queue = 2;
  if (g_world.Complete()) {
    for (const ncclComm* from : g_world.by_rank) {
      const size_t at = static_cast<size_t>(from->rank) * count;
      for (const ncclComm* to : g_world.by_rank) {
        if (to != from) std::memcpy(to->receives + at, from->receives + at, count);
      }
    }
    ++g_world.completed;
  }
  return ncclInProgress;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(g_world.mutex);
  EXPECT_FALSE(comm->aborted);
  comm->aborted = true;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) { return "an error of NCCL"; }

}  // extern "C"

namespace legacy::nccl_logic_test {
namespace {

using test::ThreadProcesses;

class NcclLogic : public testing::Test {
 protected:
  NcclLogic() {
    g_world.comms.clear();
    g_world.memory.clear();
    g_world.by_rank = {};
    g_world.completed = 0;
  }
  // All communicators were left, each once.
  void TearDown() override {
    for (const ncclComm& comm : g_world.comms) EXPECT_TRUE(comm.aborted) << comm.rank;
  }

  std::unique_ptr<Carrier> Open(int rank) {
    std::string why;
    std::unique_ptr<Carrier> carrier = OpenNccl(processes_[rank], rank, &why);
    EXPECT_NE(carrier, nullptr) << why;
    return carrier;
  }

  ThreadProcesses processes_{kProcesses};
};

TEST_F(NcclLogic, GathersByRank) {
  const std::string reason = processes_.Run([&](int rank) {
    const std::unique_ptr<Carrier> carrier = Open(rank);
    for (const size_t size : {5, 100'000, 17, 200'000}) {
      const Bytes own(size, std::byte(rank + 1));
      Bytes all(kProcesses * size), expected;
      for (int r = 0; r < kProcesses; ++r) expected.insert(expected.end(), size, std::byte(r + 1));
      carrier->AllGather(own, all);
      EXPECT_TRUE(all == expected) << rank << ", " << size;
    }
  });
  EXPECT_EQ(reason, "");
  EXPECT_EQ(g_world.memory.size(), size_t{kProcesses}) << "a buffer for each GPU";
}

TEST_F(NcclLogic, IsNotOpenedWhereAGpuIsShared) {
  const std::string reason = processes_.Run([&](int rank) {
    std::string why;
    EXPECT_EQ(OpenNccl(processes_[rank], rank / 2, &why), nullptr);
    EXPECT_EQ(why, "processes 0 and 1 share a GPU");
  });
  EXPECT_EQ(reason, "");
  EXPECT_TRUE(g_world.comms.empty());
}

// The others wait for a process that never comes, until the group says why.
TEST_F(NcclLogic, NobodyWaitsForAProcessThatDied) {
  std::array<std::string, kProcesses> errors;
  processes_.Run([&](int rank) {
    const std::unique_ptr<Carrier> carrier = Open(rank);
    if (rank == 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      throw Error("process 2 ended without a word");
    }
    Bytes all(kProcesses * 10);
    try {
      carrier->AllGather(Bytes(10), all);
    } catch (const GroupError& error) {
      errors[rank] = error.what();
    }
    EXPECT_TRUE(t_comm->aborted);
    EXPECT_THROW(carrier->AllGather(Bytes(10), all), Error);
  });
  EXPECT_EQ(errors[0], "process 2 ended without a word");
  EXPECT_EQ(errors[1], errors[0]);
}

TEST_F(NcclLogic, NobodyWaitsForAProcessThatDoesNotMeet) {
  const std::string reason = processes_.Run([&](int rank) {
    std::string why;
    if (rank > 0) {
      OpenNccl(processes_[rank], rank, &why);
      return;
    }
    processes_[rank].AllGather(Bytes{std::byte{1}});
    processes_[rank].Broadcast(Bytes(sizeof(ncclUniqueId), std::byte{7}), 0);
    throw Error("no GPU any more");
  });
  EXPECT_EQ(reason, "no GPU any more");
}

// NCCL notices first that a process died, and the group then names it.
TEST_F(NcclLogic, AProcessThatNcclLostIsNamed) {
  std::string error;
  processes_.Run([&](int rank) {
    const std::unique_ptr<Carrier> carrier = Open(rank);
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      throw Error("process 1 has been silent for 20 s");
    }
    if (rank == 2) return;
    t_comm->error = ncclRemoteError;
    Bytes all(kProcesses);
    try {
      carrier->AllGather(Bytes(1), all);
    } catch (const GroupError& group_error) {
      error = group_error.what();
    }
  });
  EXPECT_EQ(error, "process 1 has been silent for 20 s");
}

TEST_F(NcclLogic, OtherErrorsEndAllAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string reason = processes_.Run([&](int rank) {
    const std::unique_ptr<Carrier> carrier = Open(rank);
    if (rank == 1) t_comm->error = ncclSystemError;
    Bytes all(kProcesses);
    carrier->AllGather(Bytes(1), all);
  });
  EXPECT_EQ(reason, "NCCL between the processes: an error of NCCL; NCCL_DEBUG=INFO says more");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

}  // namespace
}  // namespace legacy::nccl_logic_test
