// These are command lines for a shell, and programs beside this one.
#pragma once

#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/program.h"

namespace legacy {

// Returns a word, or a line, as a POSIX shell reads it back.
std::string ShellWord(const std::string& word);
std::string ShellLine(const std::vector<std::string>& words);

// A ShellResult is what a command line wrote, and how it ended.
struct ShellResult {
  int status = -1;
  std::string text;  // standard output and error
};
// Runs a line by the shell, and waits for its end.
ShellResult RunShell(const std::string& line);

// Between two looks at what runs elsewhere.
inline constexpr std::chrono::milliseconds kBetweenLooks{200};

// Runs a program, looked up in PATH, with its output appended to `log`. It gets SIGTERM where
// `stop` is set or this process dies. Returns its exit status, or -1 where it was stopped or died.
// Throws Error where it cannot be started.
int RunProgram(const std::vector<std::string>& words, const std::filesystem::path& log,
               const std::function<void()>& tick, const StopFlag& stop);

// Returns the last lines of a log, for messages.
std::string EndOfLog(const std::filesystem::path& log, std::uintmax_t begin = 0);

}  // namespace legacy
