#include "compress/codecs/eden_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/number.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/fft_rules.h"
#include "compress/cpu/lloyd_max.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

constexpr int64_t kScaleBytes = sizeof(float);
constexpr int64_t kWorkerBytes = sizeof(uint32_t);
constexpr int kOwnRotation = 16;  // added to the header's parameter
constexpr int64_t kPart = 4096;   // values of a pass that stay in the cache

int EdenBits(double parameter) { return static_cast<int>(std::lround(parameter)); }

// Returns the code of 0.
uint8_t MiddleCode(int bits) { return static_cast<uint8_t>(1u << (bits - 1)); }

// Throws Error for codes of no vector: the values whose cells they are have a mean square of 1.
void CheckCells(std::span<const uint8_t> codes, int bits) {
  constexpr double kRounding = 1e-3;  // relative, of a rotated vector's square
  const std::span<const double> centroids = cpu::NormalCentroids(bits);
  std::array<int64_t, size_t{1} << cpu::kMostNormalBits> counts = {};
  for (const uint8_t code : codes) ++counts[code];
  double least = 0, most = 0;
  for (size_t c = centroids.size() / 2; c < centroids.size(); ++c) {
    const auto count = static_cast<double>(counts[c] + counts[centroids.size() - 1 - c]);
    if (count == 0) continue;
    const double low = c == centroids.size() / 2 ? 0 : (centroids[c - 1] + centroids[c]) / 2;
    const double high = c + 1 == centroids.size() ? std::numeric_limits<double>::infinity()
                                                  : (centroids[c] + centroids[c + 1]) / 2;
    least += count * low * low;
    most += count * high * high;
  }
  const auto all = static_cast<double>(codes.size());
  if (least <= all * (1 + kRounding) && most >= all * (1 - kRounding)) return;
  throw Error("message: no vector has codes that are so " +
              std::string(most < all ? "small" : "large"));
}

}  // namespace

struct EdenCodec::Rotated {
  cpu::Rotation rotation;
  float factor = 1;  // the rotation is that of factor * x
  std::unique_ptr<float[]> values;
  double squared = 0;
  std::span<const float> Values() const {
    return {values.get(), static_cast<size_t>(rotation.numel())};
  }
};

struct EdenCodec::Sums {
  double product = 0;  // <c, y>
  double squared = 0;  // <c, c>
};

struct EdenCodec::Coded {
  float scale = 0;
  uint32_t worker = 0;
  std::vector<uint8_t> codes;
};

EdenCodec::EdenCodec(int64_t bits, int64_t block, EdenScale scale, EdenRotation rotation)
    : bits_{.name = "bits",
            .minimum = 1,
            .maximum = cpu::kMostNormalBits,
            .integer = true,
            .fallback = static_cast<double>(bits),
            .help = "bits per value"},
      block_(block),
      scale_(scale),
      rotation_(rotation) {}

int64_t EdenCodec::PayloadBytes(int64_t numel, double bits) const {
  return kScaleBytes + (Own() ? kWorkerBytes : 0) + cpu::PackedBytes(numel, EdenBits(bits));
}

Work EdenCodec::MovedPayload(int64_t numel, double bits) const {
  return Moved(PayloadBytes(numel, bits));
}

std::optional<int64_t> EdenCodec::MessageBytes(const Unit& unit, double bits) const {
  return kExtendedHeaderBytes + PayloadBytes(unit.numel, bits);
}

// The largest magnitude is found first.
WorkList EdenCodec::EncodeWork(int64_t numel, const CodecContext& context) const {
  return {{"norm", numel},
          {"rotate.forward", numel},
          {"eden.quantise", numel},
          MovedPayload(numel, context.parameter)};
}

// Codes with a rotation of their own are decoded, rotated back and added in one pass.
WorkList EdenCodec::DecodeWork(int64_t numel, double bits) const {
  return {{Own() ? "rotate.feedback" : "eden.decode", numel}, MovedPayload(numel, bits)};
}

WorkList EdenCodec::FinishWork(int64_t numel, double) const {
  return {{Own() ? "mean" : "rotate.inverse", numel}};
}

