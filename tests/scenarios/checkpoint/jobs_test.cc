#include "scenarios/checkpoint/jobs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace legacy::jobs_test {
namespace {

namespace fs = std::filesystem;

// A job that has written what others read is busy in its folder until its process ends, so that the
// folder may not be removed before.
TEST(Jobs, HaveEndedWhenTheirProcessesHave) {
  const fs::path folder = fs::path(testing::TempDir()) / "jobs";
  const fs::path end = folder / "end";
  const auto until = [](const auto& holds) {
    constexpr std::chrono::milliseconds kMoment(2);
    while (!holds()) std::this_thread::sleep_for(kMoment);
  };
  const auto work = [&] {
    std::ofstream(folder / "first" / "written") << "all";
    until([&] { return fs::exists(end); });
    return kJobDone;
  };
  Jobs jobs({{"the first", folder / "first", {}, work},
             {"the second", folder / "second", {}, [] { return kJobDone; }}},
            1);
  jobs.Tend();
  until([&] { return fs::exists(folder / "first" / "written"); });
  jobs.Tend();
  EXPECT_FALSE(jobs.HasEnded(0));
  EXPECT_FALSE(jobs.HasEnded(1)) << "it has not begun";
  std::ofstream(end) << "now";
  until([&] {
    jobs.Tend();
    return jobs.HasEnded(1);
  });
  EXPECT_TRUE(jobs.HasEnded(0));
}

}  // namespace
}  // namespace legacy::jobs_test
