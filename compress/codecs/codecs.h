// The codecs' classes; the rest of the project makes them by name (MakeCodec).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "compress/codec.h"

namespace legacy {

// All values as fp32: the exact baseline.
class DenseCodec : public Codec {
 public:
  std::string_view Name() const override { return "dense"; }
  const ParameterSpec& Parameter() const override;
  bool Linear() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t ElementsSent(int64_t numel, double) const override { return numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  Work EncodeWork(int64_t numel, double parameter) const override;
  Work DecodeWork(int64_t numel, double parameter) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeResidual(std::span<float> values, const CodecContext& context) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
};

// All values as IEEE half precision, rounded to nearest even and saturating at +-65504. Sums of
// messages are taken in fp32: an all-reduce that rounds its partial sums to half precision as well
// is not modelled. The residual is exact below 2^24 * 65504 in magnitude.
class Float16Codec : public Codec {
 public:
  std::string_view Name() const override { return "fp16"; }
  const ParameterSpec& Parameter() const override;
  bool Linear() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t ElementsSent(int64_t numel, double) const override { return numel; }
  std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const override;
  Work EncodeWork(int64_t numel, double parameter) const override;
  Work DecodeWork(int64_t numel, double parameter) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;
};

// The k = KeptCount(numel, density) largest magnitudes, ties to the lower index, with their
// positions in ascending order; all values without positions where k = numel. Contraction: ||x -
// C(x)||^2 <= (1 - k/n) ||x||^2.
class TopKCodec : public Codec {
 public:
  explicit TopKCodec(std::optional<IndexCoding> index) : index_(index) {}
  std::string_view Name() const override { return "topk"; }
  const ParameterSpec& Parameter() const override;
  bool Linear() const override { return false; }
  bool AllowsErrorFeedback(double) const override { return true; }
  int64_t ElementsSent(int64_t numel, double density) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  Work EncodeWork(int64_t numel, double density) const override;
  Work DecodeWork(int64_t numel, double density) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeResidual(std::span<float> values, const CodecContext& context) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;

 private:
  Message Pack(std::span<const float> values, std::span<const uint32_t> kept,
               const CodecContext& context) const;

  std::optional<IndexCoding> index_;
};

// k elements drawn without replacement from (seed, step, unit), the same at every worker: only
// values travel, and they can be summed on the way. Plain, it is a contraction; `unbiased`
// multiplies the values by n / k, so that the expectation is the input and the error up to (n/k -
// 1) ||x||^2.
class RandomKCodec : public Codec {
 public:
  explicit RandomKCodec(bool unbiased) : unbiased_(unbiased) {}
  std::string_view Name() const override { return "randomk"; }
  const ParameterSpec& Parameter() const override;
  bool Linear() const override { return true; }
  bool AllowsErrorFeedback(double) const override { return !unbiased_; }
  int64_t ElementsSent(int64_t numel, double density) const override;
  std::optional<int64_t> MessageBytes(const Unit& unit, double density) const override;
  Work EncodeWork(int64_t numel, double density) const override;
  Work DecodeWork(int64_t numel, double density) const override;
  Message Encode(std::span<const float> values, const CodecContext& context) const override;
  Message EncodeResidual(std::span<float> values, const CodecContext& context) const override;
  void DecodeAdd(ByteSpan message, const CodecContext& context,
                 std::span<float> sum) const override;

 private:
  Message Pack(std::span<const float> values, std::span<const uint32_t> support,
               const CodecContext& context) const;

  bool unbiased_;
};

// How positions of `count` of `numel` elements travel: not at all where all are sent, else as
// forced or shortest.
IndexCoding PositionCoding(std::optional<IndexCoding> forced, int64_t numel, int64_t count);

}  // namespace legacy
