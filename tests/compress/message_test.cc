#include "compress/message.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/random.h"
#include "compress/cpu/random_subset.h"

namespace legacy::message_test {
namespace {

constexpr IndexCoding kCodings[] = {IndexCoding::kU16, IndexCoding::kU32, IndexCoding::kBitmap,
                                    IndexCoding::kPacked, IndexCoding::kDelta};

Bytes Raw(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

std::vector<uint32_t> Read(IndexCoding coding, int64_t numel, int64_t count, const Bytes& bytes) {
  ByteSpan rest = bytes;
  auto indices = ReadIndices(coding, numel, count, rest);
  EXPECT_TRUE(rest.empty());
  return indices;
}

TEST(Header, LiesByteForByteAsDocumented) {
  Bytes bytes;
  WriteHeader({.codec = 2,
               .index = IndexCoding::kBitmap,
               .values = ValueType::kFloat16,
               .unit = 0x01020304,
               .numel = 0x0A0B0C0D,
               .count = 0x00112233},
              bytes);
  EXPECT_EQ(bytes,
            Raw({0x4C, 0x47, 0x11, 0x62, 4, 3, 2, 1, 0x0D, 0x0C, 0x0B, 0x0A, 0x33, 0x22, 0x11, 0}));
  const Header header = ReadHeader(bytes);
  EXPECT_EQ(header.codec, 2);
  EXPECT_EQ(header.index, IndexCoding::kBitmap);
  EXPECT_EQ(header.values, ValueType::kFloat16);
  EXPECT_EQ(header.unit, 0x01020304u);
  EXPECT_EQ(header.numel, 0x0A0B0C0Du);
  EXPECT_EQ(header.count, 0x00112233u);
}

TEST(Header, RefusesUnknownValues) {
  Bytes good;
  WriteHeader({.numel = 10, .count = 10}, good);
  EXPECT_NO_THROW(ReadHeader(good));
  const auto refuses = [&](size_t at, int value) {
    Bytes bad = good;
    bad[at] = static_cast<std::byte>(value);
    EXPECT_THROW(ReadHeader(bad), Error) << "byte " << at;
  };
  refuses(0, 0x4D);    // magic
  refuses(2, 0x20);    // version 2
  refuses(3, 6 << 5);  // index coding 6
  refuses(12, 11);     // more values than elements
  EXPECT_THROW(ReadHeader(ByteSpan(good).first(15)), Error);
}

TEST(ExtendedHeader, LiesByteForByteAsDocumented) {
  Bytes bytes;
  WriteExtendedHeader({.header = {.index = IndexCoding::kPacked,
                                  .unit = 0x01020304,
                                  .numel = 0x0A0B0C0D,
                                  .count = 0x00112233},
                       .method = ExtendedMethod::kDct,
                       .values = static_cast<uint8_t>(ValueType::kBfloat16),
                       .parameter = 0x0C0B},
                      bytes);
  EXPECT_EQ(bytes, Raw({0x4C, 0x47, 0x12, 0x97, 4,    3, 2, 1, 0x0D, 0x0C,
                        0x0B, 0x0A, 0x33, 0x22, 0x11, 0, 2, 2, 0x0B, 0x0C}));
  const ExtendedHeader header = ReadExtendedHeader(bytes);
  EXPECT_EQ(header.header.values, ValueType::kBfloat16);
  EXPECT_EQ(header.header.index, IndexCoding::kPacked);
  EXPECT_EQ(header.header.count, 0x00112233u);
  EXPECT_EQ(header.method, ExtendedMethod::kDct);
  EXPECT_EQ(header.values, 2);
  EXPECT_EQ(header.parameter, 0x0C0B);
}

TEST(ExtendedHeader, RefusesOthers) {
  Bytes good;
  WriteExtendedHeader(
      {.header = {.numel = 10, .count = 10}, .values = static_cast<uint8_t>(ElementFormat::kE2M1)},
      good);
  EXPECT_EQ(ReadExtendedHeader(good).values, 20);
  EXPECT_THROW(ReadExtendedHeader(ByteSpan(good).first(19)), Error);
  for (const auto& [at, value] : {std::pair{3, 2}, {2, 0x11}, {17, 1}, {0, 0}}) {
    Bytes bad = good;
    bad[static_cast<size_t>(at)] = static_cast<std::byte>(value);
    EXPECT_THROW(ReadExtendedHeader(bad), Error) << "byte " << at;
  }
}

TEST(Indices, RoundTripAndLength) {
  for (const int64_t numel : {1, 2, 8, 9, 255, 256, 257, 65536, 65537, 300000}) {
    for (const int64_t count : {int64_t{0}, int64_t{1}, numel / 100, numel / 3, numel}) {
      const auto indices = cpu::RandomSubset(RandomStream({.seed = 1}), numel, count);
      for (const IndexCoding coding : kCodings) {
        if (coding == IndexCoding::kU16 && numel > 65536) continue;
        Bytes bytes;
        WriteIndices(coding, numel, indices, bytes);
        ASSERT_EQ(Read(coding, numel, count, bytes), indices);
        if (coding == IndexCoding::kDelta) continue;
        ASSERT_EQ(static_cast<int64_t>(bytes.size()), IndexBytes(coding, numel, count));
      }
    }
  }
}

// Bytes of positions 1, 5, 300 of 1000 are computed by hand.
TEST(Indices, BytesOfEachCoding) {
  const std::vector<uint32_t> indices = {1, 5, 300};
  const auto bytes = [&](IndexCoding coding) {
    Bytes out;
    WriteIndices(coding, 1000, indices, out);
    return out;
  };
  EXPECT_EQ(bytes(IndexCoding::kU16), Raw({1, 0, 5, 0, 0x2C, 1}));
  EXPECT_EQ(bytes(IndexCoding::kU32), Raw({1, 0, 0, 0, 5, 0, 0, 0, 0x2C, 1, 0, 0}));
  // Each takes 10 bits: 1 | 5 << 10 | 300 << 20 = 0x12C01401.
  EXPECT_EQ(bytes(IndexCoding::kPacked), Raw({0x01, 0x14, 0xC0, 0x12}));
  // Gaps are 1, 3 and 294 = 0b10_0100110.
  EXPECT_EQ(bytes(IndexCoding::kDelta), Raw({1, 3, 0xA6, 2}));
  const Bytes bitmap = bytes(IndexCoding::kBitmap);
  ASSERT_EQ(bitmap.size(), 125u);
  EXPECT_EQ(bitmap[0], std::byte{0x22});
  EXPECT_EQ(bitmap[37], std::byte{0x10});
}

TEST(Indices, ShortestOfFixedLength) {
  for (const int64_t numel : {1, 5, 100, 32768, 40000, 65536, 65537, 5000000}) {
    for (int64_t count = 1; count <= numel; count = count * 2 + 1) {
      const int64_t chosen = IndexBytes(ShortestIndexCoding(numel, count), numel, count);
      for (const IndexCoding coding : kCodings) {
        if (coding == IndexCoding::kDelta || (coding == IndexCoding::kU16 && numel > 65536))
          continue;
        ASSERT_LE(chosen, IndexBytes(coding, numel, count)) << numel << " " << count;
      }
    }
  }
  EXPECT_EQ(ShortestIndexCoding(65536, 10), IndexCoding::kU16);  // a tie with packed
  EXPECT_EQ(ShortestIndexCoding(1000, 10), IndexCoding::kPacked);
  EXPECT_EQ(ShortestIndexCoding(1000, 500), IndexCoding::kBitmap);
  EXPECT_THROW(IndexBytes(IndexCoding::kU16, 65537, 1), Error);
  EXPECT_THROW(IndexBytes(IndexCoding::kDelta, 10, 1), Error);
}

TEST(Indices, RefusesHostileBytes) {
  using enum IndexCoding;
  EXPECT_THROW(Read(kU16, 10, 2, Raw({3, 0, 3, 0})), Error);          // repeats
  EXPECT_THROW(Read(kU16, 10, 2, Raw({3, 0, 2, 0})), Error);          // goes back
  EXPECT_THROW(Read(kU16, 10, 1, Raw({10, 0})), Error);               // outside
  EXPECT_THROW(Read(kU16, 10, 2, Raw({1, 0, 2})), Error);             // ends early
  EXPECT_THROW(Read(kU32, 10, 1, Raw({9, 0, 0, 1})), Error);          // outside
  EXPECT_THROW(Read(kU32, 4000000000, 4000000000, Raw({9})), Error);  // before any allocation
  EXPECT_THROW(Read(kBitmap, 10, 1, Raw({1, 1})), Error);             // marks two
  EXPECT_THROW(Read(kBitmap, 10, 2, Raw({1, 0})), Error);             // marks one
  EXPECT_THROW(Read(kBitmap, 10, 2, Raw({1, 4})), Error);             // padding bit
  EXPECT_THROW(Read(kPacked, 10, 1, Raw({0x13})), Error);             // padding bit
  EXPECT_THROW(Read(kPacked, 10, 1, Raw({0x0A})), Error);             // outside
  EXPECT_THROW(Read(kDelta, 10, 2, Raw({9, 0})), Error);              // outside
  EXPECT_THROW(Read(kDelta, 300, 1, Raw({0x81})), Error);             // ends early
  EXPECT_THROW(Read(kDelta, 300, 1, Raw({0x81, 0x00})), Error);       // longer than needed
  EXPECT_THROW(Read(kDelta, 300, 1, Raw({0xFF, 0xFF, 0xFF, 0xFF, 0x7F})), Error);  // 35 bits
  EXPECT_THROW(Read(kDelta, 300, 1, Raw({0x80, 0x80, 0x80, 0x80, 0x80, 1})), Error);
  EXPECT_THROW(Read(kNone, 10, 10, Raw({})), Error);
  EXPECT_THROW(Read(kU32, 1, 2, Raw({0, 0, 0, 0, 1, 0, 0, 0})), Error);
}

}  // namespace
}  // namespace legacy::message_test