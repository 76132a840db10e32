// A codec encodes values to a Message, and decodes a Message to values. It has no state and is
// thread safe. Codecs are composed: a quantiser alone ("qsgd"), a sparsifier and a quantiser
// ("topk+rbf"), or a transform and a quantiser ("fft+rbf"). Where no quantiser is named it is fp32.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "compress/message.h"
#include "compress/options.h"
#include "compress/pluggable.h"
#include "compress/unit.h"
#include "compress/work.h"

namespace legacy {

// A ParameterKind says what a parameter means to policies, which scale, search or schedule it
// accordingly.
enum class ParameterKind : uint8_t {
  kNone,
  kDensity,  // fraction of the elements that is sent
  kTheta,    // fraction of the spectrum that is dropped
  kRank,     // rank of the factors of a matrix
  kBits,     // bits per value
  kOther,
};

// The specification of the one numeric parameter that policies choose: Top-K's density, QSGD's
// bits, PowerSGD's rank, FFT's theta.
struct ParameterSpec {
  std::string name;  // "density" for example; empty if the codec has no parameter (dense)
  double minimum = 0;
  double maximum = 1;
  bool integer = false;
  double fallback = 1;  // default value
  std::string help = {};
  bool volume_falls = false;  // a larger value sends less: FFT's theta, a threshold

  // Returns what a parameter of this name is: "density", "theta", "rank", "bits", none or another.
  ParameterKind Kind() const;
};

// The state that one worker keeps for one unit between steps, besides the residual: thresholds and
// ranges of the method. It is zero at the start, and saved with the exchange.
struct CodecState {
  std::array<double, 8> numbers{};
  // A square per element, if the method weighs its residual by squares of gradients; otherwise
  // empty. It is rescaled with the residual.
  std::vector<float> squares = {};
};

// The context of a message, which sender and receivers share besides its bytes.
struct CodecContext {
  uint32_t unit = 0;
  double parameter = 1;
  // The step's key of random draws. Its `worker` is the sender when encoding and 0 when decoding.
  RandomKey random;
  // The sender's state; null if the codec keeps nothing between steps.
  CodecState* state = nullptr;
};

class SparseCodec;  // codecs/sparse_codec.h

// Compresses one unit of one worker at a time.
class Codec : public Pluggable {
 public:
  virtual ~Codec() = default;
  // Returns the names of the stages: "topk+rbf".
  virtual std::string_view Name() const = 0;
  virtual const ParameterSpec& Parameter() const = 0;

  // Returns true if messages of all workers have the same support and summable values, so that the
  // network can sum them.
  virtual bool Linear(int64_t numel, double parameter) const = 0;
  // Returns false if E||x - C(x)||^2 >= ||x||^2 is possible, as with unbiased quantisers: error
  // feedback would then diverge.
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // ElementsSent returns the number of values sent for `numel` elements, by which the element ratio
  // divides; if it depends on the data, it is the number that the parameter requests. MessageBytes
  // returns the exact length of the message with its header, or nothing if that depends on the
  // data.
  virtual int64_t ElementsSent(int64_t numel, double parameter) const = 0;
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;

  // EncodeWork returns the work of encoding one unit in that context, without the residual's
  // (without a state: as in a first step). DecodeWork returns that of adding one message to a sum.
  // FinishWork returns that of making the mean of a sum, once for all messages; if the network
  // sums, adding a message makes the mean.
  virtual WorkList EncodeWork(int64_t numel, const CodecContext& context) const = 0;
  virtual WorkList DecodeWork(int64_t numel, double parameter) const = 0;
  virtual WorkList FinishWork(int64_t numel, double parameter) const;
  // Returns the work that error feedback adds to EncodeWork. The default is that of the default
  // EncodeWithFeedback: the sum, the message decoded again, and the difference.
  virtual WorkList FeedbackWork(int64_t numel, double parameter, Feeding feeding) const;
  // Returns true if the number of values depends on the data. EncodeWork and DecodeWork are then
  // the work of finding the values, and PackWork and UnpackWork that of messages of `count` values
  // in total.
  virtual bool CountVaries([[maybe_unused]] int64_t numel,
                           [[maybe_unused]] double parameter) const {
    return false;
  }
  virtual WorkList PackWork([[maybe_unused]] int64_t count,
                            [[maybe_unused]] Feeding feeding) const {
    return {};
  }
  virtual WorkList UnpackWork([[maybe_unused]] int64_t count) const { return {}; }