// The worker's own codes are decoded, rotated back and subtracted in one pass.
WorkList EdenCodec::FeedbackWork(int64_t numel, double bits, Feeding feeding) const {
  WorkList work = {{"rotate.feedback", numel}, MovedPayload(numel, bits)};
  if (feeding == Feeding::kGradient) work.push_back({"accumulate", numel});
  return work;
}

WorkList EdenCodec::ErrorWork(int64_t numel, std::span<const double> bits) const {
  WorkList work = {{"norm", numel}, {"rotate.forward", numel}};
  for (size_t i = 0; i < bits.size(); ++i) AddWork(Work{"eden.quantise", numel}, work);
  return work;
}

cpu::Rotation EdenCodec::RotationOf(int64_t numel, const CodecContext& context,
                                    uint32_t worker) const {
  RandomKey key = cpu::RotationKey(context.random);
  if (Own()) key.worker = worker;
  return {key, numel, block_};
}

EdenCodec::Rotated EdenCodec::Rotate(std::span<const float> values,
                                     const CodecContext& context) const {
  const float largest = CheckedMagnitude(values, kLargestValue, context.unit, Name());
  const int64_t numel = CheckedNumel(values);
  Rotated rotated{.rotation = RotationOf(numel, context, context.random.worker),
                  .factor = cpu::SpectrumScale(largest),
                  .values = std::make_unique_for_overwrite<float[]>(values.size())};
  rotated.rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const std::span<float> piece(rotated.values.get() + begin, static_cast<size_t>(length));
    rotated.rotation.Forward(values.subspan(begin, length), begin, rotated.factor, piece);
    rotated.squared += cpu::SquaredNorm(piece);
  });
  return rotated;
}

// Codes are written as bytes where `codes` is not empty.
EdenCodec::Sums EdenCodec::Quantise(const Rotated& rotated, int bits,
                                    std::span<uint8_t> codes) const {
  const std::span<const float> values = rotated.Values();
  const double root = std::sqrt(rotated.squared / static_cast<double>(values.size()));
  std::array<uint8_t, kPart> buffer;
  std::array<float, kPart> centroids;
  Sums sums;
  for (size_t begin = 0; begin < values.size(); begin += kPart) {
    const auto part = values.subspan(begin, std::min<size_t>(kPart, values.size() - begin));
    const auto own =
        codes.empty() ? std::span(buffer).first(part.size()) : codes.subspan(begin, part.size());
    const auto sent = std::span(centroids).first(part.size());
    cpu::EncodeNormal(part, bits, root, own);
    cpu::DecodeNormal(own, bits, 1.0f, sent);
    sums.product += cpu::Dot(sent, part);
    sums.squared += cpu::SquaredNorm(sent);
  }
  return sums;
}

ExtendedHeader EdenCodec::HeaderOf(int64_t numel, const CodecContext& context) const {
  const auto all = static_cast<uint32_t>(numel);
  return {
      .header = {.unit = context.unit, .numel = all, .count = all},
      .method = ExtendedMethod::kEden,
      .values = static_cast<uint8_t>(ValueType::kFloat32),
      .parameter = static_cast<uint16_t>(EdenBits(context.parameter) + (Own() ? kOwnRotation : 0))};
}

EdenCodec::Coded EdenCodec::Code(std::span<const float> values, const CodecContext& context,
                                 bool unbiased) const {
  CheckParameter(bits_, context.parameter);
  const Rotated rotated = Rotate(values, context);
  const int bits = EdenBits(context.parameter);
  Coded coded{.codes = std::vector<uint8_t>(values.size(), MiddleCode(bits))};
  if (rotated.squared == 0) return coded;
  const Sums sums = Quantise(rotated, bits, coded.codes);
  const double scale = unbiased ? rotated.squared / sums.product : sums.product / sums.squared;
  coded.scale = static_cast<float>(scale / double{rotated.factor});
  // S of the least subnormal numbers can be rounded to 0.
  if (coded.scale == 0) {
    std::ranges::fill(coded.codes, MiddleCode(bits));
  } else if (Own()) {
    coded.worker = context.random.worker;
  }
  return coded;
}

