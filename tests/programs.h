// Helpers of whole-program tests, which run a command as users do and read its output.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/files/csv_file.h"

namespace legacy {

struct Result {
  int status = -1;
  std::string text;  // standard output
};

inline Result Shell(const std::string& command) {
  Result result;
  FILE* pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), pipe)) result.text.append(buffer, n);
  const int status = pclose(pipe);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

inline std::string Read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Returns the rows of a CSV file, of which the first is the header.
inline std::vector<std::vector<std::string>> CsvOf(const std::filesystem::path& path) {
  return CsvCells(path.string(), Read(path));
}

// Returns the place of a column of such rows.
inline size_t ColumnOf(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
  const auto& header = rows.at(0);
  const auto found = std::find(header.begin(), header.end(), name);
  if (found == header.end()) throw std::runtime_error("no column " + name);
  return static_cast<size_t>(found - header.begin());
}

}  // namespace legacy
