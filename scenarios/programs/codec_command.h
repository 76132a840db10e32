// Commands of the program legacy-codec.
#pragma once

#include <string>
#include <vector>

#include "scenarios/codec/codec_report.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {

// A CodecCommand is a trial of codecs.
struct CodecCommand {
  std::vector<std::string> codecs;  // empty: every codec, at its default
  std::string parameter;            // parameter of codecs whose text has none
  GradientOptions gradients;
  RunOptions run;
  Detail detail = Detail::kCodec;
  std::string csv;
  std::string json;
  std::string out;     // file for the message, or with `decode` for the values
  std::string decode;  // file of the message to decode
  bool quiet = false;
};

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
int RunCodecCommand(const CodecCommand& command);
int RunCodecListCommand(const CodecListCommand& command);

}  // namespace legacy
