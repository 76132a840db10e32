// When NCCL carries messages.
#include "trainer/processes/carrier.h"

#include <gtest/gtest.h>

#include <vector>

namespace legacy {
namespace {

TEST(Carrier, NcclTakesOneProcessForEachGpu) {
  const Bytes first = {std::byte{1}, std::byte{2}}, second = {std::byte{1}, std::byte{3}};
  const auto why = [](const std::vector<Bytes>& gpus) { return WhyNotNccl(gpus); };
  EXPECT_EQ(why({first, second}), "");
  EXPECT_EQ(why({first}), "");
  EXPECT_EQ(why({first, {}, first}), "process 1 has no GPU");
  EXPECT_EQ(why({{}, {}}), "process 0 has no GPU");
  EXPECT_EQ(why({first, second, {std::byte{1}}, second, first}), "processes 1 and 3 share a GPU");
}

}  // namespace
}  // namespace legacy
