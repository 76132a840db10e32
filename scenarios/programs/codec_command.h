// The commands of the program legacy-codec.
#pragma once

#include <string>
#include <vector>

#include "scenarios/codec/codec_report.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {

// A CodecCommand is a trial of codecs.
struct CodecCommand {
  std::vector<std::string> codecs;  // empty: every one that there is, at its default
  std::string parameter;            // of codecs that name none
  GradientOptions gradients;
  RunOptions run;
  Detail detail = Detail::kCodec;
  std::string csv;
  std::string json;
  std::string out;     // message, or values with `decode`
  std::string decode;  // a message to read
  bool quiet = false;
};

// A CodecListCommand lists methods.
struct CodecListCommand {
  std::vector<std::string> names;
  bool markdown = false;
  std::string document;  // rewrite its tables
};

// A CodecCheckCommand checks methods.
struct CodecCheckCommand {
  std::vector<std::string> names;  // codecs and policies; empty: all that plugins brought
};

// Prints a line for each property that legacy-codec checks. Returns kFailed where one does not
// hold.
int RunCodecCheckCommand(const CodecCheckCommand& command);

// Throw Error; then nothing is written.
int RunCodecCommand(const CodecCommand& command);
int RunCodecListCommand(const CodecListCommand& command);

}  // namespace legacy
