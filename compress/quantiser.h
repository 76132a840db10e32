// Quantiser: how values become bits. It writes one segment of a message: the values of a whole unit, those that a
// sparsifier kept, or the coefficients of a transform. Stateless and thread safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "compress/codec.h"
#include "compress/message.h"
#include "compress/options.h"

namespace legacy {

class Quantiser {
 public:
  virtual ~Quantiser() = default;
  virtual std::string_view Name() const = 0;
  virtual ValueType Type() const = 0;  // how the header names it

  // "bits", or none. Policies drive it where the quantiser stands alone; behind a sparsifier or a transform the
  // parameter is its fallback, which the option "bits" sets.
  virtual const ParameterSpec& Parameter() const = 0;

  // True where sums of segments, taken value by value, are what a network can sum (fp32, fp16, bf16).
  virtual bool Linear() const { return false; }
  // False where E||x - Q(x)||^2 >= ||x||^2 can happen.
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // Values that share a scale, so that a segment can be cut between them (requantised sums); 0: all of them do.
  virtual int64_t Bucket() const { return 0; }

  // Exact length for `count` values; empty where it depends on the data (Elias coding).
  virtual std::optional<int64_t> SegmentBytes(int64_t count, double parameter) const = 0;

  virtual Work EncodeWork(int64_t count, double parameter) const = 0;
  virtual Work DecodeWork(int64_t count, double parameter) const = 0;

  // Appends the segment. `values` are finite. Stochastic rounding draws from context.random with purpose
  // kStochastic: the draw of value i depends on i and the key alone. context.parameter is the caller's: the
  // quantiser's is `parameter`.
  virtual void Encode(std::span<const float> values, double parameter, const CodecContext& context,
                      Bytes& out) const = 0;

  // `segment` is the rest of the message, hostile: throws Error unless it is exactly one segment of values.size()
  // values, all finite. Writes nothing of meaning before it throws.
  virtual void Decode(ByteSpan segment, double parameter, std::span<float> values) const = 0;

  // E||x - Q(x)||^2 over the rounding's draws, without drawing (closed form).
  virtual double SquaredError(std::span<const float> values, double parameter) const = 0;
};

struct QuantiserRow {
  MethodInfo info;
  std::unique_ptr<Quantiser> (*make)(const OptionReader& options);
};

// fp32, fp16, bf16, uniform, rbf, qsgd, maxmin, terngrad, natural, sign, onebit
std::span<const QuantiserRow> QuantiserTable();
std::unique_ptr<Quantiser> MakeQuantiser(const Stage& stage);

}  // namespace legacy
