// Quantiser: how values become bits. It writes one segment of a message: the values of a whole
// unit, those that a sparsifier kept, or the coefficients of a transform. Stateless and thread
// safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "compress/codec.h"
#include "compress/kernel_setting.h"
#include "compress/message.h"
#include "compress/options.h"

namespace legacy {

class PartwiseQuantiser;

class Quantiser : public Pluggable {
 public:
  virtual ~Quantiser() = default;
  virtual std::string_view Name() const = 0;
  virtual ValueType Type() const = 0;  // how the header names it

  // "bits", or none. Policies drive it where the quantiser stands alone; behind a sparsifier or a
  // transform the parameter is its fallback, which the option "bits" sets.
  virtual const ParameterSpec& Parameter() const = 0;

  // True where sums of segments, taken value by value, are what a network can sum (fp32, fp16,
  // bf16).
  virtual bool Linear() const { return false; }
  // True where error feedback is sure to stay bounded: some norm of x - Q(x) (or the root of the
  // expectation of its square) is below a fraction < 1 of that of x. For most that is E||x -
  // Q(x)||^2 < ||x||^2.
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // Values that share a scale, so that a segment can be cut between them (requantised sums); 0: all
  // of them do.
  virtual int64_t Bucket() const { return 0; }

  // Exact length for `count` values; empty where it depends on the data (Elias coding).
  virtual std::optional<int64_t> SegmentBytes(int64_t count, double parameter) const = 0;

  // Kernels of the quantiser's name (kernel_costs.h).
  virtual Work EncodeWork(int64_t count, double parameter) const;
  virtual Work DecodeWork(int64_t count, double parameter) const;

  // Appends the segment. `values` are finite. Stochastic rounding draws from context.random with
  // purpose kStochastic: the draw of value i depends on i and the key alone. context.parameter is
  // the caller's: the quantiser's is `parameter`.
  virtual void Encode(std::span<const float> values, double parameter, const CodecContext& context,
                      Bytes& out) const = 0;

  // `segment` is the rest of the message, hostile: throws Error unless it is exactly one segment of
  // values.size() values, all finite. Writes nothing of meaning before it throws.
  virtual void Decode(ByteSpan segment, double parameter, std::span<float> values) const = 0;

  // The same, where segments can be decoded in parts: sums then need no buffer of the unit.
  virtual const PartwiseQuantiser* Parts() const { return nullptr; }

  // Of the kernels that do the same on a device; none: there are none.
  virtual std::optional<QuantiserSetting> Setting([[maybe_unused]] double parameter) const {
    return std::nullopt;
  }

  // E||x - Q(x)||^2 over the rounding's draws, without drawing (closed form).
  virtual double SquaredError(std::span<const float> values, double parameter) const = 0;
};

// A quantiser whose segments can be decoded part by part once they are known to be good.
class PartwiseQuantiser : public Quantiser {
 public:
  // Parts begin at multiples of it.
  static constexpr int64_t kPart = 4096;

  const PartwiseQuantiser* Parts() const override { return this; }
  // Throws Error unless `segment` is exactly one segment of `count` values, all finite.
  virtual void Check(ByteSpan segment, int64_t count, double parameter) const = 0;
  // Values begin, begin + 1, ... of a checked segment of `count`.
  virtual void DecodePart(ByteSpan segment, int64_t count, double parameter, int64_t begin,
                          std::span<float> values) const = 0;
  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    const auto count = static_cast<int64_t>(values.size());
    Check(segment, count, parameter);
    DecodePart(segment, count, parameter, 0, values);
  }
};

// EncodeWork and DecodeWork, and the bytes of the segment where its width is a parameter.
WorkList QuantiseWork(const Quantiser& quantiser, int64_t count, double parameter);
WorkList DequantiseWork(const Quantiser& quantiser, int64_t count, double parameter);

// Encode, and Decode, where a plugin's mistakes are told: what it throws, a segment of another
// length than SegmentBytes, values that are not finite.
void EncodeSegment(const Quantiser& quantiser, std::span<const float> values, double parameter,
                   const CodecContext& context, Bytes& out);
void DecodeSegment(const Quantiser& quantiser, ByteSpan segment, double parameter,
                   std::span<float> values);

struct QuantiserRow {
  MethodInfo info;
  std::function<std::unique_ptr<Quantiser>(const OptionReader& options)> make;
};

// fp32, fp16, bf16, uniform, rbf, qsgd, maxmin, terngrad, natural, sign, onebit
std::span<const QuantiserRow> QuantiserTable();
std::unique_ptr<Quantiser> MakeQuantiser(const Stage& stage);

}  // namespace legacy
