#include <gtest/gtest.h>

#include "base/error.h"
#include "base/simd.h"

namespace legacy::cpu::dispatch_test {
namespace {

TEST(Dispatch, ChoosesTheBestInstructionSetUnlessSet) {
  const auto usable = UsableSimd();
  ASSERT_EQ(usable.front(), Simd::kPlain);
  EXPECT_EQ(ChooseSimd(""), usable.back());
  for (const Simd simd : usable) EXPECT_EQ(ChooseSimd(SimdName(simd)), simd);
}

TEST(Dispatch, RefusesUnknownInstructionSets) {
  try {
    ChooseSimd("sse9");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("LEGACY_SIMD: got 'sse9'; allowed: plain"), 0u);
  }
}

}  // namespace
}  // namespace legacy::cpu::dispatch_test