Message EdenCodec::Write(const Coded& coded, const CodecContext& context) const {
  const auto numel = std::ssize(coded.codes);
  const int bits = EdenBits(context.parameter);
  const int64_t packed = cpu::PackedBytes(numel, bits);
  Message message = StartMessage(HeaderOf(numel, context), PayloadBytes(numel, bits));
  const std::array start = {coded.scale, std::bit_cast<float>(coded.worker)};
  AppendFloats(std::span(start).first(Own() ? 2 : 1), message.bytes);
  const size_t begin = message.bytes.size();
  message.bytes.resize(begin + static_cast<size_t>(packed));
  cpu::PackCodes(coded.codes, bits, std::span(message.bytes).subspan(begin));
  return message;
}

EdenCodec::Coded EdenCodec::Read(ByteSpan message, int64_t numel,
                                 const CodecContext& context) const {
  const int bits = EdenBits(context.parameter);
  const ByteSpan payload =
      CheckedPayload(message, HeaderOf(numel, context), PayloadBytes(numel, bits));
  Coded coded{.scale = FloatAt(payload, 0),
              .worker = Own() ? std::bit_cast<uint32_t>(FloatAt(payload, 1)) : 0,
              .codes = std::vector<uint8_t>(numel)};
  if (!(coded.scale <= kLargestScale) || std::signbit(coded.scale)) {
    throw Error("message: scale", FormatNumber(coded.scale), "0 to " + FormatNumber(kLargestScale));
  }
  cpu::UnpackCodes(payload.subspan(kScaleBytes + (Own() ? kWorkerBytes : 0)), bits, coded.codes);
  if (coded.scale != 0) {
    CheckCells(coded.codes, bits);
  } else if (std::ranges::count(coded.codes, MiddleCode(bits)) != numel) {
    throw Error("message: a vector of zeros has a code other than that of 0");
  } else if (coded.worker != 0) {
    throw Error("message: worker of a vector of zeros", std::to_string(coded.worker), "0");
  }
  return coded;
}

Message EdenCodec::Encode(std::span<const float> values, const CodecContext& context) const {
  return Write(Code(values, context, Unbiased(false)), context);
}

// Calls body(begin, values) for the pieces of the decoded vector.
template <typename Body>
void EdenCodec::ForDecoded(const Coded& coded, const CodecContext& context, Body body) const {
  const cpu::Rotation rotation = RotationOf(std::ssize(coded.codes), context, coded.worker);
  std::vector<float> buffer(std::min<size_t>(static_cast<size_t>(block_), coded.codes.size()));
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const auto piece = std::span(buffer).first(static_cast<size_t>(length));
    cpu::DecodeNormal(std::span(coded.codes).subspan(begin, length), EdenBits(context.parameter),
                      coded.scale, piece);
    rotation.Back(piece, begin);
    body(begin, std::span<const float>(piece));
  });
}

Message EdenCodec::EncodeWithFeedback(std::span<const float> gradient, std::span<float> residual,
                                      const CodecContext& context,
                                      std::vector<uint32_t>* sent) const {
  if (!gradient.empty()) cpu::Add(gradient, residual);
  const Coded coded = Code(residual, context, Unbiased(true));
  ForDecoded(coded, context, [&](int64_t begin, std::span<const float> values) {
    cpu::Subtract(values, residual.subspan(begin, values.size()));
  });
  if (sent != nullptr) sent->clear();
  return Write(coded, context);
}

void EdenCodec::DecodeAdd(ByteSpan message, const CodecContext& context,
                          std::span<float> sum) const {
  const Coded coded = Read(message, CheckedNumel(sum), context);
  ForDecoded(coded, context, [&](int64_t begin, std::span<const float> values) {
    cpu::Add(values, sum.subspan(begin, values.size()));
  });
}

