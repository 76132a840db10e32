#include "compress/codec.h"

#include "compress/codecs/codecs.h"
#include "compress/error.h"

namespace legacy {
namespace {

void Refuse(const char* option, bool given, std::string_view name, std::string_view reader) {
  if (!given || name == reader) return;
  throw Error(std::string(option) + " with codec " + std::string(name) + ": only codec " +
              std::string(reader) + " reads it");
}

}  // namespace

Message Codec::EncodeResidual(std::span<float> values, const CodecContext& context) const {
  Message message = Encode(values, context);
  std::vector<float> decoded(values.size());
  DecodeAdd(message.bytes, context, decoded);
  for (size_t i = 0; i < values.size(); ++i) values[i] -= decoded[i];
  return message;
}

std::unique_ptr<Codec> MakeCodec(std::string_view name, const CodecOptions& options) {
  std::unique_ptr<Codec> codec;
  if (name == "dense") {
    codec = std::make_unique<DenseCodec>();
  } else if (name == "fp16") {
    codec = std::make_unique<Float16Codec>();
  } else if (name == "topk") {
    codec = std::make_unique<TopKCodec>(options.index);
  } else if (name == "randomk") {
    codec = std::make_unique<RandomKCodec>(options.unbiased);
  } else {
    std::string allowed;
    for (const std::string& known : CodecNames()) allowed += (allowed.empty() ? "" : ", ") + known;
    throw Error("codec", std::string(name), allowed);
  }
  Refuse("index coding", options.index.has_value(), name, "topk");
  Refuse("unbiased", options.unbiased, name, "randomk");
  if (options.index == IndexCoding::kNone) {
    throw Error("index coding", "none", "u16, u32, bitmap, packed, delta");
  }
  return codec;
}

std::vector<std::string> CodecNames() { return {"dense", "fp16", "topk", "randomk"}; }

}  // namespace legacy
