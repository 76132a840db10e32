#include "compress/codecs/sliced_codec.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/message.h"

namespace legacy {

SlicedCodec::SlicedCodec(std::shared_ptr<const SparseCodec> codec, const Unit& unit,
                         std::span<const Unit> slices)
    : codec_(std::move(codec)), numel_(unit.numel) {
  assert(codec_->quantiser().Linear());
  for (const Unit& slice : slices) sizes_.push_back(slice.numel);
}

bool SlicedCodec::SendsAll(double parameter) const {
  return !codec_->CountVaries(numel_, parameter) &&
         codec_->ElementsSent(numel_, parameter) == numel_;
}

int64_t SlicedCodec::ValueBytes(int64_t count) const {
  const Quantiser& quantiser = codec_->quantiser();
  return quantiser.SegmentBytes(count, quantiser.Parameter().fallback).value();
}

int64_t SlicedCodec::PartBytes(size_t slice, int64_t count) const {
  const IndexCoding coding =
      SharesSupport() ? IndexCoding::kNone : PositionCoding(codec_->index(), sizes_[slice], count);
  return kHeaderBytes + IndexBytes(coding, sizes_[slice], count) + ValueBytes(count);
}

std::vector<SlicePart> SlicedCodec::Sized(std::span<const int64_t> counts) const {
  std::vector<SlicePart> parts;
  for (size_t s = 0; s < sizes_.size(); ++s) {
    parts.push_back({.bytes = PartBytes(s, counts[s]), .count = counts[s]});
  }
  return parts;
}

std::optional<std::vector<SlicePart>> SlicedCodec::KnownParts(const CodecContext& context) const {
  if (SendsAll(context.parameter)) return Sized(sizes_);
  if (!SharesSupport()) return std::nullopt;
  std::vector<int64_t> counts;
  for (const Selection& own : Supports(context)) counts.push_back(std::ssize(own.positions));
  return Sized(counts);
}

std::optional<int64_t> SlicedCodec::MessageBytes(const Unit&, double parameter) const {
  if (!SharesSupport() && !SendsAll(parameter)) return std::nullopt;
  return kHeaderBytes * std::ssize(sizes_) + ValueBytes(codec_->ElementsSent(numel_, parameter));
}

WorkList SlicedCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  if (SendsAll(context.parameter)) return codec_->EncodeWork(numel, context);
  return WorkOf(codec_->sparsifier(), "EncodeWork",
                [&] { return codec_->sparsifier().EncodeWork(numel, context); });
}

WorkList SlicedCodec::FeedbackWork(int64_t numel, double parameter, Feeding feeding) const {
  if (SendsAll(parameter)) return codec_->FeedbackWork(numel, parameter, feeding);
  return feeding == Feeding::kGradient ? codec_->sparsifier().SumWork(numel) : WorkList();
}

WorkList SlicedCodec::OwnerWork(double parameter, int64_t count, int messages) const {
  const int64_t largest = sizes_.front();
  WorkList work;
  if (SendsAll(parameter)) {
    work = Times(codec_->DecodeWork(largest, parameter), messages);
  } else {
    work = codec_->UnpackWork(count);
    for (Work& part : work) part.launches *= messages;
    if (!SharesSupport()) {
      const int64_t of_message = std::min(largest, count / messages);
      AddWork(Times({PositionsWork(codec_->index(), largest, of_message)}, messages), work);
    }
  }
  AddWork(codec_->FinishWork(largest, parameter), work);
  return work;
}

std::vector<Selection> SlicedCodec::Divide(const Selection& selection) const {
  std::vector<Selection> parts(sizes_.size());
  size_t next = 0;
  int64_t begin = 0;
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const int64_t end = begin + sizes_[s];
    for (; next < selection.positions.size() && selection.positions[next] < end; ++next) {
      parts[s].positions.push_back(static_cast<uint32_t>(selection.positions[next] - begin));
      if (!selection.values.empty()) parts[s].values.push_back(selection.values[next]);
    }
    begin = end;
  }
  return parts;
}

std::vector<Selection> SlicedCodec::Supports(const CodecContext& context) const {
  const int64_t count = codec_->ElementsSent(numel_, context.parameter);
  return Divide({.positions = codec_->sparsifier().Support(numel_, count, context), .values = {}});
}

Message SlicedCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  Message message;
  const std::vector<Selection> parts = Divide(codec_->Select(values, context));
  for (size_t s = 0; s < parts.size(); ++s) {
    const Message part = codec_->Pack(parts[s], sizes_[s], context);
    message.bytes.insert(message.bytes.end(), part.bytes.begin(), part.bytes.end());
  }
  return message;
}

Message SlicedCodec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                        const CodecContext& context,
                                        std::vector<uint32_t>* sent) const {
  Message message;
  Selection selection = codec_->SelectWithFeedback(gradient, residual, context);
  const bool exact = codec_->quantiser().Type() == ValueType::kFloat32;
  size_t next = 0;  // among all selected values
  const std::vector<Selection> parts = Divide(selection);
  for (size_t s = 0; s < parts.size(); ++s) {
    std::vector<float> decoded;
    const Message part = codec_->Pack(parts[s], sizes_[s], context, exact ? nullptr : &decoded);
    message.bytes.insert(message.bytes.end(), part.bytes.begin(), part.bytes.end());
    for (const float value : decoded) {
      residual[selection.positions[next]] = selection.values[next] - value;
      ++next;
    }
  }
  if (sent != nullptr) {
    *sent = std::ssize(selection.positions) == numel_ ? std::vector<uint32_t>{}
                                                      : std::move(selection.positions);
  }
  return message;
}

std::vector<SlicePart> SlicedCodec::PartsOf(ByteSpan message) const {
  std::vector<SlicePart> parts;
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const Header header = ReadHeader(message);
    int64_t length = 0;
    if (header.index == IndexCoding::kDelta) {
      ByteSpan rest = message.subspan(kHeaderBytes);
      ReadIndices(header.index, sizes_[s], header.count, rest);
      length = std::ssize(message) - std::ssize(rest) + ValueBytes(header.count);
    } else {
      length = PartBytes(s, header.count);
    }
    if (length > std::ssize(message)) CheckLength(message, length);  // throws
    parts.push_back({.bytes = length, .count = header.count});
    message = message.subspan(static_cast<size_t>(length));
  }
  CheckLength(message, 0);
  return parts;
}

void SlicedCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                            std::span<float> sum) const {
  std::vector<Selection> supports;
  if (SharesSupport()) supports = Supports(context);
  // All slices are read before the sum changes.
  std::vector<Selection> parts;
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const int64_t count =
        supports.empty() ? int64_t{ReadHeader(message).count} : std::ssize(supports[s].positions);
    parts.push_back(codec_->Unpack(sizes_[s], count, context, message));
    if (!supports.empty()) parts.back().positions = std::move(supports[s].positions);
  }
  CheckLength(message, 0);
  for (size_t s = 0; s < sizes_.size(); ++s) {
    const auto size = static_cast<size_t>(sizes_[s]);
    AddTo(parts[s], sum.first(size));
    sum = sum.subspan(size);
  }
}

}  // namespace legacy
