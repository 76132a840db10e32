#include "analysis/study/journal.h"

#include <gmock/gmock.h>

#include "tests/analysis/study/store_fixture.h"
#include "tests/analysis/study/study_testing.h"

namespace legacy::analysis::journal_test {
namespace {

using ::testing::HasSubstr;

class JournalTest : public StudyStoreTest {
 protected:
  std::filesystem::path folder() const { return directory_ / "journal"; }
  std::filesystem::path Only() const {
    return std::filesystem::directory_iterator(folder())->path();
  }
  // Returns the journal line of a point.
  std::string LineOf(const StudyPoint& point) const {
    std::filesystem::remove_all(folder());
    JournalWriter(folder(), AwkwardMetrics()).Write(point);
    return Get(std::filesystem::relative(Only(), directory_));
  }
};

TEST_F(JournalTest, ResultsReadBackToTheLastBit) {
  const Study study = DoneAwkwardStudy();
  JournalWriter writer(folder(), AwkwardMetrics());
  for (size_t i = study.points.size(); i-- > 0;) {
    if (study.points[i].state != StudyState::kPending) writer.Write(study.points[i]);
  }
  for (const StudyTraining& training : study.trainings) writer.Write(training);
  const JournalEntries entries =
      ReadJournals(folder(), AwkwardMetrics());  // while the writer has it open
  ASSERT_EQ(entries.points.size(), study.points.size() - 1);
  ExpectSame(entries.points[0], study.points[0]);
  for (size_t i = 1; i < entries.points.size(); ++i) {
    ExpectSame(entries.points[i], study.points[i + 1]);
  }
  ASSERT_EQ(entries.trainings.size(), study.trainings.size());
  for (size_t i = 0; i < entries.trainings.size(); ++i) {
    ExpectSame(entries.trainings[i], study.trainings[study.trainings.size() - 1 - i]);
  }
}

TEST_F(JournalTest, WritersHaveAFileEach) {
  const StudyPoint point = DoneAwkwardStudy().points[4];
  JournalWriter first(folder(), AwkwardMetrics());
  JournalWriter second(folder(), AwkwardMetrics());
  first.Write(point);
  second.Write(DoneAwkwardStudy().points[5]);
  EXPECT_EQ(ReadJournals(folder(), AwkwardMetrics()).points.size(), 2u);
  EXPECT_THAT(Only().filename().string(), HasSubstr("-" + std::to_string(getpid())));
}

TEST_F(JournalTest, AFailureNeverHidesAResultAndTheLastResultCounts) {
  StudyPoint done = DoneAwkwardStudy().points[4];
  StudyPoint failed = done;
  Forget(failed, "first");
  JournalWriter writer(folder(), AwkwardMetrics());
  writer.Write(failed);
  Forget(failed, "second");
  writer.Write(failed);
  EXPECT_EQ(ReadJournals(folder(), AwkwardMetrics()).points.at(0).message, "second");
  writer.Write(done);
  done.figures.events = 1;
  writer.Write(done);
  writer.Write(failed);
  const JournalEntries entries = ReadJournals(folder(), AwkwardMetrics());
  ASSERT_EQ(entries.points.size(), 1u);
  ExpectSame(entries.points[0], done);
}

TEST_F(JournalTest, AnUnfinishedLastLineIsIgnoredWhereverItIsTorn) {
  const std::string line = LineOf(DoneAwkwardStudy().points[4]);
  const std::string next = LineOf(DoneAwkwardStudy().points[5]);
  for (size_t length = 0; length < next.size(); length += 97) {
    Put("journal/" + Only().filename().string(), line + next.substr(0, length));
    ASSERT_EQ(ReadJournals(folder(), AwkwardMetrics()).points.size(), 1u) << length;
  }
}

TEST_F(JournalTest, OtherFilesAreNotRead) {
  EXPECT_TRUE(ReadJournals(folder(), AwkwardMetrics()).points.empty());
  std::filesystem::create_directories(folder());
  Put("journal/notes.txt", "not JSON\n");
  Put("journal/empty.jsonl", "");
  EXPECT_TRUE(ReadJournals(folder(), AwkwardMetrics()).points.empty());
}

TEST_F(JournalTest, ForeignLinesAreSkippedAndNamedByFileAndLine) {
  const nlohmann::json good = nlohmann::json::parse(LineOf(DoneAwkwardStudy().points[4]));
  const auto error = [&](const std::string& line) {
    Put("journal/a.jsonl", line + "\n" + good.dump() + "\n" + line + "\n");
    const JournalEntries entries = ReadJournals(folder(), AwkwardMetrics());
    EXPECT_EQ(entries.points.size(), 1u) << line.substr(0, 80);
    EXPECT_EQ(entries.skipped, entries.first_skipped.empty() ? 0 : 2);
    return entries.first_skipped;
  };
  const auto changed = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json line = good;
    line["point"][nlohmann::json::json_pointer(pointer)] = value;
    return error(line.dump());
  };
  const std::string place = (folder() / "a.jsonl").string() + ":1: ";
  EXPECT_EQ(error(good.dump()), "");
  EXPECT_EQ(error("x"), place + "line: byte 1: not valid JSON");
  EXPECT_EQ(error(""), place + "line: byte 1: not valid JSON");
  EXPECT_EQ(error(std::string(1 << 20, '[')),
            place + "line: byte 65: nested deeper than 64 levels");
  EXPECT_THAT(error("[1]"), HasSubstr(place + "line: got 'array'"));
  EXPECT_EQ(error("{\"point\": 3}"), place + "id: got 'nothing'; allowed: a value");
  EXPECT_EQ(changed("/id", -1), place + "id: got '-1'; allowed: 0 or more");
  EXPECT_EQ(changed("/id", 1e300), place + "id: got '1e+300'; allowed: a whole number of 64 bits");
  EXPECT_THAT(changed("/seed", -1), HasSubstr(place + "seed: got '-1'"));
  EXPECT_THAT(changed("/values", "x"), HasSubstr(place + "values: got '\"x\"'"));
  EXPECT_EQ(changed("/state", "pending"), place + "state: got 'pending'; allowed: done, failed");
  EXPECT_THAT(changed("/figures", nullptr), HasSubstr(place + "workers_trained: got 'nothing'"));
  EXPECT_THAT(changed("/figures/step_seconds", "fast"),
              HasSubstr(place + "step_seconds: got '\"fast\"'; allowed: a number"));
  EXPECT_THAT(changed("/figures/events", 1.5), HasSubstr(place + "events: got '1.5'"));
  EXPECT_EQ(changed("/curve/test_loss", nlohmann::json::array()),
            place + "test_loss: got 'array'; allowed: a list of 3, as many as steps");
  EXPECT_EQ(changed("/curve/test_perplexity", nlohmann::json::array()),
            place + "test_perplexity: got 'array'; allowed: a list of 3, as many as steps");
  EXPECT_THAT(changed("/curve/step/0", "x"), HasSubstr(place + "step: got '\"x\"'"));
}

TEST_F(JournalTest, AFolderThatCannotBeMadeIsAnError) {
  Put("file", "");
  EXPECT_THAT(ErrorOf([&] { JournalWriter(directory_ / "file", {}); }),
              HasSubstr((directory_ / "file").string()));
}

}  // namespace
}  // namespace legacy::analysis::journal_test