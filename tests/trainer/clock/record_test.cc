// Records are read back as they were written, and other files are refused.
#include "trainer/clock/record.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/files/whole_file.h"
#include "tests/trainer/clock/example_record.h"

namespace legacy::record_test {
namespace {

namespace fs = std::filesystem;

class RecordTest : public ::testing::Test {
 protected:
  void TearDown() override { fs::remove(path_); }

  void WriteSteps() const {
    Recorder recorder(path_, ExampleHeader());
    recorder.Write("a", 7, ExampleWork(0, 100));
    recorder.Write("a", 7, ExampleWork(1, 200));
    recorder.Write("b", 7, ExampleWork(0, 100));
  }

  // Returns the message, without the file, of reading after `old` (which must be there) is replaced
  // by `fresh`.
  std::string After(const std::string& old, const std::string& fresh) const {
    std::string text = ReadWholeFile(path_);
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old << " in " << text;
    if (at == std::string::npos) return "";
    text.replace(at, old.size(), fresh);
    const fs::path changed = path_.string() + "-changed";
    WriteWholeFile(changed, text);
    std::string message = "no error";
    try {
      ReadRecord(changed);
    } catch (const Error& error) {
      message = std::string(error.what()).substr(changed.string().size());
    }
    fs::remove(changed);
    return message;
  }

