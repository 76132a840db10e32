#include "ns3-module/fabric/step/synchronisation.h"

#include <gtest/gtest.h>

#include "tests/fabric/fabric_testing.h"

namespace legacy::fabric::synchronisation_test {
namespace {

Participation Decide(const std::string& text, const std::vector<TimeNs>& ready) {
  return Synchronisation(text, "sync").Decide(ready);
}

const std::vector<TimeNs> kReady = {50, 20, 90, 20, 40};

TEST(Synchronisation, BarrierAndNoBackupsWaitForAll) {
  for (const char* text : {"barrier", "backup:k=0", "deadline:time=90ns", "deadline:factor=2.25"}) {
    const Participation all = Decide(text, kReady);
    EXPECT_TRUE(all.workers.empty()) << text;
    EXPECT_EQ(all.decided, 0) << text;
  }
  EXPECT_FALSE(Synchronisation("barrier", "sync").MayDrop());
  EXPECT_FALSE(Synchronisation("backup:k=0", "sync").MayDrop());
  EXPECT_TRUE(Synchronisation("backup:k=1", "sync").MayDrop());
  EXPECT_TRUE(Synchronisation("deadline:factor=100", "sync").MayDrop());
}

TEST(Synchronisation, BackupDropsTheSlowest) {
  const Participation one = Decide("backup", kReady);
  EXPECT_EQ(one.workers, (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(one.decided, 50) << "the last participant is ready";
  EXPECT_EQ(Decide("backup:k=3", kReady).workers, (std::vector<int>{1, 3}));
  const Participation tie = Decide("backup:k=4", kReady);
  EXPECT_EQ(tie.workers, (std::vector<int>{1})) << "of equals the lower number";
  EXPECT_EQ(tie.decided, 20);
}

TEST(Synchronisation, DeadlineDropsLateWorkers) {
  const Participation timed = Decide("deadline:time=40ns", kReady);
  EXPECT_EQ(timed.workers, (std::vector<int>{1, 3, 4})) << "in time is in time";
  EXPECT_EQ(timed.decided, 40);
  const Participation median = Decide("deadline:factor=1.5", kReady);  // 60
  EXPECT_EQ(median.workers, (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(median.decided, 60);
  EXPECT_EQ(Decide("deadline:factor=1", {10, 21, 20, 100}).decided, 21) << "20.5, rounded";
}

TEST(Synchronisation, ADeadlineLeavesTheMinimum) {
  const Participation nobody = Decide("deadline:time=1ns", kReady);
  EXPECT_EQ(nobody.workers, (std::vector<int>{1}));
  EXPECT_EQ(nobody.decided, 20);
  const Participation four = Decide("deadline:time=30ns,min=4", kReady);
  EXPECT_EQ(four.workers, (std::vector<int>{0, 1, 3, 4}));
  EXPECT_EQ(four.decided, 50);
  EXPECT_TRUE(Decide("deadline:time=30ns,min=5", kReady).workers.empty());
}

TEST(Synchronisation, SaysWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return MessageOf([&] { Synchronisation(text, "sync").CheckWorkers(4); });
  };
  EXPECT_EQ(error("backup:k=4"),
            "sync: got 'backup:k=4'; allowed: k below the number of 4 workers");
  EXPECT_EQ(error("deadline:factor=2,min=5"),
            "sync: got 'deadline:factor=2,min=5'; allowed: min at most the number of 4 workers");
  EXPECT_EQ(error("async"),
            "sync: got 'async'; allowed: barrier, backup:k=2, deadline:time=50ms, "
            "deadline:factor=1.5");
  for (const char* text : {"deadline", "deadline:time=1s,factor=2", "deadline:factor=0.5",
                           "deadline:time=0s", "deadline:time=soon", "deadline:factor=2,min=0",
                           "backup:k=-1", "backup:k=x", "barrier:k=1", "backup:factor=2", ""}) {
    EXPECT_NE(error(text), "") << text;
  }
  EXPECT_EQ(error("backup:k=3"), "");
}

}  // namespace
}  // namespace legacy::fabric::synchronisation_test