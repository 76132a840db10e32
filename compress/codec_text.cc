#include "compress/codec_text.h"

#include "base/parse.h"

namespace legacy {

double CodecText::ParameterOf(const ParameterSpec& spec, const std::string& key) const {
  if (!parameter) return spec.fallback;
  return parameter->ends_with('%') ? ParseFraction(*parameter, key)
                                   : ParseNumber(*parameter, key, -1e9, 1e9);
}

CodecText CutCodecText(const std::string& text) {
  const size_t at = text.rfind('@');
  if (at == std::string::npos) return {.codec = text, .parameter = {}};
  return {.codec = text.substr(0, at), .parameter = text.substr(at + 1)};
}

}  // namespace legacy
