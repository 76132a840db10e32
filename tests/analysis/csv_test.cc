#include "analysis/csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/files/csv_file.h"
#include "base/random.h"

namespace legacy::analysis::csv_test {
namespace {

TEST(CsvNumber, IsPositionalForUsualSizes) {
  EXPECT_EQ(CsvNumber(0), "0");
  EXPECT_EQ(CsvNumber(100000), "100000");
  EXPECT_EQ(CsvNumber(0.1), "0.1");
  EXPECT_EQ(CsvNumber(-1.5e-7), "-0.00000015");
  EXPECT_EQ(CsvNumber(9007199254740993.0), "9007199254740992");
  EXPECT_EQ(CsvNumber(1e16), "1e+16");
  EXPECT_EQ(CsvNumber(1e-9), "1e-09");
  EXPECT_EQ(CsvNumber(-std::nan("")), "nan");
  EXPECT_EQ(CsvNumber(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(CsvNumber, ReadsBackToTheSameBits) {
  RandomStream random({.seed = 1});
  for (int i = 0; i < 20000; ++i) {
    const double value =
        random.Normal() * std::pow(10.0, static_cast<int>(random.Below(600)) - 300);
    EXPECT_EQ(std::strtod(CsvNumber(value).c_str(), nullptr), value);
  }
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvLine({"plain", "a,b", "say \"x\"", "two\nlines", "", "±"}),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,±\n");
}

TEST(Csv, ReadsBackAsItIsWritten) {
  const std::vector<std::vector<std::string>> rows = {
      {"a", "", "\""}, {"", "", ""}, {"\r\n", "\n\n", ",\","}, {"x y", "\"\"", "last"}};
  std::string text;
  for (const auto& row : rows) text += CsvLine(row);
  EXPECT_EQ(CsvCells("file.csv", text), rows);
}

}  // namespace
}  // namespace legacy::analysis::csv_test
