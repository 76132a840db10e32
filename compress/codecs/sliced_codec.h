// A sliced codec selects from a whole unit, as a sparse codec does, and writes a message of that
// codec for each slice of the unit, so that each owner of a slice gets what is selected there
// (schemes/owners/owned_unit.h). The message of the unit is these messages, one after the other.
// Their values are those of the sparse codec's message, and so is what is left over: the quantiser
// must round each value by itself, without a scale.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compress/codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/unit.h"

namespace legacy {

// The message of a slice.
struct SlicePart {
  int64_t bytes = 0;  // its length, with the header
  int64_t count = 0;  // its values

  bool operator==(const SlicePart&) const = default;
};

// Serves one unit, whose slices are in order and make it up.
class SlicedCodec : public Codec {
 public:
  SlicedCodec(std::shared_ptr<const SparseCodec> codec, const Unit& unit,
              std::span<const Unit> slices);

  std::string_view Name() const override { return codec_->Name(); }
  const ParameterSpec& Parameter() const override { return codec_->Parameter(); }
  bool Linear(int64_t, double) const override { return false; }
  bool AllowsErrorFeedback(double parameter) const override {
    return codec_->AllowsErrorFeedback(parameter);
  }
  int64_t ElementsSent(int64_t numel, double parameter) const override {
    return codec_->ElementsSent(numel, parameter);
  }
  // Returns nothing unless all values are sent, or positions are not: the length depends on how the
  // selected values fall on the slices.
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double parameter) const override {
    return codec_->DecodeWork(numel, parameter);
  }
  WorkList FinishWork(int64_t numel, double parameter) const override {
    return codec_->FinishWork(numel, parameter);
  }
  WorkList FeedbackWork(int64_t numel, double parameter, Feeding feeding) const override;
  bool CountVaries(int64_t, double parameter) const override { return !SendsAll(parameter); }
  WorkList PackWork(int64_t count, Feeding feeding) const override {
    return codec_->PackWork(count, feeding);
  }
  WorkList UnpackWork(int64_t count) const override { return codec_->UnpackWork(count); }
  WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const override {
    return codec_->ErrorWork(numel, parameters);
  }
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> parameters,
                                    const CodecContext& context) const override {
    return codec_->SquaredErrors(values, parameters, context);
  }

  // Returns the parts of a message, by slice. Throws Error unless it is one message for each slice;
  // values are not checked.
  std::vector<SlicePart> PartsOf(ByteSpan message) const;
  // Returns them where all workers know them beforehand, as all values are sent, or positions
  // follow from the context; else nothing.
  std::optional<std::vector<SlicePart>> KnownParts(const CodecContext& context) const;
  // Returns the work of the owner of the largest slice, who gets `count` values in `messages`.
  WorkList OwnerWork(double parameter, int64_t count, int messages) const;
  // Returns the bytes of a slice's message of that many values, with positions of fixed length.
  int64_t PartBytes(size_t slice, int64_t count) const;

 private:
  // Returns true if it is known beforehand that all values are sent.
  bool SendsAll(double parameter) const;
  // Returns the values of `selection` in each slice, with positions in the slice.
  std::vector<Selection> Divide(const Selection& selection) const;
  // Returns true if positions are not sent, and Supports returns them then, by slice.
  bool SharesSupport() const { return codec_->sparsifier().Traits().shared_support; }
  std::vector<Selection> Supports(const CodecContext& context) const;
  // Returns the bytes of that many values, without header and positions.
  int64_t ValueBytes(int64_t count) const;
  std::vector<SlicePart> Sized(std::span<const int64_t> counts) const;

  std::shared_ptr<const SparseCodec> codec_;
  int64_t numel_;
  std::vector<int64_t> sizes_;  // elements of each slice
};

}  // namespace legacy
