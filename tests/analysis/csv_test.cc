#include "analysis/csv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/error.h"
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

std::vector<CsvRecord> ParseAll(std::string_view text, int64_t* truncated = nullptr) {
  CsvParser parser("file.csv", text);
  std::vector<CsvRecord> records;
  CsvRecord record;
  while (parser.Next(record)) records.push_back(record);
  if (truncated != nullptr) *truncated = parser.truncated_line();
  return records;
}

TEST(Csv, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(CsvLine({"plain", "a,b", "say \"x\"", "two\nlines", "", "±"}),
            "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",,±\n");
}

TEST(Csv, ReadsBackWhatItWrites) {
  const std::vector<std::vector<std::string>> rows = {
      {"a", "", "\""}, {"", "", ""}, {"\r\n", "\n\n", ",\","}, {"x y", "\"\"", "last"}};
  std::string text;
  for (const auto& row : rows) text += CsvLine(row);
  int64_t truncated = -1;
  const auto records = ParseAll(text, &truncated);
  ASSERT_EQ(records.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(records[i].fields, rows[i]) << i;
  EXPECT_EQ(records[3].line, 7);  // three line breaks are inside the third record
  EXPECT_EQ(truncated, 0);
}

TEST(Csv, AcceptsCarriageReturnsBeforeLineFeeds) {
  const auto records = ParseAll("a,b\r\n\"c\",\r\n");
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].fields, (std::vector<std::string>{"c", ""}));
}

TEST(Csv, EveryCutLeavesWholeRecordsOnly) {
  const std::string text = "p,1\n\"q\n\"\"r\",2\ns,3\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    int64_t truncated = -1;
    const auto records = ParseAll(std::string_view(text).substr(0, size), &truncated);
    const size_t whole = size >= text.size() ? 3 : size >= 14 ? 2 : size >= 4 ? 1 : 0;
    const bool at_end = size == 0 || size == 4 || size == 14 || size == text.size();
    EXPECT_EQ(records.size(), whole) << size;
    EXPECT_EQ(truncated == 0, at_end) << size;
  }
}

TEST(Csv, NamesTheLineOfStrayQuotes) {
  for (const char* text : {"a\n\"b\"c\n", "a\nb\"c\n"}) {
    try {
      ParseAll(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("file.csv:2"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace legacy::analysis::csv_test