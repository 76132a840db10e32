// Runs gnuplot, if it is installed, as a child process (no shell).
#pragma once

#include <filesystem>
#include <string>

namespace legacy::analysis {

struct GnuplotResult {
  bool found = true;    // the program could be started
  bool ok = false;      // and ended without an error
  std::string message;  // what it wrote
};

// Runs `script` (a file name) inside `directory` with gnuplot's default settings. `program` is a
// name looked up in PATH or a path.
GnuplotResult RunGnuplot(const std::filesystem::path& directory, const std::string& script,
                         const std::string& program = "gnuplot");

}  // namespace legacy::analysis
