#include "compress/quantisers/bucketed.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/checks.h"
#include "compress/cpu/bitpack.h"

namespace legacy {
namespace {

constexpr int kMostBits = 8;
constexpr int64_t kMostBucket = 1 << 20;
constexpr int64_t kUnitBucket = int64_t{1} << 32;  // holds every unit
constexpr const char* kUnit = "unit";
constexpr int kByteBits = 8;

uint8_t LargestOf(std::span<const uint8_t> codes) { return cpu::LargestCode(codes); }
uint32_t LargestOf(std::span<const uint32_t> codes) { return *std::ranges::max_element(codes); }

// Distance from a block to the values that are prefetched while it draws.
constexpr int64_t kAhead = 4 * cpu::kQuantiseBlock;

}  // namespace

int BitsOf(double parameter) { return static_cast<int>(std::lround(parameter)); }

cpu::DrawSource DrawsOf(const CodecContext& context) {
  RandomKey key = context.random;
  key.layer = context.unit;
  return cpu::MakeDrawSource(key);
}

int64_t BucketedQuantiser::Buckets(int64_t count) const {
  return (count + settings_.bucket - 1) / settings_.bucket;
}

std::optional<int64_t> BucketedQuantiser::SegmentBytes(int64_t count, double bits) const {
  return ScaleBytes() * Buckets(count) + cpu::PackedBytes(count, Width(BitsOf(bits)));
}

std::optional<QuantiserSetting> BucketedQuantiser::SettingOf(QuantiserKind kind,
                                                             double bits) const {
  if (settings_.bucket > kMostBucket) return std::nullopt;
  return QuantiserSetting{.kind = kind,
                          .bits = BitsOf(bits),
                          .bucket = settings_.bucket,
                          .stochastic = settings_.stochastic};
}

void BucketedQuantiser::StoreScale(const BucketScale& scale, std::byte* to) const {
  if (Numbers() == 2) {
    std::memcpy(to, &scale.low, sizeof scale.low);
    to += sizeof scale.low;
  }
  std::memcpy(to, &scale.high, sizeof scale.high);
}

BucketScale BucketedQuantiser::ScaleAt(ByteSpan segment, int64_t bucket) const {
  if (Numbers() == 1) return {.high = FloatAt(segment, bucket)};
  return {.low = FloatAt(segment, 2 * bucket), .high = FloatAt(segment, 2 * bucket + 1)};
}

void BucketedQuantiser::EncodeBlock(std::span<const float> values,
                                    const std::optional<cpu::CodeGrid>& grid, int bits,
                                    const cpu::DrawSource& source, int64_t first,
                                    const float* ahead, std::byte* out) const {
  const int width = Width(bits);
  const auto bytes = cpu::PackedBytes(static_cast<int64_t>(values.size()), width);
  const std::span<std::byte> packed = {out, static_cast<size_t>(bytes)};
  if (width > kByteBits) {
    std::array<uint32_t, cpu::kQuantiseBlock> buffer;
    const auto codes = std::span(buffer).first(values.size());
    if (grid) {
      EncodeWide(values, *grid, bits, source, first, codes);
    } else {
      std::ranges::fill(codes, static_cast<uint32_t>(FlatCode(bits)));
    }
    return cpu::PackCodes(codes, width, packed);
  }
  std::array<uint8_t, cpu::kQuantiseBlock> buffer;
  const auto codes = std::span(buffer).first(values.size());
  if (grid) {
    cpu::EncodeCodes(values, *grid, source, first, codes, cpu::ActiveSimd(), ahead);
  } else {
    std::ranges::fill(codes, static_cast<uint8_t>(FlatCode(bits)));
  }
  cpu::PackCodes(codes, width, packed);
}

std::span<const float> BucketedQuantiser::Rounded(std::span<const float> bucket,
                                                  std::vector<float>&) const {
  return bucket;
}

void BucketedQuantiser::EncodeWide(std::span<const float>, const cpu::CodeGrid&, int,
                                   const cpu::DrawSource&, int64_t, std::span<uint32_t>) const {
  assert(false);
}

void BucketedQuantiser::DecodeWide(std::span<const uint32_t>, const BucketScale&, int,
                                   std::span<float>) const {
  assert(false);
}

void BucketedQuantiser::Encode(std::span<const float> values, double parameter,
                               const CodecContext& context, Bytes& out) const {
  const int bits = BitsOf(parameter);
  const auto count = static_cast<int64_t>(values.size());
  const cpu::DrawSource source = DrawsOf(context);
  size_t scale_at = out.size();
  out.reserve(out.size() + *SegmentBytes(count, parameter));
  out.resize(out.size() + ScaleBytes() * Buckets(count));
  std::vector<float> room;
  ForBuckets(0, count, [&](int64_t, int64_t first, int64_t size) {
    const auto bucket = Rounded(values.subspan(first, size), room);
    const BucketScale scale = ScaleOf(bucket);
    StoreScale(scale, out.data() + scale_at);
    scale_at += ScaleBytes();
    const auto grid = GridOf(scale, bits);
    for (int64_t at = 0; at < size; at += cpu::kQuantiseBlock) {
      const auto block = bucket.subspan(at, std::min(cpu::kQuantiseBlock, size - at));
      const int64_t next = first + at + kAhead;
      const float* ahead = next + cpu::kQuantiseBlock <= count ? values.data() + next : nullptr;
      const size_t codes = out.size();
      out.resize(codes + cpu::PackedBytes(static_cast<int64_t>(block.size()), Width(bits)));
      EncodeBlock(block, grid, bits, source, first + at, ahead, out.data() + codes);
    }
  });
}

void BucketedQuantiser::Check(ByteSpan segment, int64_t count, double parameter) const {
  const int bits = BitsOf(parameter);
  const int width = Width(bits);
  CheckLength(segment, *SegmentBytes(count, parameter));
  const ByteSpan packed = segment.subspan(ScaleBytes() * Buckets(count));
  cpu::CheckPadding(packed, count, width);
  const bool any_code = LargestCode(bits) == (1 << width) - 1;
  ForBuckets(0, count, [&](int64_t bucket, int64_t first, int64_t size) {
    const BucketScale scale = ScaleAt(segment, bucket);
    if (!IsScale(scale)) throw Error("message: the scale of a bucket is invalid");
    const bool flat = !GridOf(scale, bits);
    if (any_code && !flat) return;
    if (width > kByteBits) {
      CheckCodes<uint32_t>(packed, bits, first, size, flat);
    } else {
      CheckCodes<uint8_t>(packed, bits, first, size, flat);
    }
  });
}

template <typename Code, typename Body>
void BucketedQuantiser::ForCodes(ByteSpan packed, int width, int64_t first, int64_t size,
                                 Body body) const {
  std::array<Code, cpu::kQuantiseBlock> buffer;
  for (int64_t at = 0; at < size; at += cpu::kQuantiseBlock) {
    const auto codes = std::span(buffer).first(std::min(cpu::kQuantiseBlock, size - at));
    const auto bytes = cpu::PackedBytes(static_cast<int64_t>(codes.size()), width);
    cpu::UnpackCodes(packed.subspan((first + at) / 8 * width, bytes), width, codes);
    body(codes, at);
  }
}

template <typename Code>
void BucketedQuantiser::CheckCodes(ByteSpan packed, int bits, int64_t first, int64_t size,
                                   bool flat) const {
  ForCodes<Code>(packed, Width(bits), first, size, [&](std::span<const Code> codes, int64_t) {
    if (static_cast<int>(LargestOf(codes)) > LargestCode(bits)) {
      throw Error("message: a code is above the largest level");
    }
    const auto level = static_cast<Code>(FlatCode(bits));
    if (flat && std::ranges::any_of(codes, [level](Code code) { return code != level; })) {
      throw Error("message: a bucket without a range has more than one level");
    }
  });
}

void BucketedQuantiser::DecodePart(ByteSpan segment, int64_t count, double parameter, int64_t begin,
                                   std::span<float> values) const {
  const int bits = BitsOf(parameter);
  const int width = Width(bits);
  const ByteSpan packed = segment.subspan(ScaleBytes() * Buckets(count));
  const int64_t end = begin + static_cast<int64_t>(values.size());
  ForBuckets(begin, end, [&](int64_t bucket, int64_t first, int64_t size) {
    const BucketScale scale = ScaleAt(segment, bucket);
    const auto part = [&](int64_t at, size_t length) {
      return values.subspan(first + at - begin, length);
    };
    if (width > kByteBits) {
      ForCodes<uint32_t>(packed, width, first, size, [&](auto codes, int64_t at) {
        DecodeWide(codes, scale, bits, part(at, codes.size()));
      });
      return;
    }
    ForCodes<uint8_t>(packed, width, first, size, [&](auto codes, int64_t at) {
      DecodeBucket(codes, scale, bits, part(at, codes.size()));
    });
  });
}

// A value at y steps from the first level becomes the upper of its two neighbouring levels with
// probability p = y - floor(y). Its squared error is p (1 - p) step^2.
double BucketedQuantiser::SquaredError(std::span<const float> values, double parameter) const {
  const int bits = BitsOf(parameter);
  double error = 0;
  ForBuckets(0, static_cast<int64_t>(values.size()), [&](int64_t, int64_t first, int64_t size) {
    const auto bucket = values.subspan(first, size);
    const BucketScale scale = ScaleOf(bucket);
    if (!GridOf(scale, bits)) return;
    const double origin = Origin(scale, bits);
    const double step = Step(scale, bits);
    double squares = 0;  // squared steps
    for (const float x : bucket) {
      const double y = (double{x} - origin) / step;
      const double p = y - std::floor(y);
      squares += settings_.stochastic ? p * (1 - p) : std::min(p, 1 - p) * std::min(p, 1 - p);
    }
    error += squares * step * step;
  });
  return error;
}

std::vector<OptionSpec> BucketOptions(const std::string& bits, const std::string& rounding,
                                      int least_bits) {
  return {{"bits", bits, std::to_string(least_bits) + " to " + std::to_string(kMostBits),
           "bits per value, where no policy chooses them"},
          {"bucket", "512", "multiples of 64, up to " + std::to_string(kMostBucket) + ", or unit",
           "number of consecutive values that share a scale; unit: all of the unit"},
          {"rounding", rounding, "stochastic, nearest",
           "rounding to levels: at random, which is unbiased, or to the nearest"}};
}

int64_t ReadBucket(const OptionReader& options) {
  if (options.Text("bucket") == kUnit) return kUnitBucket;
  const int64_t bucket = options.Integer("bucket", cpu::kDrawGroup, kMostBucket);
  if (bucket % cpu::kDrawGroup != 0) {
    throw Error("bucket", options.Text("bucket"), "multiples of 64, or unit");
  }
  return bucket;
}

BucketedQuantiser::Settings ReadBucketOptions(const OptionReader& options, int least_bits) {
  constexpr std::string_view kRoundings[] = {"nearest", "stochastic"};
  BucketedQuantiser::Settings settings;
  settings.bits = {.name = "bits",
                   .minimum = static_cast<double>(least_bits),
                   .maximum = kMostBits,
                   .integer = true,
                   .fallback = static_cast<double>(options.Integer("bits", least_bits, kMostBits)),
                   .help = "bits per value, the sign included"};
  settings.bucket = ReadBucket(options);
  settings.stochastic = options.Choice("rounding", kRoundings) == 1;
  return settings;
}

}  // namespace legacy
