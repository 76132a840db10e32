// Recorded traffic is read back as it was written, and other files are refused.
#include "trainer/clock/traffic_reader.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "tests/trainer/clock/recorded_traffic.h"

namespace legacy::traffic_reader_test {
namespace {

namespace fs = std::filesystem;

class TrafficReader : public ::testing::Test {
 protected:
  void SetUp() override {
    TrafficRecorder recorder = ExampleRecorder(path_);
    recorder.Write("a", 7, ExampleWork(0, 100));
    recorder.Write("a", 7, ExampleWork(1, 200));
    recorder.Write("b", 7, ExampleWork(0, 100));
  }
  void TearDown() override { fs::remove(path_); }

  std::string Text() const {
    std::ostringstream text;
    text << std::ifstream(path_).rdbuf();
    return text.str();
  }

  // Returns the message of reading after `old` (which must be there) is replaced by `fresh`.
  std::string After(const std::string& old, const std::string& fresh) const {
    std::string text = Text();
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << old;
    text.replace(at, old.size(), fresh);
    const fs::path changed = path_.string() + "-changed";
    std::ofstream(changed) << text;
    std::string message = "no error";
    try {
      ReadTraffic(changed);
    } catch (const Error& error) {
      message = error.what();
    }
    fs::remove(changed);
    return message;
  }

  fs::path path_ =
      fs::path(::testing::TempDir()) /
      (std::string("traffic-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(TrafficReader, ReadsWhatWasWritten) {
  const RecordedTraffic traffic = ReadTraffic(path_);
  EXPECT_EQ(traffic.training.dump(), R"({"steps":2})");
  EXPECT_EQ(traffic.hash, TrainingHash(traffic.training));
  EXPECT_TRUE(traffic.replay_refused.empty());
  EXPECT_EQ(traffic.LayerNumels(), (std::vector<int64_t>{20, 10}));
  ASSERT_EQ(traffic.operations.size(), 2u);
  EXPECT_EQ(traffic.operations[0].kind, "conv");
  EXPECT_EQ(traffic.operations[0].forward_bytes, 20.5);
  EXPECT_EQ(traffic.operations[1].parameters, std::vector<int>{1});
  ASSERT_EQ(traffic.works.size(), 2u);
  EXPECT_EQ(ToJson(traffic.works[0]), ToJson(ExampleWork(0, 100)));
  EXPECT_EQ(ToJson(traffic.works[1]), ToJson(ExampleWork(0, 200)));
  ASSERT_EQ(traffic.trainings.size(), 2u);
  EXPECT_EQ(traffic.trainings[0].works, (std::vector<size_t>{0, 1}));
  EXPECT_EQ(traffic.trainings[1].policy, "b");
  EXPECT_EQ(traffic.trainings[1].works, std::vector<size_t>{0});
}

TEST_F(TrafficReader, ReadsPassesAndUpdates) {
  StepWork work = ExampleWork(0, 100);
  EXPECT_FALSE(ToJson(work).contains("passes")) << "as before there were passes";
  EXPECT_FALSE(ToJson(work).contains("update"));
  work.passes = 4;
  work.local_steps = {50, 20};
  work.update = WorkList{{"optimizer.adam", 30}, {"copy", 30}};
  {
    TrafficRecorder recorder = ExampleRecorder(path_);
    recorder.Write("a", 7, work);
    work.step = 1;
    work.update = WorkList{};  // not the same as none
    recorder.Write("a", 7, work);
  }
  const RecordedTraffic traffic = ReadTraffic(path_);
  ASSERT_EQ(traffic.works.size(), 2u);
  EXPECT_EQ(traffic.works[0].passes, 4);
  EXPECT_EQ(traffic.works[0].local_steps, (std::vector<int64_t>{50, 20}));
  ASSERT_TRUE(traffic.works[0].update);
  EXPECT_EQ(traffic.works[0].update->at(1).kernel, "copy");
  ASSERT_TRUE(traffic.works[1].update);
  EXPECT_TRUE(traffic.works[1].update->empty());
  EXPECT_NE(After("\"passes\":4", "\"passes\":1").find(":2: passes: got '1"), std::string::npos);
  EXPECT_NE(After("\"passes\":4", "\"passes\":1e6").find(":2: passes"), std::string::npos);
  EXPECT_NE(After("\"local_steps\":[50,20]", "\"local_steps\":[50]").find(":2: local_steps"),
            std::string::npos);
  EXPECT_NE(After("\"local_steps\":[50,20]", "\"local_steps\":[50,-1]").find("got '-1"),
            std::string::npos);
  EXPECT_NE(After("\"update\":[{", "\"update\":[5,{").find(":2: without"), std::string::npos);
}

TEST_F(TrafficReader, RefusesWhatNoRecorderWrites) {
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
      {"\"kernel\":\"topk.encode\"", "\"kernel\":5", ":2: kernel: got '5'; allowed: a text"},
      {"\"workers\":2", "\"workers\":1000000", ":2: workers: got '1000000"},
      {"\"buckets\":[", "\"bucket\":[", ":2: without 'buckets'"},
      {"\"batch\":8", "\"participants\":[1,1],\"batch\":8", ":2: participants: got '1"},
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
  EXPECT_NE(After(Text(), "").find("begins with its header"), std::string::npos);
  EXPECT_THROW(ReadTraffic(path_.string() + "-missing"), Error);
}

}  // namespace
}  // namespace legacy::traffic_reader_test