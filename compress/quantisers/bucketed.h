// Bucketed quantisers (QSGD, max-min) divide values into buckets, each with its own grid of equally
// distant levels.
//
// A segment has for each bucket its scale (fp32 numbers), then the codes of all values in `bits`
// bits each (bitpack.h). Buckets are multiples of 64 values, so that they begin at whole bytes and
// whole groups of draws.
//
// Encoding reads 4 bytes per element, reads them again from cache, and writes bits / 8.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "compress/cpu/quantise.h"
#include "compress/quantiser.h"

namespace legacy {

// The scale of one bucket.
struct BucketScale {
  float low = 0;   // least value of max-min; QSGD does not use it
  float high = 0;  // greatest value of max-min; the norm of QSGD
};

// The common part of both quantisers; a derived class defines scales and levels.
class BucketedQuantiser : public PartwiseQuantiser {
 public:
  struct Settings {
    // The parameter: "bits", or another one from which Width() computes them.
    ParameterSpec bits;
    int64_t bucket = 512;
    bool stochastic = true;
  };

  const ParameterSpec& Parameter() const override { return settings_.bits; }
  int64_t Bucket() const override { return settings_.bucket; }
  std::optional<int64_t> SegmentBytes(int64_t count, double bits) const override;
  void Encode(std::span<const float> values, double bits, const CodecContext& context,
              Bytes& out) const override;
  void Check(ByteSpan segment, int64_t count, double bits) const override;
  void DecodePart(ByteSpan segment, int64_t count, double bits, int64_t begin,
                  std::span<float> values) const override;
  double SquaredError(std::span<const float> values, double bits) const override;

 protected:
  explicit BucketedQuantiser(Settings settings) : settings_(std::move(settings)) {}

  // Returns the bits of a code. `bits` is the parameter, here and below; if the parameter is not a
  // number of bits, an override computes it.
  virtual int Width(int bits) const { return bits; }
  virtual int Numbers() const = 0;              // number of fp32 numbers in a scale
  virtual int LargestCode(int bits) const = 0;  // largest valid code
  // Returns the values of a bucket that are rounded: these, or others in `room`.
  virtual std::span<const float> Rounded(std::span<const float> bucket,
                                         std::vector<float>& room) const;
  // Returns the scale of a bucket.
  virtual BucketScale ScaleOf(std::span<const float> values) const = 0;
  // Returns the levels, or nothing if the scale allows one value only, whose code is FlatCode().
  virtual std::optional<cpu::CodeGrid> GridOf(const BucketScale& scale, int bits) const = 0;
  virtual int FlatCode(int bits) const = 0;
  // Returns true if an encoder can have written this scale.
  virtual bool IsScale(const BucketScale& scale) const = 0;
  virtual void DecodeBucket(std::span<const uint8_t> codes, const BucketScale& scale, int bits,
                            std::span<float> values) const = 0;
  // Encode and decode codes wider than a byte; only for quantisers whose Width() is above 8. `grid`
  // is that of magnitudes.
  virtual void EncodeWide(std::span<const float> values, const cpu::CodeGrid& grid, int bits,
                          const cpu::DrawSource& source, int64_t first,
                          std::span<uint32_t> codes) const;
  virtual void DecodeWide(std::span<const uint32_t> codes, const BucketScale& scale, int bits,
                          std::span<float> values) const;
  // Return the first level of a bucket that is not flat, and the distance to the next.
  virtual double Origin(const BucketScale& scale, int bits) const = 0;
  virtual double Step(const BucketScale& scale, int bits) const = 0;

  int64_t Buckets(int64_t count) const;
  int64_t ScaleBytes() const { return int64_t{sizeof(float)} * Numbers(); }
  void StoreScale(const BucketScale& scale, std::byte* to) const;
  BucketScale ScaleAt(ByteSpan segment, int64_t bucket) const;
  // Calls body(bucket, begin, size) for the parts of [begin, end) in each bucket.
  template <typename Body>
  void ForBuckets(int64_t begin, int64_t end, Body body) const {
    while (begin < end) {
      const int64_t bucket = begin / settings_.bucket;
      const int64_t size = std::min(end, (bucket + 1) * settings_.bucket) - begin;
      body(bucket, begin, size);
      begin += size;
    }
  }
  const Settings& settings() const { return settings_; }
  // Returns the setting of the device's kernels, or nothing if a scale is the unit's: these have
  // buckets of a bounded size.
  std::optional<QuantiserSetting> SettingOf(QuantiserKind kind, double bits) const;

 private:
  // Calls body(codes, at) for each block of codes of a bucket that begins at element `first`, where
  // `at` is the block's position in it. Codes are uint8_t, or uint32_t where they are wider.
  template <typename Code, typename Body>
  void ForCodes(ByteSpan packed, int width, int64_t first, int64_t size, Body body) const;
  template <typename Code>
  void CheckCodes(ByteSpan packed, int bits, int64_t first, int64_t size, bool flat) const;
  // Encodes up to kQuantiseBlock values of one bucket, from element `first` of the segment.
  void EncodeBlock(std::span<const float> values, const std::optional<cpu::CodeGrid>& grid,
                   int bits, const cpu::DrawSource& source, int64_t first, const float* ahead,
                   std::byte* out) const;

  Settings settings_;
};

// Returns the parameter as a whole number.
int BitsOf(double parameter);
// Returns the draws of a message's values.
cpu::DrawSource DrawsOf(const CodecContext& context);

// Return the options "bits", "bucket" and "rounding", and read them.
std::vector<OptionSpec> BucketOptions(const std::string& bits, const std::string& rounding,
                                      int least_bits);
BucketedQuantiser::Settings ReadBucketOptions(const OptionReader& options, int least_bits);
// Reads the option "bucket" alone. Throws Error unless it is a multiple of 64.
int64_t ReadBucket(const OptionReader& options);

}  // namespace legacy
