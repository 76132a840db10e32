// Command line of legacy-codec: a trial of codecs by default, whose options are rows
// (scenarios/codec/codec_options.h), and the subcommands list and check, whose arguments and two
// switches are not, as no other place reads them.
#pragma once

#include <optional>
#include <variant>

#include "scenarios/programs/codec_command.h"

namespace legacy {

// A CodecCommandLine is the command, or the exit status.
struct CodecCommandLine {
  std::variant<CodecOptions, CodecListCommand, CodecCheckCommand> command;
  // Status with which the program should end: help was printed, or the line was wrong.
  std::optional<int> exit;
};

// Prints help, and mistakes of the line itself. Wrong values throw Error here or when the command
// runs.
CodecCommandLine ParseCodecCommandLine(int argc, char** argv);

}  // namespace legacy