void EdenCodec::Accumulate(ByteSpan message, int64_t numel, const CodecContext& context,
                           std::span<float> sum) const {
  assert(std::ssize(sum) == numel);
  if (Own()) return DecodeAdd(message, context, sum);
  const Coded coded = Read(message, numel, context);
  std::array<float, kPart> buffer;
  for (size_t begin = 0; begin < sum.size(); begin += kPart) {
    const auto part = sum.subspan(begin, std::min<size_t>(kPart, sum.size() - begin));
    const auto values = std::span(buffer).first(part.size());
    cpu::DecodeNormal(std::span(coded.codes).subspan(begin, part.size()),
                      EdenBits(context.parameter), coded.scale, values);
    cpu::Add(values, part);
  }
}

void EdenCodec::MeanOf(std::span<const float> sum, float divisor, const CodecContext& context,
                       std::span<float> mean) const {
  assert(sum.size() == mean.size());
  if (Own()) return Codec::MeanOf(sum, divisor, context, mean);
  const cpu::Rotation rotation = RotationOf(std::ssize(sum), context, 0);
  rotation.ForEachPiece([&](int64_t begin, int64_t length) {
    const auto piece = mean.subspan(begin, length);
    std::ranges::copy(sum.subspan(begin, length), piece.begin());
    rotation.Back(piece, begin);
    for (float& x : piece) x = (0.0f + x) / divisor;  // adding 0 removes -0
  });
}

std::vector<double> EdenCodec::SquaredErrors(std::span<const float> values,
                                             std::span<const double> bits,
                                             const CodecContext& context) const {
  const Rotated rotated = Rotate(values, context);
  const double unit = double{rotated.factor} * double{rotated.factor};
  std::vector<double> errors;
  for (const double parameter : bits) {
    CheckParameter(bits_, parameter);
    if (rotated.squared == 0) {
      errors.push_back(0);
      continue;
    }
    const Sums sums = Quantise(rotated, EdenBits(parameter), {});
    const double scale =
        Unbiased(true) ? rotated.squared / sums.product : sums.product / sums.squared;
    const double error = rotated.squared - 2 * scale * sums.product + scale * scale * sums.squared;
    errors.push_back(std::max(0.0, error) / unit);
  }
  return errors;
}

namespace {

constexpr const char* kBlocks = "powers of two from 1 to 65536";
static_assert(cpu::Rotation::kMostBlock == 65536);

std::vector<OptionSpec> OptionsOfEden() {
  return {{"bits", "1", "1 to 4", "bits per value, where no policy chooses them"},
          {"block", "8192", kBlocks, "number of consecutive values that are rotated together"},
          {"scale", "auto", "auto, unbiased, least",
           "scale of the centroids: so that the message is unbiased, or its error least; auto: "
           "unbiased without error feedback, least error with it"},
          {"rotation", "shared", "shared, own",
           "draws of the rotation: those of all workers, so that receivers rotate back once; or "
           "each worker's own, so that errors of equal gradients cancel"}};
}

std::unique_ptr<Codec> MakeEden(std::span<const Stage> stages) {
  constexpr std::string_view kScales[] = {"auto", "unbiased", "least"};
  constexpr std::string_view kRotations[] = {"shared", "own"};
  const std::vector<OptionSpec> specs = OptionsOfEden();
  const OptionReader options(stages.front(), specs);
  const int64_t block = options.Integer("block", 1, cpu::Rotation::kMostBlock);
  if (!std::has_single_bit(static_cast<uint64_t>(block))) {
    throw Error("eden: block", std::to_string(block), kBlocks);
  }
  return std::make_unique<EdenCodec>(
      options.Integer("bits", 1, cpu::kMostNormalBits), block,
      static_cast<EdenScale>(options.Choice("scale", kScales)),
      static_cast<EdenRotation>(options.Choice("rotation", kRotations)));
}

}  // namespace

CodecRow EdenRow() {
  return {{.name = "eden",
           .help = "rotates at random, and rounds to the centroids of a normal distribution; with "
                   "one bit it is DRIVE",
           .paper = "Vargaftik et al., EDEN: Communication-Efficient and Robust Distributed Mean "
                    "Estimation for Federated Learning, ICML 2022",
           .options = OptionsOfEden()},
          /*takes_quantiser=*/false,
          MakeEden};
}

}  // namespace legacy
