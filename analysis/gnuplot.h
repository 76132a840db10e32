// gnuplot runs as a child process (no shell), where it is installed.
#pragma once

#include <filesystem>
#include <string>

namespace legacy::analysis {

struct GnuplotResult {
  bool found = true;    // true where the program could be started
  bool ok = false;      // true where it ended without an error
  std::string message;  // text that it wrote
};

// Runs `script` (a file name) inside `directory` with gnuplot's default settings. `program` is a
// name looked up in PATH or a path.
GnuplotResult RunGnuplot(const std::filesystem::path& directory, const std::string& script,
                         const std::string& program = "gnuplot");

}  // namespace legacy::analysis
