// A temporary folder for each test that writes figures or reports.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "analysis/gnuplot.h"
#include "base/error.h"
#include "tests/analysis/folder_fixture.h"

namespace legacy::analysis {

class ReportFolderTest : public FolderTest {
 protected:
  // Returns every file under the folder with its content.
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
};

}  // namespace legacy::analysis
