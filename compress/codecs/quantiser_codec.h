// A quantiser without a sparsifier is a codec that sends all values of a unit.
#pragma once

#include <memory>
#include <string>

#include "compress/codec.h"
#include "compress/quantiser.h"

namespace legacy {

// Returns the work that error feedback adds to encoding a whole unit by `quantiser`.
WorkList QuantiserFeedbackWork(const Quantiser& quantiser, int64_t numel);

// Sends every value through its quantiser.
class QuantiserCodec : public Codec {
 public:
  explicit QuantiserCodec(std::unique_ptr<Quantiser> quantiser);
  std::string_view Name() const override { return name_; }  // "dense" for fp32
  const ParameterSpec& Parameter() const override { return quantiser_->Parameter(); }
  bool Linear(int64_t, double) const override { return quantiser_->Linear(); }
  bool AllowsErrorFeedback(double parameter) const override;
  int64_t ElementsSent(int64_t numel, double) const override { return numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  WorkList EncodeWork(int64_t numel, const CodecContext& context) const override;
  WorkList DecodeWork(int64_t numel, double parameter) const override;
  WorkList FeedbackWork(int64_t numel, double parameter, Feeding feeding) const override;
  WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                             const CodecContext& context,
                             std::vector<uint32_t>* sent) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
  std::vector<double> SquaredErrors(std::span<const float> values,
                                    std::span<const double> parameters,
                                    const CodecContext& context) const override;

  const Quantiser& quantiser() const { return *quantiser_; }
  // True if partial sums of messages can be sent in the messages' own format: fp16 and bf16.
  bool SumsByHops() const;
  // Returns the quantiser's segment of a message of `numel` values. Throws Error for bytes that no
  // encoder writes.
  ByteSpan CheckedSegment(ByteSpan message, const CodecContext& context, int64_t numel) const;

 private:
  std::unique_ptr<Quantiser> quantiser_;
  std::string name_;
};

}  // namespace legacy
