// Options of a trial of codecs: the command line of legacy-codec and its help use one table of
// them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/options.h"
#include "base/parsed.h"
#include "scenarios/codec/codec_report.h"
#include "scenarios/codec/codec_run.h"

namespace legacy {

// CodecOptions have the values.
struct CodecOptions {
  std::vector<std::string> codecs;  // empty: every codec, at its default
  std::string parameter;            // parameter of codecs whose text has none
  GradientOptions gradients;        // its files are arguments without a flag
  RunOptions run;
  Parsed<ParseDetail> detail = "codec";
  std::string csv;
  std::string json;
  std::string out;     // file for the message, or with `decode` for the values
  std::string decode;  // file of the message to decode
  bool quiet = false;
};

// Group of the options of gradients, and of the files.
inline constexpr const char* kGradientsGroup = "Gradients";

// Returns the table.
const OptionTable<CodecOptions>& CodecRows();

}  // namespace legacy
