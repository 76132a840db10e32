#include <charconv>

#include "base/files/csv_file.h"
#include "tests/analysis/study/store_fixture.h"

namespace legacy::analysis::export_test {
namespace {

class StudyExportTest : public StudyStoreTest {
 protected:
  std::vector<std::vector<std::string>> Csv(const std::string& name) const {
    const std::string text = Get("export/" + name);
    EXPECT_TRUE(text.ends_with('\n'));
    return CsvCells(name, text);
  }
};

// Returns whether the text reads back as the cell, with the cell's type.
bool Holds(const std::string& text, const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return text.empty();
  if (const auto* value = std::get_if<std::string>(&cell)) return text == *value;
  const char* end = text.data() + text.size();
  if (const auto* value = std::get_if<int64_t>(&cell)) {
    int64_t read = 0;
    return std::from_chars(text.data(), end, read).ptr == end && read == *value;
  }
  double read = 0;
  return std::from_chars(text.data(), end, read).ptr == end &&
         SameBits(read, std::get<double>(cell));
}

TEST_F(StudyExportTest, TheFilesHaveWhatTheDatabaseHas) {
  const Study study = DoneAwkwardStudy();
  StudyStore::Create(file_, study);
  ExportStudy(StudyStore::Open(file_).Read(), directory_ / "export");
  for (const std::string table : {"points", "curves", "trainings"}) {
    const auto records = Csv(table + ".csv");
    const auto names = Rows("SELECT name FROM pragma_table_info('" + table + "')");
    const auto rows = Rows("SELECT * FROM " + table);
    ASSERT_EQ(records.at(0).size(), names.size());
    for (size_t c = 0; c < names.size(); ++c) EXPECT_TRUE(Holds(records[0][c], names[c][0]));
    ASSERT_EQ(records.size(), rows.size() + 1) << table;
    for (size_t r = 0; r < rows.size(); ++r) {
      for (size_t c = 0; c < names.size(); ++c) {
        EXPECT_TRUE(Holds(records[r + 1][c], rows[r][c]))
            << table << " " << r << " " << records[0][c];
      }
    }
  }
}

TEST_F(StudyExportTest, TheDescriptionHasTheGridAndTheUnits) {
  ExportStudy(AwkwardStudy(), directory_ / "export");
  const auto json = nlohmann::json::parse(Get("export/study.json"));
  EXPECT_EQ(json["format"], 3);
  EXPECT_EQ(json["policies"], nlohmann::json({"top,k \"1%\"", "dense"}));
  EXPECT_EQ(json["target"]["metric"], "perplexity");
  EXPECT_EQ(json["target"]["value"], 0.1 + 0.2);
  EXPECT_EQ(json["metrics"][0]["name"], "accuracy");
  EXPECT_EQ(json["metrics"][1]["better"], "lower");
  EXPECT_EQ(json["definition"], AwkwardStudy().definition);
  EXPECT_EQ(json["axes"][0]["numbers"], nlohmann::json({1e9, 1e7 / 3}));
  EXPECT_TRUE(json["axes"][1]["numbers"].is_null());
  EXPECT_EQ(json["units"]["points"]["bandwidth_number"], "bit/s");
  EXPECT_EQ(json["units"]["points"]["time_to_target"], "s");
  EXPECT_EQ(json["units"]["curves"]["nic_bytes"], "B");
  EXPECT_EQ(json["units"]["curves"]["test_accuracy"], "fraction");
  EXPECT_FALSE(json["units"]["points"].contains("final_metric"));  // a perplexity
}

TEST_F(StudyExportTest, AFolderThatCannotBeMadeIsAnError) {
  Put("file", "");
  EXPECT_THROW(ExportStudy(AwkwardStudy(), directory_ / "file" / "export"), Error);
}

// The document lists the columns of each table in order, as rows "| `column` | ..." below its name.
TEST(StudyFormat, TheDocumentListsEveryColumn) {
  std::ostringstream text;
  text << std::ifstream(LEGACY_RESULTS_FORMAT).rdbuf();
  const auto expect = [&](const std::string& table, const std::vector<Column>& columns) {
    size_t position = text.str().find("### " + table + "\n");
    ASSERT_NE(position, std::string::npos) << table;
    for (const Column& column : columns) {
      position = text.str().find("\n| `" + column.name + "` | " + column.unit, position);
      ASSERT_NE(position, std::string::npos) << table << " " << column.name;
    }
  };
  expect("trainings", TrainingColumns());
  expect("points", PointColumns({}));
  expect("curves",
         CurveColumns(std::vector{Metric{"METRIC", "any", Metric::Better::kHigher, false}}));
}

}  // namespace
}  // namespace legacy::analysis::export_test