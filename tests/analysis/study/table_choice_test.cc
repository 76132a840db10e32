#include "analysis/study/table_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/analysis/study/small_study.h"

namespace legacy::analysis::table_choice_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns the times of three policies at 1 and 100 Gbit/s on two topologies, one of which has
// commas in its name.
StudyTable Times() {
  StudyAxis topologies{"topo", "", {"star", "leaf-spine:leaves=2,spines=2"}, {}};
  StudyAxis bandwidths{"bandwidth", "bit/s", {"1Gbps", "100Gbps"}, {1e9, 1e11}};
  Study study = PendingStudy({"dense", "topk", "fp16"}, {1, 2}, {bandwidths, topologies});
  FinishAll(study, [](const StudyPoint& point) { return point.policy == "topk" ? 0.2 : 2; });
  return TableNamed(StudyTables(study), "time_to_target");
}

// Returns the rows as CSV has them, of the first columns.
std::vector<std::string> Rows(const std::vector<std::string>& rows) {
  std::vector<std::string> texts;
  const StudyTable chosen = Chosen(Times(), {rows, {"bandwidth", "topo", "policy"}});
  for (const auto& row : chosen.rows) texts.push_back(row[0] + " " + row[1] + " " + row[2]);
  EXPECT_EQ(chosen.rows.size(), chosen.csv_rows.size());
  return texts;
}

std::string Refusal(const TableChoice& choice) {
  try {
    Chosen(Times(), choice);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

TEST(TableChoice, KeepsRowsByPoliciesAndValuesOfAxes) {
  EXPECT_EQ(Rows({}).size(), 12U);
  EXPECT_EQ(Rows({"dense,topk"}).size(), 8U);
  const auto expected = ElementsAre("1 Gbit/s star topk", "1 Gbit/s star fp16");
  EXPECT_THAT(Rows({"topk,fp16", "bandwidth=1Gbps", "topo=star"}), expected);
  EXPECT_THAT(Rows({"policy=fp16,topk", "bandwidth=1 Gbit/s", "topology=star"}), expected);
  EXPECT_THAT(Rows({"topk", "bandwidth_number=1000000000", "topo=leaf-spine:leaves=2,spines=2"}),
              ElementsAre("1 Gbit/s leaf-spine:leaves=2,spines=2 topk"));
}

TEST(TableChoice, KeepsColumnsInTheOrderOfTheirNames) {
  const StudyTable table = Chosen(Times(), {{"bandwidth=1Gbps", "topo=star"}, {"TTA", "policy"}});
  EXPECT_THAT(MarkdownOf(table), HasSubstr("\n| TTA | method |\n|---:|---|\n| 2.00 s | dense |\n"));
  EXPECT_EQ(CsvOf(table),
            "time_to_target_mean,time_to_target_deviation,time_to_target_at_least,policy\n"
            "2,0,,dense\n0.2,0,,topk\n2,0,,fp16\n");
}

// A name of CSV chooses only that field there, and in print the column that shows it.
TEST(TableChoice, KnowsTheNamesOfCsv) {
  const StudyTable table =
      Chosen(Times(), {{"topk"}, {"policy", "speedup_low", "speedup", "speedup_high"}});
  EXPECT_THAT(MarkdownOf(table), HasSubstr("\n| method | speed-up over dense |\n|---|---:|\n"));
  EXPECT_THAT(CsvOf(table), HasSubstr("policy,speedup_low,speedup,speedup_high\ntopk,"));
  // A chosen table can be chosen from again.
  EXPECT_EQ(CsvOf(Chosen(table, {{}, {"speed-up over dense"}})),
            CsvOf(Chosen(Times(), {{"topk"}, {"speedup_low", "speedup", "speedup_high"}})));
}

TEST(TableChoice, NamesWhatThereIs) {
  EXPECT_EQ(
      Refusal({{"dense,topc"}, {}}).substr(0, 86),
      "table time_to_target: --rows: got 'topc'; allowed: dense, topk, fp16, or COLUMN=VALUES");
  EXPECT_EQ(Refusal({{"bandwidth=2Gbps"}, {}}),
            "table time_to_target: --rows: got '2Gbps'; allowed: 1Gbps, 100Gbps");
  EXPECT_THAT(Refusal({{"workers=8"}, {}}), HasSubstr("with one of bandwidth, topology, method"));
  EXPECT_THAT(Refusal({{""}, {}}), HasSubstr("--rows: got ''; allowed: dense"));
  // Of the rows that are left, none has that policy.
  EXPECT_THAT(Refusal({{"topk", "dense"}, {}}), HasSubstr("got 'dense'; allowed: topk, or"));
  const std::string columns = Refusal({{}, {"policy", "tta"}});
  EXPECT_THAT(columns, HasSubstr("--columns: got 'tta'; allowed: bandwidth, topology, method, "));
  EXPECT_THAT(columns, HasSubstr(", TTA, speed-up over dense, bandwidth_number, topo, "));
  EXPECT_THAT(columns, Not(HasSubstr("\n")));
}

}  // namespace
}  // namespace legacy::analysis::table_choice_test
