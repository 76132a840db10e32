// Command lines for a shell, and programs that run alongside this one.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/programs/program.h"

namespace legacy {

// Return a word, or a line, that a POSIX shell reads back as the same.
std::string ShellWord(const std::string& word);
std::string ShellLine(const std::vector<std::string>& words);

// Returns a line that runs one of our programs with these words, as the reader calls it (CommandOf
// of base/programs/program.h).
std::string ProgramLine(const std::string& program, const std::vector<std::string>& words);

// A ShellResult has the output of a command line, and its exit status.
struct ShellResult {
  int status = -1;
  std::string text;  // standard output and error
};
// Runs a line in the shell, and waits for its end.
ShellResult RunShell(const std::string& line);

// Time between two queries of a program's state.
inline constexpr std::chrono::milliseconds kBetweenLooks{200};

// Runs a program, looked up in PATH, with its output appended to `log`. It gets SIGTERM where
// `stop` is set or this process dies. Returns its exit status, or -1 where it was stopped or died.
// Throws Error where it cannot be started.
int RunProgram(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick, const StopFlag& stop);

}  // namespace legacy
