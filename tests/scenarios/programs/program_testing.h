// Helpers of the tests of the whole program legacy-scenario: a short run, and a folder for each
// test.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/programs.h"

namespace legacy {

inline constexpr const char* kCsvFiles[] = {"steps.csv", "evaluations.csv", "layers.csv",
                                            "links.csv", "network.csv"};

// Options of a small run of every policy, which takes seconds.
inline constexpr const char* kShort =
    " --workers=4 --batch=8 --steps=6 --evaluate-every=2 --warmup-steps=2 --train-limit=400"
    " --test-limit=100 --pictures=off --model=small-cnn --dataset=glyphs --seeds=1 --networks=none";

inline const std::string kFidelity = "--fidelity=" LEGACY_DEFAULT_FIDELITY;

class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string("legacy-program-") +
                  ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Out(const std::string& name) const { return (directory_ / name).string(); }
  Result Run(const std::string& arguments) const {
    return Shell(std::string(LEGACY_SCENARIO_PROGRAM) + " " + arguments + " 2>&1");
  }

  std::filesystem::path directory_;
};

}  // namespace legacy
