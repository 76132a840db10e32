// The command lines of all programs share this: help, version, exit statuses, messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace legacy {

// Exit statuses of all programs, besides 0.
inline constexpr int kFailed = 1;
inline constexpr int kWrongCommandLine = 2;
inline constexpr int kInterrupted = 130;  // as shells report SIGINT

// The line of a program's help that says so.
inline constexpr const char* kExitStatuses =
    "Exit status: 0 success, 1 error, 2 wrong command line, 130 interrupted.\n";

// "0.2.0 (1a2b3c4)": the project's version, and the commit where it was built from a repository.
std::string VersionText();

// --help, and --version where `app` is a program; help is wrapped to the terminal. Hidden ones are
// --help-markdown, for the handbook, and --complete, the words that shells complete. Before options
// and subcommands are added: subcommands inherit help.
void PrepareArguments(CLI::App& app);

// Adds --plugin, which LoadPlugins (compress/registry/load_plugins.h) has read before: here for
// help, and allowed behind subcommands, too.
void AddPluginOption(CLI::App& app);

// Parses `arguments`, which are without the program's name. Returns the exit status where that was
// all: 0 after help or version, kWrongCommandLine after a message that names the program, and of
// options that are none the nearest.
std::optional<int> ParseArguments(CLI::App& app, std::vector<std::string> arguments);
std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv);

}  // namespace legacy
