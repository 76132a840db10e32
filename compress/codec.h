// Codec: encode(values, parameter) -> Message, decode(Message) -> values. Stateless and thread
// safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compress/message.h"
#include "compress/random.h"
#include "compress/unit.h"

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
};

// What sender and receivers share about a message besides its bytes.
struct CodecContext {
  uint32_t unit = 0;
  double parameter = 1;
  RandomKey random;  // worker is 0 where the draw is shared by all workers
};

// Device work priced by a codec profile: seconds = launches * floor + elements * per-element of
// `kernel`.
struct Work {
  std::string kernel;  // "topk.encode", "sparse.decode", "cast"; empty: free
  int64_t elements = 0;
  int64_t launches = 1;
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string_view Name() const = 0;
  virtual const ParameterSpec& Parameter() const = 0;

  // True where messages of all workers have the same support, so that their values can be summed in
  // the network.
  virtual bool Linear() const = 0;
  // False where E||x - C(x)||^2 >= ||x||^2 can happen: error feedback would diverge (as with
  // unbiased quantisers).
  virtual bool AllowsErrorFeedback(double parameter) const = 0;

  // Values sent for `numel` elements (element ratio), and the exact message length with header. The
  // length is empty where it depends on the data (delta varint).
  virtual int64_t ElementsSent(int64_t numel, double parameter) const = 0;
  virtual std::optional<int64_t> MessageBytes(const Unit& unit, double parameter) const = 0;

  // Work of encoding one unit and of decoding one message.
  virtual Work EncodeWork(int64_t numel, double parameter) const = 0;
  virtual Work DecodeWork(int64_t numel, double parameter) const = 0;

  // Throws Error on NaN or infinity (naming the unit) and on a parameter outside Parameter().
  virtual Message Encode(std::span<const float> values, const CodecContext& context) const = 0;

  // In: e = g + r. Out: e - decode(message), the new residual, exact up to the sign of zero. The
  // default decodes; a sparsifier overrides it to clear what it sent.
  virtual Message EncodeResidual(std::span<float> values, const CodecContext& context) const;

  // sum += decode(message). `sum` has the unit's numel. Throws Error on any malformed byte before
  // touching `sum`.
  virtual void DecodeAdd(ByteSpan message, const CodecContext& context,
                         std::span<float> sum) const = 0;
};

// Throws Error where `value` is outside the range of `spec` (or NaN). A codec without a parameter
// takes any.
void CheckParameter(const ParameterSpec& spec, double value);

struct CodecOptions {
  std::optional<IndexCoding> index =
      std::nullopt;       // Top-K: forced coding; default: shortest fixed-length one
  bool unbiased = false;  // Random-K: values times n / k; excludes error feedback
};

// Codecs by name: "dense", "fp16", "topk", "randomk". Throws Error with the list for any other
// name, and for an option that the codec does not read.
std::unique_ptr<Codec> MakeCodec(std::string_view name, const CodecOptions& options = {});
std::vector<std::string> CodecNames();

}  // namespace legacy
