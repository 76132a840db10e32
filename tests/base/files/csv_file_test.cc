#include "base/files/csv_file.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "tests/message_of.h"

namespace legacy::csv_file_test {
namespace {

std::string FileOf(const std::string& text) {
  const std::string path = testing::TempDir() + "csv-" + std::to_string(getpid()) + ".csv";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

std::string ErrorOf(const std::string& text, const std::function<void(CsvFile&)>& read) {
  const std::string path = FileOf(text);
  const std::string message = MessageOf([&] {
    CsvFile file(path, "option");
    read(file);
  });
  return message.substr(std::min(message.size(), path.size()));
}

TEST(Csv, ReadsRowsWithQuotesBlankLinesAndCarriageReturns) {
  CsvFile file(FileOf("name,value\r\n\r\n\"a, \"\"b\"\"\",1.5\n\nplain,-2"), "option");
  ASSERT_TRUE(file.Next());
  EXPECT_EQ(file.Text(file.Column("name")), "a, \"b\"");
  EXPECT_EQ(file.Number(file.Column("value"), 0, 2), 1.5);
  ASSERT_TRUE(file.Next());
  EXPECT_EQ(file.Text(0), "plain");
  EXPECT_EQ(file.Whole(1, -5, 5), -2);
  EXPECT_EQ(file.Where(1).substr(file.Path().size()), ":5: value");
  EXPECT_FALSE(file.Next());
}

using Cells = std::vector<std::vector<std::string>>;

TEST(Csv, CellsInQuotesMayHaveAnyText) {
  EXPECT_EQ(CsvCells("file.csv", "a,b\r\n\"c\",\r\n"), (Cells{{"a", "b"}, {"c", ""}}));
  CsvRows rows("file.csv",
               "\xEF\xBB\xBF\"a\",\"\n\"\"b,\r\n\"\"\"\n\n,\"\",\"c\"\"d\"\"\",e\n\"f\"");
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.Cells(), (std::vector<std::string_view>{"a", "\n\"b,\r\n\""}));
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.Cells(), (std::vector<std::string_view>{"", "", "c\"d\"", "e"}));
  EXPECT_EQ(rows.Where(), "file.csv:5");
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(rows.Cells(), std::vector<std::string_view>{"f"});
  EXPECT_EQ(rows.Line(), 6);
  EXPECT_FALSE(rows.Next());
}

TEST(Csv, PeopleWriteCommentsAndBlanks) {
  const std::string text = "# it's \"so\"\n a\t,b c \r\n \t \n  #\n\" d \",\n,\"#\"";
  CsvRows rows("file.csv", text, CsvKind::kByHand);
  Cells cells;
  while (rows.Next()) cells.emplace_back(rows.Cells().begin(), rows.Cells().end());
  EXPECT_EQ(cells, (Cells{{"a", "b c"}, {"d", ""}, {"", "#"}}));
  EXPECT_EQ(CsvCells("file.csv", "#, a\n \n"), (Cells{{"#", " a"}, {" "}}));
}

TEST(Csv, EveryCutOfAGrowingTextLeavesWholeRowsOnly) {
  const std::string text = "p,1\n\"q\n\"\"r\",2\ns,3\n";
  for (size_t size = 0; size <= text.size(); ++size) {
    CsvRows rows("file.csv", text.substr(0, size), CsvKind::kGrowing);
    size_t whole = 0;
    while (rows.Next()) ++whole;
    EXPECT_EQ(whole, size >= text.size() ? 3 : size >= 14 ? 2 : size >= 4 ? 1 : 0) << size;
    const bool at_end = size == 0 || size == 4 || size == 14 || size == text.size();
    EXPECT_EQ(rows.UnfinishedLine(), at_end ? 0 : size < 4 ? 1 : size < 14 ? 2 : 4) << size;
    EXPECT_TRUE(rows.Cells().empty());
  }
}

TEST(Csv, NamesTheLineOfStrayQuotes) {
  for (const char* text : {"a\n\"b\"c\n", "a\nb\"c\n", "a\nb\"c\n,\"\n", "a\n \"b\"\n"}) {
    const std::string message = MessageOf([&] { CsvCells("file.csv", text); });
    EXPECT_EQ(message.find("file.csv:2: got '"), 0u) << message;
    EXPECT_NE(message.find("allowed: quotes around a whole field, doubled inside it"),
              std::string::npos)
        << message;
  }
}

TEST(Csv, UnpacksGzip) {
  const std::string path = testing::TempDir() + "csv-" + std::to_string(getpid()) + ".csv.gz";
  gzFile packed = gzopen(path.c_str(), "wb");
  std::string text = "a,b\n";
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i) + ",1\n";
  gzwrite(packed, text.data(), static_cast<unsigned>(text.size()));
  gzclose(packed);
  CsvFile file(path, "option");
  int64_t sum = 0;
  while (file.Next()) sum += file.Whole(0, 0, 100'000);
  EXPECT_EQ(sum, int64_t{99'999} * 100'000 / 2);
  // A file that breaks off is an error, not a shorter file.
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_NE(MessageOf([&] { CsvFile cut(path, "option"); }).find("it ends too early"),
            std::string::npos);
}

TEST(Csv, SaysWhereSomethingIsWrong) {
  const auto next = [](CsvFile& file) { file.Next(); };
  EXPECT_EQ(ErrorOf("", next), ": empty; a header line and rows were expected");
  EXPECT_EQ(ErrorOf("a,b\n1\n", next), ":2: cells: got '1'; allowed: 2, as the header has");
  EXPECT_EQ(ErrorOf("a,b\n1,\"2\n", next), ":2: a quote that is not closed");
  EXPECT_EQ(ErrorOf("a,b\n", [](CsvFile& file) { file.Column("c"); }),
            ":1: column: got 'c'; allowed: a, b");
  for (const char* number : {"nan", "inf", "", "2x", "-1", "1e400"}) {
    EXPECT_EQ(ErrorOf("a,b\n1," + std::string(number) + "\n",
                      [](CsvFile& file) {
                        file.Next();
                        file.Number(1, 0, 10);
                      }),
              ":2: b: got '" + std::string(number) + "'; allowed: a number from 0 to 10");
  }
  EXPECT_EQ(MessageOf([] { CsvFile file("/none.csv", "links"); }),
            "links: got '/none.csv'; allowed: a file that can be read (no such file or folder)");
}

}  // namespace
}  // namespace legacy::csv_file_test
