#include "compress/codecs/codecs.h"
#include "compress/codecs/common.h"
#include "compress/cpu/random_subset.h"
#include "compress/cpu/topk.h"

namespace legacy {
namespace {

Header RandomKHeader(uint32_t unit, int64_t numel, int64_t count) {
  return {.codec = static_cast<uint8_t>(CodecId::kRandomK),
          .unit = unit,
          .numel = static_cast<uint32_t>(numel),
          .count = static_cast<uint32_t>(count)};
}

// The same at every worker, for encoding as for decoding.
std::vector<uint32_t> Support(const CodecContext& context, int64_t numel) {
  CheckParameter(DensityParameter(), context.parameter);
  RandomKey key = context.random;
  key.worker = 0;
  key.layer = context.unit;
  key.purpose = Purpose::kRandomK;
  return cpu::RandomSubset(RandomStream(key), numel, KeptCount(numel, context.parameter));
}

}  // namespace

const ParameterSpec& RandomKCodec::Parameter() const { return DensityParameter(); }

int64_t RandomKCodec::ElementsSent(int64_t numel, double density) const {
  return KeptCount(numel, density);
}

std::optional<int64_t> RandomKCodec::MessageBytes(const Unit& unit, double density) const {
  return kHeaderBytes + int64_t{sizeof(float)} * KeptCount(unit.numel, density);
}

Work RandomKCodec::EncodeWork(int64_t numel, double density) const {
  return {"randomk.encode", KeptCount(numel, density), 1};
}

Work RandomKCodec::DecodeWork(int64_t numel, double density) const {
  return {"randomk.decode", KeptCount(numel, density), 1};
}

Message RandomKCodec::Pack(std::span<const float> values, std::span<const uint32_t> support,
                           const CodecContext& context) const {
  const auto count = static_cast<int64_t>(support.size());
  const float scale =
      unbiased_ && count > 0 ? static_cast<float>(values.size()) / static_cast<float>(count) : 1.0f;
  std::vector<float> sent(support.size());
  for (size_t i = 0; i < support.size(); ++i) sent[i] = values[support[i]] * scale;
  CheckFinite(sent, context.unit);  // scaling may overflow
  Message message =
      StartMessage(RandomKHeader(context.unit, static_cast<int64_t>(values.size()), count),
                   int64_t{sizeof(float)} * count);
  AppendFloats(sent, message.bytes);
  return message;
}

Message RandomKCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  CheckFinite(values, context.unit);
  return Pack(values, Support(context, CheckedNumel(values)), context);
}

Message RandomKCodec::EncodeResidual(std::span<float> values, const CodecContext& context) const {
  if (unbiased_) return Codec::EncodeResidual(values, context);
  CheckFinite(values, context.unit);
  const auto support = Support(context, CheckedNumel(values));
  Message message = Pack(values, support, context);
  cpu::ClearAt(values, support);
  return message;
}

void RandomKCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                             std::span<float> sum) const {
  const int64_t numel = CheckedNumel(sum);
  const int64_t count = KeptCount(numel, context.parameter);
  const ByteSpan segment = CheckedPayload(message, RandomKHeader(context.unit, numel, count),
                                          int64_t{sizeof(float)} * count);
  CheckFiniteSegment(segment);
  const auto support = Support(context, numel);
  for (size_t i = 0; i < support.size(); ++i) sum[support[i]] += FloatAt(segment, i);
}

}  // namespace legacy
