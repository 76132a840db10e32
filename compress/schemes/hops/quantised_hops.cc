#include "compress/schemes/hops/quantised_hops.h"

#include <algorithm>
#include <string>

#include "compress/checks.h"
#include "compress/codecs/quantiser_codec.h"

namespace legacy {
namespace {

const Quantiser& QuantiserOf(const Codec& codec) {
  return static_cast<const QuantiserCodec&>(codec).quantiser();
}

}  // namespace

void QuantiserHops::Own(int worker, HopRange range, std::span<float> values) const {
  const ByteSpan message = messages_[worker];
  if (message.empty()) {
    std::ranges::fill(values, 0.0f);
    return;
  }
  const PartwiseQuantiser& parts = *quantiser_.Parts();
  const ByteSpan segment = message.subspan(HeaderBytes(quantiser_.Type()));
  // Parts begin at multiples of kPart.
  std::vector<float> part(PartwiseQuantiser::kPart);
  for (int64_t at = range.begin / std::ssize(part) * std::ssize(part); at < range.end;
       at += std::ssize(part)) {
    part.resize(std::min(PartwiseQuantiser::kPart, numel_ - at));
    parts.DecodePart(segment, numel_, context_.parameter, at, part);
    const int64_t begin = std::max(at, range.begin);
    const int64_t end = std::min(at + std::ssize(part), range.end);
    std::copy(part.begin() + (begin - at), part.begin() + (end - at),
              values.begin() + (begin - range.begin));
    if (std::ssize(part) < PartwiseQuantiser::kPart) break;
  }
}

Bytes QuantiserHops::Encode(int worker, int piece, HopRange range,
                            std::span<const float> sums) const {
  CheckFinite(sums, context_.unit);  // sums may overflow
  CodecContext own = context_;
  // Numbers from the number of workers on are those of no worker.
  const auto workers = static_cast<int>(messages_.size());
  own.random.worker = static_cast<uint32_t>(workers * (1 + piece) + worker);
  Bytes payload;
  payload.reserve(PayloadBytes(range));
  EncodeSegment(quantiser_, sums, context_.parameter, own, payload);
  return payload;
}

void QuantiserHops::Decode(ByteSpan payload, HopRange, std::span<float> sums) const {
  DecodeSegment(quantiser_, payload, context_.parameter, sums);
}

std::vector<HopRange> QuantisedPieces(const Codec& codec, int64_t numel, HopOrder order,
                                      int workers) {
  return HopRanges(numel, QuantiserOf(codec).Bucket(), HopPieces(order, workers));
}

Hops QuantisedHops(const Codec& codec, std::span<const HopRange> pieces, double parameter,
                   HopOrder order, int workers, int64_t slice) {
  const Quantiser& quantiser = QuantiserOf(codec);
  CodecContext context;
  context.parameter = parameter;
  const QuantiserHops coder(quantiser, context, pieces.back().end, {});
  int64_t payload = 0;
  for (const HopRange& piece : pieces) {
    if (piece.size() > 0) payload += coder.PayloadBytes(piece);
  }
  WorkList work = {{std::string(quantiser.KernelName()) + ".hop", pieces.back().end},
                   Moved(2 * payload)};
  return HopsOf(order, coder, pieces, workers, slice, HeaderBytes(quantiser.Type()),
                std::move(work));
}

int64_t FirstHopSize(HopOrder order, int workers, std::span<const HopRange> pieces) {
  int64_t most = 0;
  for (int w = 0; w < workers; ++w) {
    most = std::max(most, FirstHop(order, w, workers, pieces).size());
  }
  return most;
}

WorkList GatheredWork(const Codec& codec, int64_t numel, double parameter, int pieces) {
  WorkList work = codec.DecodeWork(numel, parameter);
  for (Work& part : work) part.launches *= pieces;
  AddWork(Work{"mean", numel}, work);
  return work;
}

}  // namespace legacy
