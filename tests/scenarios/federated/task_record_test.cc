// Records of federated runs are read back as they were written, and other files are refused.
#include "scenarios/federated/task_record.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "tests/scenarios/federated/example_record.h"

namespace legacy::task_record_test {
namespace {

namespace fs = std::filesystem;

class TaskRecord : public testing::Test {
 protected:
  void SetUp() override { WriteExampleRecord(path_); }
  void TearDown() override { fs::remove(path_); }

  // Returns the message of reading after `old` (which must be there) is replaced by `fresh`.
  std::string After(const std::string& old, const std::string& fresh) const {
    WriteExampleRecord(path_);
    std::string text = ReadWholeFile(path_);
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old << " in " << text;
    if (at == std::string::npos) return "";
    text.replace(at, old.size(), fresh);
    WriteWholeFile(path_, text);
    try {
      ReadTaskRecord(path_);
    } catch (const Error& error) {
      return std::string(error.what()).substr(path_.string().size());
    }
    return "no error";
  }

  fs::path path_ =
      fs::path(testing::TempDir()) /
      (std::string("tasks-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TaskRecord, IsReadAsItWasWritten) {
  const FederatedRecord record = ReadTaskRecord(path_);
  EXPECT_EQ(record.training.dump(), R"({"rounds":2})");
  EXPECT_EQ(record.batch, 8);
  EXPECT_EQ(record.LayerNumels(), (std::vector<int64_t>{20, 10}));
  ASSERT_EQ(record.trainings.size(), 2);
  const RecordedFederation& first = record.trainings[0];
  EXPECT_EQ(first.policy, "topk");
  EXPECT_EQ(first.seed, 7);
  EXPECT_EQ(first.work.update_kernels, std::vector<std::string>{"optimizer.sgd"});
  ASSERT_EQ(first.work.corrections.size(), 1);
  EXPECT_EQ(first.work.corrections[0].kernel, "accumulate");
  EXPECT_EQ(first.versions.at(0).AboutUp(), 24);
  EXPECT_EQ(first.versions.at(0).encode.at(0).launches, 2);
  EXPECT_EQ(first.tasks.at({0, 4}).loss, 2.302585092994046);
  const RecordedFederation& second = record.trainings[1];
  EXPECT_EQ(second.versions.at(0).up_bytes, fabric::kUnknownBytes);
  EXPECT_EQ(second.versions.at(0).AboutUp(), 40);
  EXPECT_EQ(second.versions.at(0).decode.at(0).elements, 3);
  EXPECT_EQ(second.versions.at(0).delta->whole, 110);
  EXPECT_EQ(second.versions.at(0).delta->sent, 7);
  EXPECT_FALSE(first.versions.at(0).delta);
  EXPECT_EQ(second.tasks.at({0, 4}).up_bytes, 36);
  EXPECT_FALSE(second.tasks.at({0, 4}).loss);
}

TEST_F(TaskRecord, SaysWhatIsWrong) {
  EXPECT_EQ(After(R"("rounds":2)", R"("rounds":3)").substr(0, 11), ":1: hash: g");
  EXPECT_EQ(After(R"("format":1)", R"("format":2)"),
            ":1: format: got '2'; allowed: a whole number from 1 to 1");
  EXPECT_EQ(After(R"("batch":8)", R"("batch":0)").substr(0, 18), ":1: batch: got '0'");
  EXPECT_EQ(After(R"("redsync")", R"("topk")"), ":5: method topk, seed 7 begins twice");
  EXPECT_EQ(After(R"("down":120)", R"("down":-1)").substr(0, 18), ":3: down: got '-1'");
  EXPECT_EQ(After(R"("up":24)", R"("ups":24)"), ":3: without 'expected'");
  EXPECT_EQ(After(R"("whole":110)", R"("whole":121)"),
            ":6: 'whole' is more than 'down', of which it is");
  EXPECT_EQ(After(R"("sent":7)", R"("send":7)"), ":6: without 'sent'");
  EXPECT_EQ(After(R"("client":4)", R"("client":4.5)").substr(0, 21), ":4: client: got '4.5'");
  EXPECT_EQ(After(R"("loss":2.302585092994046)", R"("loss":"low")"),
            ":4: loss: got '\"low\"'; allowed: a number");
  EXPECT_EQ(After(R"({"corrections":[{)", R"({"corrections":{"a":{)").substr(0, 3), ":2:");
}

// A first contact gets the model and what else comes down; later ones the shorter of the messages
// that they missed and the model.
TEST(VersionWork, SaysWhatClientsDownload) {
  DownlinkLedger ledger;
  VersionWork work = {.version = 5,
                      .down_bytes = 120,
                      .encode = {},
                      .decode = {{"cast.decode", 30, 1}},
                      .delta = DeltaSize{.whole = 100, .sent = 60}};
  ledger.Decoded(1, 2, {.whole = 100, .sent = 20});
  ledger.Decoded(2, 5, {.whole = 100, .sent = 60});
  EXPECT_EQ(work.DownOf(0, ledger).bytes, 120);
  EXPECT_EQ(work.DownOf(0, ledger).messages, 0);
  EXPECT_EQ(work.DownOf(1, ledger).bytes, 60);
  EXPECT_EQ(work.DownOf(1, ledger).messages, 3);
  EXPECT_EQ(work.DownOf(2, ledger).bytes, 20);
  EXPECT_EQ(work.DownOf(2, ledger).messages, 0);
  work.delta->sent = 120;
  EXPECT_EQ(work.DownOf(1, ledger).bytes, 120);
  work.delta.reset();
  EXPECT_EQ(work.DownOf(1, ledger).bytes, 120);
  EXPECT_EQ(work.DownOf(1, ledger).messages, 1);
}

}  // namespace
}  // namespace legacy::task_record_test
