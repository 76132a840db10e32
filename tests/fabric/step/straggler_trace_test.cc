#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "ns3-module/fabric/step/straggler-trace.h"
#include "ns3-module/fabric/step/straggler.h"
#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::straggler_trace_test {
namespace {

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "legacy-trace-" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
  }
  void TearDown() override { std::remove(path_.c_str()); }

  std::unique_ptr<StragglerModel> Make(const std::string& content, const std::string& keys = "") {
    std::ofstream(path_) << content;
    return MakeStragglers("trace:file=" + path_ + keys);
  }
  // Returns the message about `content`, without the folder.
  std::string ErrorOf(const std::string& content, const std::string& keys = "") {
    const std::string message = MessageOf([&] { Make(content, keys); });
    const size_t at = message.find(path_);
    return at == std::string::npos ? message : "FILE" + message.substr(at + path_.size());
  }

  std::string path_;
};

// A trace with steps in any order of rows, and gaps in the numbers of workers.
constexpr const char* kPlain =
    "step,worker,time\n"
    "7,1,20\n7,4,10\n7,9,30\r\n"
    "5,9,300\n5,4,100\n5,1,100\n";

TEST_F(TraceTest, ATypicalWorkerOfEachStepIsOne) {
  const auto model = Make(kPlain);
  EXPECT_EQ(model->Factors(3, 1, 0), (std::vector<double>{1, 1, 3}));
  EXPECT_EQ(model->Factors(3, 1, 1), (std::vector<double>{1, 0.5, 1.5}));
  EXPECT_EQ(model->Factors(2, 1, 3), (std::vector<double>{1, 0.5})) << "starts again";
  EXPECT_TRUE(model->Transient());
  EXPECT_FALSE(Make(kPlain, ",lasting=run")->Transient());
  EXPECT_EQ(Make(kPlain, ",lasting=2")->Factors(3, 1, 1), (std::vector<double>{1, 1, 3}));
}

TEST_F(TraceTest, UnitsAndWorkersAreChosen) {
  EXPECT_EQ(Make(kPlain, ",unit=run")->Factors(3, 1, 1),  // median of all: 65
            (std::vector<double>{20.0 / 65, 10.0 / 65, 30.0 / 65}));
  EXPECT_EQ(Make(kPlain, ",unit=factor")->Factors(1, 1, 1), (std::vector<double>{20}));
  EXPECT_EQ(Make(kPlain, ",workers=9+1+9+9")->Factors(4, 1, 0), (std::vector<double>{3, 1, 3, 3}));
}

// Rows are stages of a pipeline, of which the slowest counts; times are in several columns.
TEST_F(TraceTest, ReadsOtherColumns) {
  const auto model = Make(
      "iteration,rank,stage,forward_ms,backward_ms\n"
      "0,0,0,1,2\n0,0,1,4,4\n0,1,0,8,8\n0,1,1,1,0\n",
      ",step=iteration,worker=rank,time=forward_ms+backward_ms,unit=factor");
  EXPECT_EQ(model->Factors(2, 1, 0), (std::vector<double>{8, 16}));
}

TEST_F(TraceTest, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("step,worker,time\n1,0,1\n1,1,quick\n"),
            "FILE:3: time: got 'quick'; allowed: positive numbers");
  EXPECT_EQ(ErrorOf("step,worker,time\n1,0\n"),
            "FILE:2: cells: got '2'; allowed: 3, as the header has");
  EXPECT_EQ(ErrorOf("step,worker,ms\n1,0,1\n"),
            "FILE:1: column: got 'time'; allowed: step, worker, ms");
  EXPECT_NE(ErrorOf("step,worker,time\n-1,0,1\n").find("FILE:2: step: got '-1'"),
            std::string::npos);
  EXPECT_NE(ErrorOf("step,worker,time\n1,0.5,1\n").find("FILE:2: worker: got '0.5'"),
            std::string::npos);
  for (const char* time : {"0", "-1", "nan", "inf", "1e400", ""}) {
    EXPECT_NE(ErrorOf("step,worker,time\n1,0," + std::string(time) + "\n").find("FILE:2: time"),
              std::string::npos)
        << time;
  }
  EXPECT_EQ(ErrorOf("step,worker,time\n1,0,1\n1,1,1\n2,0,1\n"),
            "FILE: step 2: its workers are not those of step 1; every step needs all of them");
  EXPECT_EQ(ErrorOf("step,worker,time\n"), "FILE: no rows");
  EXPECT_NE(ErrorOf(""), "");
  EXPECT_NE(ErrorOf(kPlain, ",unit=week").find("step, run, factor"), std::string::npos);
  EXPECT_NE(ErrorOf(kPlain, ",workers=1+2").find("workers: got '2'"), std::string::npos);
  EXPECT_NE(MessageOf([&] { Make(kPlain)->Factors(4, 1, 0); }).find("at most 3"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { MakeStragglers("trace:file=/no/such/file"); }).find("/no/such/file"),
            std::string::npos);
  EXPECT_NE(MessageOf([] { MakeStragglers("trace"); }), "");
}

}  // namespace
}  // namespace legacy::fabric::straggler_trace_test