  const fs::path path_ =
      fs::path(::testing::TempDir()) /
      (std::string("record-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(RecordTest, HasTheStepsThatWereWritten) {
  WriteSteps();
  const Record record = ReadRecord(path_);
  EXPECT_FALSE(record.batch);
  EXPECT_EQ(record.training.dump(), R"({"steps":2})");
  EXPECT_EQ(record.Hash(), TrainingHash(record.training));
  EXPECT_TRUE(record.replay_refused.empty());
  ASSERT_EQ(record.layers.size(), 2u);
  EXPECT_EQ(record.layers[1].numel, 10);
  ASSERT_EQ(record.operations.size(), 2u);
  EXPECT_EQ(record.operations[0].kind, "conv");
  EXPECT_EQ(record.operations[0].forward_bytes, 20.5);
  EXPECT_EQ(record.operations[1].parameters, std::vector<int>{1});
  EXPECT_EQ(record.operations[0].experts, 0);
  EXPECT_EQ(record.operations[1].experts, 8);
  EXPECT_EQ(record.operations[1].used, 2);
  EXPECT_EQ(record.operations[1].keys + record.operations[1].dispatch, 12 + 24);
  EXPECT_EQ(record.operations[1].combine, 36);
  ASSERT_EQ(record.works.size(), 2u);
  EXPECT_EQ(ToJson(record.works[0]), ToJson(ExampleWork(0, 100)));
  EXPECT_EQ(ToJson(record.works[1]), ToJson(ExampleWork(0, 200)));
  ASSERT_EQ(record.trainings.size(), 2u);
  EXPECT_EQ(record.trainings[0].works, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(record.trainings[1].policy, "b");
  EXPECT_EQ(record.trainings[1].works, std::vector<size_t>{0});
}

TEST_F(RecordTest, HasPassesAndUpdates) {
  StepWork work = ExampleWork(0, 100);
  EXPECT_FALSE(ToJson(work).contains("passes")) << "as before there were passes";
  EXPECT_FALSE(ToJson(work).contains("update"));
  work.passes = 4;
  work.local_steps = {50, 20};
  work.update = WorkList{{"optimizer.adam", 30}, {"copy", 30}};
  {
    Recorder recorder(path_, ExampleHeader());
    recorder.Write("a", 7, work);
    work.step = 1;
    work.update = WorkList{};  // not the same as none
    recorder.Write("a", 7, work);
  }
  const Record record = ReadRecord(path_);
  ASSERT_EQ(record.works.size(), 2u);
  EXPECT_EQ(record.works[0].passes, 4);
  EXPECT_EQ(record.works[0].local_steps, (std::vector<int64_t>{50, 20}));
  ASSERT_TRUE(record.works[0].update);
  EXPECT_EQ(record.works[0].update->at(1).kernel, "copy");
  ASSERT_TRUE(record.works[1].update);
  EXPECT_TRUE(record.works[1].update->empty());
  EXPECT_NE(After("\"passes\":4", "\"passes\":1").find(":2: passes: got '1"), std::string::npos);
  EXPECT_NE(After("\"passes\":4", "\"passes\":1e6").find(":2: passes"), std::string::npos);
  EXPECT_NE(After("\"local_steps\":[50,20]", "\"local_steps\":[50]").find(":2: local_steps"),
            std::string::npos);
  EXPECT_NE(After("\"local_steps\":[50,20]", "\"local_steps\":[50,-1]").find("got '-1"),
            std::string::npos);
  EXPECT_NE(After("\"update\":[{", "\"update\":[5,{").find(":2: without"), std::string::npos);
}

TEST_F(RecordTest, RefusesStepsThatNoRecorderWrites) {
  WriteSteps();
  const struct {
    const char* old;
    const char* fresh;
    const char* message;
  } cases[] = {
      {"{\"steps\":2}", "{\"steps\":3}", ":1: hash"},
      {"\"format\":2", "\"format\":3", ":1: format: got '3"},
      {"\"format\":2", "\"format\":1", "record the training again"},
      {"\"sets\":2", "\"sets\":-2", ":2: sets: got '-2"},
      {"\"elements\":20", "\"elements\":-20", ":1: elements: got '-20"},
      {"\"elements\":20", "\"elements\":1e99", ":1: elements"},
      {"\"forward_flops\":100.0", "\"forward_flops\":-1", ":1: forward_flops"},
      {"\"parameters\":[1]", "\"parameters\":[2]", ":1: parameters: got '2"},
      {"\"parameters\":[1]", "\"parameters\":[0]", ":1: parameters: layer 0 is given twice"},
      {"\"parameters\":[1]", "\"parameters\":[]", ":1: operations: none has layer 1"},
      {"\"layers\":[1,0]", "\"layers\":[1,5]", ":2: layers: got '5"},
      {"\"primitive\":\"broadcast\"", "\"primitive\":\"shout\"",
       "allowed: all-reduce, all-gather, broadcast"},
      {"\"root\":1", "\"root\":2", ":2: root: got '2'; allowed: a whole number from 0 to 1"},
      {"\"bytes\":[100,100]", "\"bytes\":[100]", ":2: bytes: got 1 messages"},
      {"\"bytes\":[100,100]", "\"bytes\":[100,9223372036854775808]", ":2: bytes: got '9223"},
      {"\"bytes\":[100,100]", "\"bytes\":[100,0.5]", ":2: bytes: got '0.5"},
      {"\"pull\":40,", "", ":2: served: given by calls that servers answer"},
      {"\"sent\":26", "\"sent\":-1", ":2: sent: got '-1"},
      {"\"kernel\":\"topk.encode\"", "\"kernel\":5", ":2: kernel: got '5'; allowed: a text"},
      {"\"workers\":2", "\"workers\":1000000", ":2: workers: got '1000000"},
      {"\"buckets\":[", "\"bucket\":[", ":2: without 'buckets'"},
      {"\"batch\":8", "\"participants\":[1,1],\"batch\":8", ":2: participants: not ascending"},
      {"\"work\":1,\"workers\"", "\"work\":7,\"workers\"", ":4: work: got '7"},
      {"\"step\":1,\"work\":1", "\"step\":1,\"work\":2", ":5: work: got '2"},
      {"\"step\":1,\"work\":1", "\"step\":3,\"work\":1", ":5: step: got '3"},
      {"\"policy\":\"b\"", "\"policy\":[]", ":6: policy: got 'array'; allowed: a text"},
      {"\"policy\":\"b\",", "\"policy\":\"b\"", ":6: byte "},
  };
  for (const auto& entry : cases) {
    const std::string message = After(entry.old, entry.fresh);
    EXPECT_NE(message.find(entry.message), std::string::npos) << entry.fresh << "\n" << message;
  }
  EXPECT_EQ(After(ReadWholeFile(path_), ""), ": empty; a record begins with its header");
  EXPECT_THROW(ReadRecord(path_.string() + "-missing"), Error);
}

TEST_F(RecordTest, HasTheTasksThatWereWritten) {
  WriteExampleTasks(path_);
  const Record record = ReadRecord(path_);
  EXPECT_EQ(record.training.dump(), R"({"steps":2})");
  EXPECT_EQ(record.batch, 8);
  ASSERT_EQ(record.layers.size(), 2u);
  EXPECT_EQ(record.layers[1].numel, 10);
  ASSERT_EQ(record.trainings.size(), 2);
  const RecordedTraining& first = record.trainings[0];
  EXPECT_EQ(first.policy, "topk");
  EXPECT_EQ(first.seed, 7);
  EXPECT_EQ(first.local.update_kernels, std::vector<std::string>{"optimizer.sgd"});
  ASSERT_EQ(first.local.corrections.size(), 1);
  EXPECT_EQ(first.local.corrections[0].kernel, "accumulate");
  EXPECT_EQ(first.versions.at(0).AboutUp(), 24);
  EXPECT_EQ(first.versions.at(0).encode.at(0).launches, 2);
  EXPECT_EQ(first.tasks.at({0, 4}).loss, 2.302585092994046);
  const RecordedTraining& second = record.trainings[1];
  EXPECT_EQ(second.versions.at(0).up_bytes, fabric::kUnknownBytes);
  EXPECT_EQ(second.versions.at(0).AboutUp(), 40);
  EXPECT_EQ(second.versions.at(0).decode.at(0).elements, 3);
  EXPECT_EQ(second.versions.at(0).delta->whole, 110);
  EXPECT_EQ(second.versions.at(0).delta->sent, 7);
  EXPECT_FALSE(first.versions.at(0).delta);
  EXPECT_EQ(second.tasks.at({0, 4}).up_bytes, 36);
  EXPECT_FALSE(second.tasks.at({0, 4}).loss);
}

TEST_F(RecordTest, RefusesTasksThatNoRecorderWrites) {
  WriteExampleTasks(path_);
  EXPECT_EQ(After(R"("steps":2)", R"("steps":3)").substr(0, 11), ":1: hash: g");
  EXPECT_EQ(After(R"("format":1)", R"("format":2)"),
            ":1: format: got 2; allowed: 1, as there is a 'batch'");
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

// A recorder that continues after a step or a task leaves the bytes of one that never ended.
TEST_F(RecordTest, ContinuesAfterItsLastLine) {
  WriteSteps();
  const std::string whole = ReadWholeFile(path_);
  { Recorder(path_, ExampleHeader()).Write("a", 7, ExampleWork(0, 100)); }
  {
    Recorder recorder(path_);
    recorder.Write("a", 7, ExampleWork(1, 200));
    recorder.Write("b", 7, ExampleWork(0, 100));
  }
  EXPECT_EQ(ReadWholeFile(path_), whole);
  WriteExampleTasks(path_);
  Recorder(path_).Begin("dense", 7, {});
  EXPECT_EQ(ReadRecord(path_).trainings.size(), 3u);
  WriteWholeFile(path_, "{}\n");
  EXPECT_THROW(Recorder recorder(path_), Error);
}

}  // namespace
}  // namespace legacy::record_test
