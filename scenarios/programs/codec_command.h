// Commands of the program legacy-codec.
#pragma once

#include <string>
#include <vector>

#include "scenarios/codec/codec_options.h"

namespace legacy {

// A CodecListCommand lists methods.
struct CodecListCommand {
  std::vector<std::string> names;
  bool markdown = false;
  std::string document;  // Markdown file whose tables are rewritten
};

// A CodecCheckCommand checks methods.
struct CodecCheckCommand {
  std::vector<std::string> names;  // codecs and policies; empty: all that plugins added
};

// Prints a line for each property that legacy-codec checks. Returns kFailed where one does not
// hold.
int RunCodecCheckCommand(const CodecCheckCommand& command);

// Throw Error; nothing is written then.
int RunCodecCommand(const CodecOptions& options);
int RunCodecListCommand(const CodecListCommand& command);

}  // namespace legacy
