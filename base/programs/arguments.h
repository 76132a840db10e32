// The command lines of all programs share this: help, version, exit statuses, messages.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/programs/program.h"

namespace CLI {
class App;
}

namespace legacy {

// Line of a program's help that lists the exit statuses.
inline constexpr const char* kExitStatuses =
    "Exit status: 0 success, 1 error, 2 wrong option or value, 130 interrupted.\n";

// Returns the project's version, with the commit where it was built from a repository: "0.3.0
// (1a2b3c4)".
std::string VersionText();

// Returns the group of an option in the help text: `group`, or a second group that --help=all lists
// and --help leaves out.
std::string HelpGroup(const std::string& group, bool usual);

// Adds --help, and --version where `app` is a program. Help is wrapped to the terminal. Also adds
// two hidden options: --help-markdown, for the handbook, and --complete, which prints the words
// that shells complete. Call it before options and subcommands are added, as subcommands inherit
// help.
void PrepareArguments(CLI::App& app);

// Adds --plugin, which LoadPlugins (compress/registry/load_plugins.h) has read before, so that help
// lists it. It is allowed after subcommands, too.
void AddPluginOption(CLI::App& app);

// Parses `arguments`, which are without the program's name. Returns an exit status where the
// program should end: 0 after help or version, kRefused after a message that names the
// program and, for an unknown option, the nearest known one.
std::optional<int> ParseArguments(CLI::App& app, std::vector<std::string> arguments);
std::optional<int> ParseArguments(CLI::App& app, int argc, const char* const* argv);

}  // namespace legacy
