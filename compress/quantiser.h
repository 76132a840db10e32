// A quantiser turns values into bits and back. It writes one segment of a message: the values of a
// whole unit, those that a sparsifier selected, or the coefficients of a transform. It has no state
// and is thread safe.
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

// Encodes and decodes one segment at a time.
class Quantiser : public Pluggable {
 public:
  virtual ~Quantiser() = default;
  // Returns the name in QuantiserTable().
  virtual std::string_view Name() const = 0;
  virtual ValueType Type() const = 0;  // the header's name for it

  // Returns the specification of the parameter: "bits", or none. Policies choose it for a quantiser
  // without a sparsifier; after a sparsifier or a transform it is the default, which the option
  // "bits" sets.
  virtual const ParameterSpec& Parameter() const = 0;

  // Returns true if the network can sum segments value by value (fp32, fp16, bf16).
  virtual bool Linear() const { return false; }
  // Returns true if error feedback is sure to stay bounded: some norm of x - Q(x), or the root of
  // the expectation of its square, is below a fraction < 1 of that of x. Usually that is E||x -
  // Q(x)||^2 < ||x||^2.
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // Returns true if a value of 0 decodes to 0, whatever the other values are.
  virtual bool KeepsZeros() const { return false; }

  // Returns the number of values that share a scale, so that a segment can be cut between them
  // (requantised sums). 0: all values share one.
  virtual int64_t Bucket() const { return 0; }

  // Returns the exact length in bytes for `count` values, or nothing if it depends on the data
  // (Elias coding).
  virtual std::optional<int64_t> SegmentBytes(int64_t count, double parameter) const = 0;

  // Returns the name of the kernels, which are "NAME.encode", "NAME.decode" and, with error
  // feedback, "NAME.feedback" (kernel_costs.h).
  virtual std::string_view KernelName() const { return Name(); }
  // Returns true if kernels' costs leave out the bytes of the segment, whose width is an option:
  // they are charged by its length.
  virtual bool ChargesCodes() const { return Parameter().Kind() != ParameterKind::kNone; }
  // Return the work of Encode and of Decode.
  virtual Work EncodeWork(int64_t count, double parameter) const;
  virtual Work DecodeWork(int64_t count, double parameter) const;
  // Returns the work of SquaredError: as many passes as encoding makes.
  virtual Work ErrorWork(int64_t count, double parameter) const {
    return EncodeWork(count, parameter);
  }

  // Appends the segment of `values`, which are finite, to `out`. Stochastic rounding draws from
  // context.random with purpose kStochastic: the draw of value i depends on i and the key alone.
  // The quantiser's parameter is `parameter`; context.parameter is that of the whole codec.
  virtual void Encode(std::span<const float> values, double parameter, const CodecContext& context,
                      Bytes& out) const = 0;

  // Decodes `segment`, the rest of a message. Throws Error unless it is exactly one segment of
  // values.size() finite values; `values` is then undefined.
  virtual void Decode(ByteSpan segment, double parameter, std::span<float> values) const = 0;

  // Returns this quantiser if its segments can be decoded in parts, so that sums need no buffer of
  // the unit; otherwise null.
  virtual const PartwiseQuantiser* Parts() const { return nullptr; }

  // Returns the setting of the equivalent kernels on a device, or nothing if there are none.
  virtual std::optional<QuantiserSetting> Setting([[maybe_unused]] double parameter) const {
    return std::nullopt;
  }

  // Returns E||x - Q(x)||^2 over the draws of rounding, in closed form, where x is `values`.
  virtual double SquaredError(std::span<const float> values, double parameter) const = 0;
};

// Decodes segments part by part, after checking them.
class PartwiseQuantiser : public Quantiser {
 public:
  // Parts begin at multiples of kPart values.
  static constexpr int64_t kPart = 4096;

  const PartwiseQuantiser* Parts() const override { return this; }
  // Throws Error unless `segment` is exactly one segment of `count` values, all finite.
  virtual void Check(ByteSpan segment, int64_t count, double parameter) const = 0;
  // Decodes values begin, begin + 1, ... of a checked segment of `count` values.
  virtual void DecodePart(ByteSpan segment, int64_t count, double parameter, int64_t begin,
                          std::span<float> values) const = 0;
  void Decode(ByteSpan segment, double parameter, std::span<float> values) const override {
    const auto count = static_cast<int64_t>(values.size());
    Check(segment, count, parameter);
    DecodePart(segment, count, parameter, 0, values);
  }
};

// Return EncodeWork and DecodeWork, and the bytes of the segment if its width is an option.
WorkList QuantiseWork(const Quantiser& quantiser, int64_t count, double parameter);
WorkList DequantiseWork(const Quantiser& quantiser, int64_t count, double parameter);

// Call Encode and Decode, for all callers. They throw Error naming the plugin if a plugin's
// quantiser throws, writes a segment of another length than SegmentBytes, or decodes values that
// are not finite.
void EncodeSegment(const Quantiser& quantiser, std::span<const float> values, double parameter,
                   const CodecContext& context, Bytes& out);
void DecodeSegment(const Quantiser& quantiser, ByteSpan segment, double parameter,
                   std::span<float> values);

// A row of QuantiserTable().
struct QuantiserRow {
  MethodInfo info;
  std::function<std::unique_ptr<Quantiser>(const OptionReader& options)> make;
};

// Returns all, in the order of their names.
std::span<const QuantiserRow> QuantiserTable();
// Makes the quantiser of a stage. Throws Error with the list for any other name.
std::unique_ptr<Quantiser> MakeQuantiser(const Stage& stage);

}  // namespace legacy
