// Helpers of the tests of legacy-codec's library.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "scenarios/codec/gradient_source.h"

namespace legacy {

class CodecFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("legacy-codec-") + test->name() + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::string WriteFile(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return Path(name);
  }
  std::string WriteValues(const std::string& name, const std::vector<float>& values) const {
    return WriteFile(name,
                     {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  }

  std::filesystem::path folder_;
};

inline GradientOptions Drawn(const std::string& text, int workers = 1, int64_t steps = 1,
                             const std::string& shape = {}) {
  GradientOptions options;
  options.drawn = text;
  options.shape = shape;
  options.workers = workers;
  options.steps = steps;
  return options;
}

}  // namespace legacy
