// Times that SimGrid publishes for its own use of ns-3 hold for our nodes, links and routes.
#include <gtest/gtest.h>

#include <cstdio>

#include "ns3-module/helper/reference-cases.h"

namespace legacy::packet_test {
namespace {

std::string SixDecimals(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", seconds);
  return text;
}

TEST(SimGridTest, TransfersTakeThePublishedTimes) {
  const std::vector<fabric::SimGridResult> results = fabric::RunSimGridCases();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(SixDecimals(results[0].measured), "1.104600");
  EXPECT_EQ(SixDecimals(results[1].measured), "0.000249");
  EXPECT_EQ(SixDecimals(results[2].measured), "0.007323");
  for (const fabric::SimGridResult& result : results) {
    EXPECT_EQ(SixDecimals(result.measured), SixDecimals(result.published)) << result.name;
  }
}

}  // namespace
}  // namespace legacy::packet_test
