// Helpers of whole-program tests, which run a command as users do and read its output.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace legacy