  // Returns the message of `values`. Throws Error for NaN or infinity, naming the unit, and for a
  // parameter outside Parameter().
  virtual Message Encode(std::span<const float> values, const CodecContext& context) const = 0;

  // Adds `gradient` (empty: nothing) to `residual`, sends that sum e, and leaves e -
  // decode(message), exact up to the sign of zero, as the new residual. If `sent` is not null, the
  // sent positions are written to it; it is left empty if all were sent. The default decodes the
  // message.
  virtual Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                     const CodecContext& context,
                                     std::vector<uint32_t>* sent = nullptr) const;

  // Adds the decoded message to `sum`, which has the unit's numel. Throws Error for any malformed
  // byte before it changes `sum`.
  virtual void DecodeAdd(ByteSpan message, const CodecContext& context,
                         std::span<float> sum) const = 0;

  // SumSize, Accumulate and MeanOf make a receiver's mean of several messages: every message is
  // added to a sum of SumSize(numel) zeros, from which MeanOf makes the mean of `mean.size()`
  // elements. The sum has one entry for each element, except where the codec says otherwise: FFT
  // sums coefficients, and EDEN rotated values, so that one inverse transform is enough.
  virtual int64_t SumSize(int64_t numel) const { return numel; }
  // Accumulates as DecodeAdd does, for a unit of `numel` elements.
  virtual void Accumulate(ByteSpan message, [[maybe_unused]] int64_t numel,
                          const CodecContext& context, std::span<float> sum) const {
    DecodeAdd(message, context, sum);
  }
  virtual void MeanOf(std::span<const float> sum, float divisor, const CodecContext& context,
                      std::span<float> mean) const;

  // Returns E||x - C(x)||^2 for each parameter, where x is `values` and C(x) the message that
  // EncodeWithFeedback makes. The default encodes and decodes once for each.
  virtual std::vector<double> SquaredErrors(std::span<const float> values,
                                            std::span<const double> parameters,
                                            const CodecContext& context) const;
  // Returns the device work of SquaredErrors.
  virtual WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const;

  // Returns the codec that serves `unit`, if it depends on the unit's shape; otherwise null: this
  // one serves every unit. Without it, a codec takes every unit for a vector.
  virtual std::unique_ptr<Codec> ForUnit([[maybe_unused]] const Unit& unit) const {
    return nullptr;
  }

  // Returns this codec if it has a sparsifier, for multi-level compression; otherwise null.
  virtual const SparseCodec* Sparse() const { return nullptr; }
};

// Throws Error if `value` is NaN or outside the range of `spec`. A codec without a parameter takes
// any value.
void CheckParameter(const ParameterSpec& spec, double value);

// A row of CodecTable(): a codec that is neither a sparsifier nor a quantiser, but a transform.
struct CodecRow {
  MethodInfo info;
  bool takes_quantiser = false;  // true: a second stage may follow
  // Makes the codec from its own stage, and the quantiser's if there is one.
  std::function<std::unique_ptr<Codec>(std::span<const Stage> stages)> make;
};

// Returns the transforms: fft.
std::span<const CodecRow> CodecTable();
// Makes a codec of one or two stages. Throws Error with the list of names for any other, and for
// options that a stage does not read.
std::unique_ptr<Codec> MakeCodec(std::span<const Stage> stages);
std::unique_ptr<Codec> MakeCodec(std::string_view text);
// Returns all names of a first stage: sparsifiers, quantisers ("dense" for fp32) and the codecs of
// CodecTable().
std::vector<std::string> CodecNames();
// Returns the tables' information about one of CodecNames(). Throws Error with the list for any
// other name.
MethodInfo CodecInfo(const std::string& name);

}  // namespace legacy
