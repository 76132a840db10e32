// Rates in the words of labels, which are those of the Internet Topology Zoo.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "ns3-module/fabric/import/label-rate.h"

namespace legacy::fabric::label_rate_test {
namespace {

constexpr int64_t kMega = 1'000'000;
constexpr int64_t kGiga = 1'000'000'000;

TEST(LabelRate, ReadsWhatLabelsName) {
  const std::pair<const char*, int64_t> labels[] = {
      {"10 Gbps", 10 * kGiga},
      {"45 Mbps DS-3", 45 * kMega},
      {"2.5 Gbit/s", 2'500 * kMega},
      {"10 GB/s - redundant", 10 * kGiga},
      {"<45Mb", 45 * kMega},
      {"9600 bit/s", 9600},
      {"1-20Gbps", 20 * kGiga},
      {"10-34 Mb/s", 34 * kMega},
      {"300M-1Gb/s", kGiga},
      {"155Mbs/1Gbps", kGiga},
      {"Dark Fiber (1-10Gbps)", 10 * kGiga},
      {"Managed Fiber (10Gbps, 100Mbps)", 10 * kGiga},
      {"OC-48", 2'488'320'000},
      {"OC-192c", 9'953'280'000},
      {"OC192/STM64", 9'953'280'000},
      {"POS OC-48", 2'488'320'000},
      {"STM-1", 155'520'000},
      {"OC3 and below/STM1", 155'520'000},
      {"E1", 2'048'000},
      {"E3", 34'368'000},
      {"ANS CO+RE T1", 1'544'000},
      {"internetMCI T3", 44'736'000},
      {"DS-3", 44'736'000},
      {"2x10Gb/s", 20 * kGiga},
      {"3 x 622Mbps", 1866 * kMega},
      {"10*10Gb/s", 100 * kGiga},
      {"STM-64x4", 39'813'120'000},
      {"4x1 Gbps + 2x STM-1", 4 * kGiga},
      {"N*10Gbit/s", 10 * kGiga},
  };
  for (const auto& [label, rate] : labels) EXPECT_EQ(RateOfLabel(label), rate) << label;
}

TEST(LabelRate, ReadsNothingElse) {
  for (const char* label : {"",
                            "Lit Fibre",
                            "Red Link",
                            "1Q 2003",
                            "GEANT2",
                            "SeaMeWe-3",
                            "TAT-14",
                            "Completion 2007",
                            "72 Lambda ROADM Network",
                            "Adria-1",
                            "10",
                            "OC",
                            "OC-x",
                            "STM-0",
                            "E10",
                            "T12",
                            "5 B",
                            "10 Gbpsx",
                            "DS-33",
                            "0 Gbps",
                            "2x",
                            "x2",
                            "10000 Tbps"}) {
    EXPECT_EQ(RateOfLabel(label), 0) << label;
  }
}

TEST(LabelRate, TakesLongLabelsInTheirLength) {
  std::string times = "1";
  for (int i = 0; i < 200'000; ++i) times += "x1";
  EXPECT_EQ(RateOfLabel(times), 0);
  EXPECT_EQ(RateOfLabel(std::string(1'000'000, '9')), 0);
  EXPECT_EQ(RateOfLabel(std::string(1'000'000, ' ') + "1Gbps"), kGiga);
}

}  // namespace
}  // namespace legacy::fabric::label_rate_test
