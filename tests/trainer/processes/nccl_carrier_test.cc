// NCCL, as far as one process can test it: more need a GPU each.
#include "trainer/processes/nccl_carrier.h"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

namespace legacy {
namespace {

TEST(NcclCarrier, IsNotOpenedWithoutAGpu) {
  std::string why;
  EXPECT_EQ(OpenNccl(OneProcess(), -1, &why), nullptr);
  EXPECT_EQ(why, "process 0 has no GPU");
}

TEST(NcclCarrier, GathersTheBytesOfOneProcess) {
  int gpus = 0;
  const cudaError_t status = cudaGetDeviceCount(&gpus);
  if (status != cudaSuccess || gpus == 0) GTEST_SKIP() << cudaGetErrorString(status);
  std::string why;
  const std::unique_ptr<Carrier> carrier = OpenNccl(OneProcess(), 0, &why);
  ASSERT_NE(carrier, nullptr) << why;
  for (const size_t size : {3, 1'000'003, 70}) {
    Bytes own(size), all(size);
    for (size_t i = 0; i < size; ++i) own[i] = std::byte(i * 7 + size);
    carrier->AllGather(own, all);
    EXPECT_EQ(all, own);
  }
}

}  // namespace
}  // namespace legacy
