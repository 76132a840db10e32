// A codec or scheme is written with its parameter as "topk@1%" or "int:bucket=64@4".
#pragma once

#include <optional>
#include <string>

#include "compress/codec.h"

namespace legacy {

// A CodecText has both parts of such a text.
struct CodecText {
  std::string codec;                     // "topk"
  std::optional<std::string> parameter;  // "1%"; nothing: it is not given

  // Returns the parameter, or the fallback of `spec` if none is given. Throws Error naming `key` on
  // texts that are no number.
  double ParameterOf(const ParameterSpec& spec, const std::string& key) const;
};

// Cuts a text at its last '@'.
CodecText CutCodecText(const std::string& text);

}  // namespace legacy
