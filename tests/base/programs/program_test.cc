// How a program ends: with which status after an error, and at a signal where it has nothing to
// save, where it looks at its flag, and where it does not look.
#include "base/programs/program.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/programs/patience.h"

namespace legacy::program_test {
namespace {

constexpr int kOrderly = 7;

struct End {
  int status = -1;
  double seconds = 0;
};

// Runs `work` in a process of its own, sends it a signal once it says that it began, and a second
// one after `again` seconds (0: none).
End EndAt(int number, const std::function<int(const std::function<void()>& begin)>& work,
          double again = 0) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    _exit(work([&] { EXPECT_EQ(write(ends[1], "x", 1), 1); }));
  }
  char begun = 0;
  EXPECT_EQ(read(ends[0], &begun, 1), 1);
  const auto start = std::chrono::steady_clock::now();
  kill(child, number);
  if (again > 0) {
    std::this_thread::sleep_for(std::chrono::duration<double>(again));
    kill(child, number);
  }
  int raw = 0;
  waitpid(child, &raw, 0);
  close(ends[0]);
  close(ends[1]);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  return {WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, seconds.count()};
}

[[noreturn]] void Deaf() {
  for (;;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

TEST(ProgramEnds, WithAStatusThatTellsRefusalsFromFailures) {
  const auto status = [](const Error& error) {
    testing::internal::CaptureStderr();
    const int ended = ProgramStatus("test", [&]() -> int { throw error; });
    EXPECT_EQ(testing::internal::GetCapturedStderr(), std::string("test: ") + error.what() + "\n");
    return ended;
  };
  EXPECT_EQ(status(Error("disk full")), kFailed);
  EXPECT_EQ(status(Error("--rate", "fast", "a rate")), kRefused);
  EXPECT_EQ(status(Error::Refusal("unknown key 'x'")), kRefused);
  EXPECT_EQ(status(Error("disk full").Within("a.csv: ")), kFailed);
  EXPECT_EQ(status(Error("--rate", "fast", "a rate").Within("a.yaml:3: ")), kRefused);
}

// Standard output is complete, whatever its buffers, and objects that live until the end are not
// destroyed.
TEST(ProgramEnds, WithItsStatusAndAllItsOutput) {
  EXPECT_EXIT(
      {
#ifndef LEGACY_SANITIZED
        static const std::shared_ptr<void> late(nullptr, [](void*) { std::abort(); });
#endif
        dup2(STDERR_FILENO, STDOUT_FILENO);
        RunProgram("test", [] {
          std::printf("printed ");
          std::cout << "and written";
          return 3;
        });
      },
      testing::ExitedWithCode(3), "^(printed and written|and writtenprinted )$");
}

TEST(Program, IsNamedInHintsAsItsReaderCallsIt) {
  unsetenv("LEGACY_LAUNCHER");
  EXPECT_EQ(CommandOf("legacy-data"), "legacy-data");
  setenv("LEGACY_LAUNCHER", "./waf --run", 1);
  EXPECT_EQ(CommandOf("legacy-data"), "./waf --run legacy-data");
  unsetenv("LEGACY_LAUNCHER");
}

TEST(Program, EndsAtOnceWhereNothingIsToBeSaved) {
  for (const int number : {SIGINT, SIGTERM}) {
    const End end = EndAt(number, [](const auto& begin) -> int {
      [[maybe_unused]] const StopFlag& stop = CatchStop();
      { const StopScope over; }
      begin();
      Deaf();
    });
    EXPECT_EQ(end.status, kInterrupted);
    EXPECT_LT(end.seconds, 1);
  }
}

TEST(Program, IsWaitedForWhereItLooksAtTheFlag) {
  const auto work = [](const std::function<void()>& begin) {
    const StopFlag& stop = CatchStop();
    const StopScope scope(5);
    begin();
    while (stop == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return kOrderly;
  };
  EXPECT_EQ(EndAt(SIGTERM, work).status, kOrderly);
}

TEST(Program, EndsAfterAWhileWhereItDoesNotLook) {
  const End end = EndAt(SIGINT, [](const auto& begin) -> int {
    [[maybe_unused]] const StopFlag& stop = CatchStop();
    const StopScope outer;
    const StopScope scope(1);
    begin();
    Deaf();
  });
  EXPECT_EQ(end.status, kInterrupted);
  EXPECT_GT(end.seconds, 0.5);
  EXPECT_LT(end.seconds, 5);
}

TEST(Program, GivesUpWorkThatIsLateAndNoOther) {
  const auto work = [](const std::function<void()>& begin) {
    const StopFlag& stop = CatchStop();
    const StopScope outer;
    GiveUpIfLate();
    {
      const PatientScope in_time(1);
      begin();
      while (stop == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1200));  // as a checkpoint is written
    GiveUpIfLate();
    try {
      const PatientScope late(1);
      for (;;) GiveUpIfLate();
    } catch (const GivenUp&) {
    }
    GiveUpIfLate();
    return kOrderly;
  };
  const End end = EndAt(SIGTERM, work);
  EXPECT_EQ(end.status, kOrderly);
  EXPECT_GT(end.seconds, 2);
}

TEST(Program, EndsWhereLateWorkDoesNotGiveUp) {
  const End end = EndAt(SIGTERM, [](const auto& begin) -> int {
    [[maybe_unused]] const StopFlag& stop = CatchStop();
    const PatientScope scope(1);
    begin();
    Deaf();
  });
  EXPECT_EQ(end.status, kInterrupted);
  EXPECT_GT(end.seconds, kSecondsToGiveUp);
}

TEST(Program, EndsAtASecondSignalEverywhere) {
  const auto work = [](const std::function<void()>& begin) -> int {
    [[maybe_unused]] const StopFlag& stop = CatchStop();
    const StopScope scope;
    begin();
    Deaf();
  };
  EXPECT_EQ(EndAt(SIGINT, work, 0.1).status, kInterrupted);
}

}  // namespace
}  // namespace legacy::program_test
