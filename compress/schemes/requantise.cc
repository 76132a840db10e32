#include "compress/schemes/requantise.h"

#include <algorithm>
#include <cassert>

#include "compress/checks.h"

namespace legacy {
namespace {

Message EncodeSlice(const Quantiser& quantiser, std::span<const float> slice,
                    const CodecContext& context) {
  const auto count = static_cast<uint32_t>(slice.size());
  Message message = StartMessage({.codec = static_cast<uint8_t>(CodecId::kSlice),
                                  .values = quantiser.Type(),
                                  .unit = context.unit,
                                  .numel = count,
                                  .count = count},
                                 *quantiser.SegmentBytes(count, context.parameter));
  quantiser.Encode(slice, context.parameter, context, message.bytes);
  return message;
}

}  // namespace

void Requantise(const Quantiser& quantiser, int64_t bucket, int owners, int workers,
                const CodecContext& context, std::span<float> mean) {
  assert(bucket > 0);
  CheckFinite(mean, context.unit);  // averaging may overflow
  const auto numel = static_cast<int64_t>(mean.size());
  const int64_t buckets = (numel + bucket - 1) / bucket;
  const int64_t length = (buckets + owners - 1) / owners * bucket;
  for (int64_t begin = 0, owner = 0; begin < numel; begin += length, ++owner) {
    const auto slice = mean.subspan(begin, std::min(length, numel - begin));
    CodecContext own = context;
    own.random.worker = static_cast<uint32_t>(workers + owner);
    const Message message = EncodeSlice(quantiser, slice, own);
    const auto segment = ByteSpan(message.bytes).subspan(HeaderBytes(quantiser.Type()));
    quantiser.Decode(segment, context.parameter, slice);
  }
}

WorkList RequantiseWork(const Codec& codec, int64_t numel, double parameter, int owners) {
  WorkList work = codec.DecodeWork(numel, parameter);  // one slice of each message
  for (Work& part : work) part.launches *= owners;
  const int64_t slice = (numel + owners - 1) / owners;
  AddWork(Work{"mean", slice}, work);
  AddWork(codec.EncodeWork(slice, {.parameter = parameter, .random = {}}), work);
  WorkList slices = codec.DecodeWork(numel, parameter);  // slices of all owners
  for (Work& part : slices) part.launches *= owners;
  AddWork(slices, work);
  return work;
}

}  // namespace legacy
