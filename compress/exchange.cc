#include "compress/exchange.h"

#include <algorithm>

#include "compress/schemes/ar_topk.h"
#include "compress/schemes/codec_scheme.h"
#include "compress/error.h"

namespace legacy {
namespace {

constexpr std::string_view kArTopK = "ar-topk";

}  // namespace

std::unique_ptr<Scheme> MakeScheme(std::string_view name, const SchemeOptions& options) {
  if (name == kArTopK) {
    // The same options as Top-K has, refused for the same reasons.
    MakeCodec("topk", options.codec);
    return std::make_unique<ArTopKScheme>(options.codec.index, options.error_feedback);
  }
  const auto codecs = CodecNames();
  if (std::ranges::find(codecs, name) == codecs.end()) {
    std::string allowed;
    for (const std::string& known : SchemeNames()) allowed += (allowed.empty() ? "" : ", ") + known;
    throw Error("scheme", std::string(name), allowed);
  }
  return std::make_unique<CodecScheme>(MakeCodec(name, options.codec), options.error_feedback);
}

std::vector<std::string> SchemeNames() {
  auto names = CodecNames();
  names.emplace_back(kArTopK);
  return names;
}

}  // namespace legacy
