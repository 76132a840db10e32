#include "scenarios/network/options/sweep.h"

#include <gtest/gtest.h>

#include "tests/network/network_testing.h"

namespace legacy::sweep_test {
namespace {

using Texts = std::vector<std::string>;

TEST(Sweep, RangesAndLists) {
  EXPECT_EQ(ParseSweep("bytes=1KB..1MB:x10").values, (Texts{"1000", "10000", "100000", "1000000"}));
  EXPECT_EQ(ParseSweep("bytes=1KB..999KB:x10").values, (Texts{"1000", "10000", "100000"}));
  EXPECT_EQ(ParseSweep("workers=4..16:+4").values, (Texts{"4", "8", "12", "16"}));
  EXPECT_EQ(ParseSweep("workers=1..4:x1.1").values, (Texts{"1", "2", "3", "4"}));  // each once
  EXPECT_EQ(ParseSweep("delay=1us..4us:x2").values, (Texts{"1000ns", "2000ns", "4000ns"}));
  EXPECT_EQ(ParseSweep("bandwidth=1Gbps,10Gbps").values, (Texts{"1Gbps", "10Gbps"}));
  EXPECT_EQ(ParseSweep("topo=star;leaf-spine:leaves=2,hosts=8").values,
            (Texts{"star", "leaf-spine:leaves=2,hosts=8"}));
}

TEST(Sweep, GridRunsTheLastFastest) {
  const auto points =
      Grid(ExperimentOptions(), {ParseSweep("workers=2,4"), ParseSweep("bytes=1KB,2KB,3KB")});
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(points[1].workers, 2);
  EXPECT_EQ(points[1].bytes.text(), "2KB");
  EXPECT_EQ(points[5].workers, 4);
  EXPECT_EQ(points[5].topology, ExperimentOptions().topology);
}

TEST(Sweep, MistakesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"bytes", "NAME=FROM..TO"},         {"=4", "NAME=FROM..TO"},
      {"byte=1..2:x2", "bytes?"},         {"bytes=", "NAME=FROM..TO"},
      {"bytes=1..8", "NAME=FROM..TO"},    {"bytes=1..8:*2", "NAME=FROM..TO"},
      {"bytes=8..1:x2", "FROM <= TO"},    {"bytes=0..8:x2", "FROM > 0"},
      {"bytes=1..8:x1", "factor"},        {"workers=1..8:+0", "step"},
      {"bytes=1..many:x2", "got 'many'"}, {"fidelity=flow,packet", "--fidelity=A,B"},
      {"workers=1..8:+1KB", "step"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = MessageOf([&text = text] { ParseSweep(text); });
    EXPECT_NE(message.find(expected), std::string::npos) << text << ": " << message;
  }
  EXPECT_NE(MessageOf([] {
              Grid(ExperimentOptions(), {ParseSweep("workers=2,4"), ParseSweep("workers=8")});
            }).find("each option once"),
            std::string::npos);
  EXPECT_NE(MessageOf([] {
              Grid(ExperimentOptions(),
                   {ParseSweep("workers=1..1000:+1"), ParseSweep("seed=1..1000:+1")});
            }).find("more than"),
            std::string::npos);
}

}  // namespace
}  // namespace legacy::sweep_test