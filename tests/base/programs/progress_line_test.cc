#include "base/programs/progress_line.h"

#include <gtest/gtest.h>

#include <limits>

namespace legacy {
namespace {

TEST(WallTimeInWords, HasNoExponentInAnyUnit) {
  EXPECT_EQ(WallTimeInWords(0), "0 seconds");
  EXPECT_EQ(WallTimeInWords(1), "1 second");
  EXPECT_EQ(WallTimeInWords(0.25), "0.25 seconds");
  EXPECT_EQ(WallTimeInWords(9.96), "10 seconds");
  EXPECT_EQ(WallTimeInWords(99.4), "99 seconds");
  EXPECT_EQ(WallTimeInWords(99.6), "1.7 minutes");
  EXPECT_EQ(WallTimeInWords(99.4 * 60), "99 minutes");
  EXPECT_EQ(WallTimeInWords(99.8 * 60), "1.7 hours");
  EXPECT_EQ(WallTimeInWords(47 * 3600), "47 hours");
  EXPECT_EQ(WallTimeInWords(48 * 3600), "2 days");
  EXPECT_EQ(WallTimeInWords(1e9), "11574 days");
  EXPECT_EQ(WallTimeInWords(std::numeric_limits<double>::infinity()), "inf days");
}

}  // namespace
}  // namespace legacy
