// A temporary folder of its own for each test that writes figures or reports.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "analysis/gnuplot.h"
#include "compress/error.h"

namespace legacy::analysis {

class ReportFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    directory_ = std::filesystem::path(::testing::TempDir()) /
                 (std::string(info->name()) + "." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void Put(const std::string& file, const std::string& text) const {
    std::ofstream(directory_ / file, std::ios::binary) << text;
  }
  std::string Get(const std::string& file) const {
    std::ostringstream text;
    text << std::ifstream(directory_ / file, std::ios::binary).rdbuf();
    return text.str();
  }
  // Every file under the folder with its content.
  std::map<std::string, std::string> Everything() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
      if (entry.is_directory()) continue;
      const std::string name = std::filesystem::relative(entry.path(), directory_).string();
      files[name] = Get(name);
    }
    return files;
  }
  bool HasGnuplot() const { return RunGnuplot(directory_, "/dev/null").found; }

  std::filesystem::path directory_;
};

}  // namespace legacy::analysis
