// Codec: encode(values, parameter) -> Message, decode(Message) -> values. Stateless and thread
// safe. Codecs are composed: a quantiser alone ("qsgd"), a sparsifier and a quantiser ("topk+rbf"),
// a transform and a quantiser ("fft+rbf"); fp32 where no quantiser is named.
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

// The one numeric parameter that policies drive: Top-K's density, QSGD's bits, PowerSGD's rank,
// FFT's theta.
struct ParameterSpec {
  std::string name;  // "density"; empty where the codec has none (dense)
  double minimum = 0;
  double maximum = 1;
  bool integer = false;
  double fallback = 1;  // default value
  std::string help = {};
  bool volume_falls = false;  // more of it sends less: FFT's theta, a threshold
};

// What one worker keeps for one unit between steps, beside its residual: thresholds and ranges that
// a method takes from step to step. Zero at the start; saved with the exchange.
struct CodecState {
  std::array<double, 8> numbers{};
  // By element, where a method weighs what it holds by squares of gradients; else empty. Rescaled
  // with the residual.
  std::vector<float> squares = {};
};

// What sender and receivers share about a message besides its bytes.
struct CodecContext {
  uint32_t unit = 0;
  double parameter = 1;
  RandomKey random;  // of the step; `worker` is the sender's when encoding, 0 when decoding
  CodecState* state = nullptr;  // of the sender; none: nothing is remembered
};

class SparseCodec;  // codecs/sparse_codec.h

class Codec : public Pluggable {
 public:
  virtual ~Codec() = default;
  virtual std::string_view Name() const = 0;  // of its stages: "topk+rbf"
  virtual const ParameterSpec& Parameter() const = 0;

  // True where messages of all workers have the same support and summable values, so that they can
  // be summed in the network.
  virtual bool Linear(int64_t numel, double parameter) const = 0;
  // False where E||x - C(x)||^2 >= ||x||^2 can happen: error feedback would diverge (as with
  // unbiased quantisers).
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // Values sent for `numel` elements (element ratio; what the parameter asks for, where the number
  // depends on the data), and the exact message length with header, empty where that depends on the
  // data.
  virtual int64_t ElementsSent(int64_t numel, double parameter) const = 0;
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;

  // Work of encoding one unit in that context (without a state: as in a first step), without the
  // residual's; of adding one message to a sum; and of making the mean of a sum, once for all
  // messages (where the network sums, adding a message does it).
  virtual WorkList EncodeWork(int64_t numel, const CodecContext& context) const = 0;
  virtual WorkList DecodeWork(int64_t numel, double parameter) const = 0;
  virtual WorkList FinishWork(int64_t numel, double parameter) const;
  // What holding back adds to EncodeWork. The default is EncodeWithFeedback's: the sum, the message
  // decoded again, and the difference.
  virtual WorkList FeedbackWork(int64_t numel, double parameter, Feeding feeding) const;
  // Where the number of values depends on the data, the two above are those of finding them; these
  // of messages of `count` values in all.
  virtual bool CountVaries([[maybe_unused]] int64_t numel,
                           [[maybe_unused]] double parameter) const {
    return false;
  }
  virtual WorkList PackWork([[maybe_unused]] int64_t count,
                            [[maybe_unused]] Feeding feeding) const {
    return {};
  }
  virtual WorkList UnpackWork([[maybe_unused]] int64_t count) const { return {}; }

  // Throws Error on NaN or infinity (naming the unit) and on a parameter outside Parameter().
  virtual Message Encode(std::span<const float> values, const CodecContext& context) const = 0;

  // residual += gradient (e = g + r); sends the sum; leaves e - decode(message), exact up to the
  // sign of zero, as the new residual. `gradient` may be empty: nothing is added. `sent`, where
  // given: positions of what was sent, all of them left empty where everything was. The default
  // decodes.
  virtual Message EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                     const CodecContext& context,
                                     std::vector<uint32_t>* sent = nullptr) const;

  // sum += decode(message). `sum` has the unit's numel. Throws Error on any malformed byte before
  // touching `sum`.
  virtual void DecodeAdd(ByteSpan message, const CodecContext& context,
                         std::span<float> sum) const = 0;

  // A receiver's mean of several messages: a sum of SumSize(numel) zeros, to which every message is
  // added, and which then becomes the mean of `mean.size()` elements. The sum has the elements,
  // unless the codec says otherwise: of FFT it has the coefficients, so that one inverse transform
  // is enough.
  virtual int64_t SumSize(int64_t numel) const { return numel; }
  // As DecodeAdd for a unit of `numel` elements.
  virtual void Accumulate(ByteSpan message, [[maybe_unused]] int64_t numel,
                          const CodecContext& context, std::span<float> sum) const {
    DecodeAdd(message, context, sum);
  }
  virtual void MeanOf(std::span<const float> sum, float divisor, std::span<float> mean) const;

  // E||x - C(x)||^2 for each parameter. The default encodes and decodes once for each.
  virtual std::vector<double> SquaredErrors(std::span<const float> values,
                                            std::span<const double> parameters,
                                            const CodecContext& context) const;
  // What that takes.
  virtual WorkList ErrorWork(int64_t numel, std::span<const double> parameters) const;

  // The same codec, where it is a sparsifier's: for multi-level compression.
  virtual const SparseCodec* Sparse() const { return nullptr; }
};

// Throws Error where `value` is outside the range of `spec` (or NaN). A codec without a parameter
// takes any.
void CheckParameter(const ParameterSpec& spec, double value);

// A codec that is none of a sparsifier and a quantiser: a transform.
struct CodecRow {
  MethodInfo info;
  bool takes_quantiser = false;  // true: a second stage may follow
  // `stages`: its own, and the quantiser's where one is given.
  std::function<std::unique_ptr<Codec>(std::span<const Stage> stages)> make;
};

// fft
std::span<const CodecRow> CodecTable();
// Of one or two stages. Throws Error with the list for any other name, and for options that a stage
// does not read.
std::unique_ptr<Codec> MakeCodec(std::span<const Stage> stages);
std::unique_ptr<Codec> MakeCodec(std::string_view text);
// What can stand first: sparsifiers, quantisers ("dense" for fp32) and the codecs of CodecTable().
std::vector<std::string> CodecNames();
// What the tables say of one of CodecNames(). Throws Error with the list for any other name.
MethodInfo CodecInfo(const std::string& name);

}  // namespace legacy
