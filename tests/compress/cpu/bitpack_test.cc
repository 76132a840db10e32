#include "compress/cpu/bitpack.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/compress/test_data.h"

namespace legacy::cpu::bitpack_test {
namespace {

constexpr int64_t kCounts[] = {0, 1, 7, 8, 9, 31, 32, 33, 127, 128, 129, 1003};

// Packs codes bit by bit.
template <typename Code>
std::vector<std::byte> SlowPack(const std::vector<Code>& codes, int width) {
  std::vector<std::byte> out(PackedBytes(static_cast<int64_t>(codes.size()), width));
  for (size_t i = 0; i < codes.size() * width; ++i) {
    const auto bit = static_cast<uint64_t>(codes[i / width]) >> i % width & 1;
    out[i / 8] |= static_cast<std::byte>(bit << i % 8);
  }
  return out;
}

template <typename Code>
std::vector<Code> Codes(int64_t n, int width) {
  RandomStream stream({.seed = static_cast<uint64_t>(width)});
  std::vector<Code> codes(n);
  for (Code& code : codes) code = static_cast<Code>(stream.NextU32() >> (32 - width));
  return codes;
}

TEST(Bitpack, KnownBytes) {
  const std::vector<uint8_t> codes = {1, 2, 7, 4, 5};  // 001 010 111 100 101, the lowest bits first
  std::vector<std::byte> out(PackedBytes(5, 3));
  PackCodes(codes, 3, out);
  EXPECT_EQ(out, (std::vector<std::byte>{std::byte{0b11010001}, std::byte{0b01011001}}));
}

TEST(Bitpack, EveryWidthPacksBitByBit) {
  for (int width = 1; width <= 32; ++width) {
    for (const int64_t n : kCounts) {
      const auto codes = Codes<uint32_t>(n, width);
      std::vector<std::byte> out(PackedBytes(n, width), std::byte{0xFF});
      PackCodes(codes, width, out);
      ASSERT_EQ(out, SlowPack(codes, width)) << width << " " << n;
      std::vector<uint32_t> back(n, 77);
      UnpackCodes(out, width, back);
      ASSERT_EQ(back, codes);
    }
  }
}

TEST(Bitpack, BytesAreTheSameOnEveryInstructionSet) {
  for (const Simd simd : UsableSimd()) {
    for (int width = 1; width <= 8; ++width) {
      for (const int64_t n : kCounts) {
        const auto codes = Codes<uint8_t>(n, width);
        std::vector<std::byte> out(PackedBytes(n, width), std::byte{0xFF});
        PackCodes(codes, width, out, simd);
        ASSERT_EQ(out, SlowPack(codes, width)) << SimdName(simd) << " " << width << " " << n;
        std::vector<uint8_t> back(n, 77);
        UnpackCodes(out, width, back, simd);
        ASSERT_EQ(back, codes);
      }
    }
  }
}

TEST(Bitpack, SignsAreComparisons) {
  for (const Simd simd : UsableSimd()) {
    for (const int64_t n : kCounts) {
      for (const auto& values : test::HardInputs(n)) {
        std::vector<uint8_t> below(n);
        for (int64_t i = 0; i < n; ++i) below[i] = values[i] < 0;  // neither zero is below
        std::vector<std::byte> out(PackedBytes(n, 1), std::byte{0xFF});
        PackSigns(values, out, simd);
        ASSERT_EQ(out, SlowPack(below, 1)) << SimdName(simd) << " " << n;
        std::vector<float> back(n);
        UnpackSigns(out, 2, -3, back, simd);
        for (int64_t i = 0; i < n; ++i) ASSERT_EQ(back[i], below[i] ? -3 : 2);
      }
    }
  }
}

TEST(Bitpack, PaddingMustBeZero) {
  for (int width = 1; width <= 8; ++width) {
    for (int64_t n = 1; n <= 9; ++n) {
      std::vector<std::byte> in(PackedBytes(n, width));
      const int used = static_cast<int>(n * width % 8);
      if (used == 0) continue;
      in.back() = static_cast<std::byte>(1 << used);
      std::vector<uint8_t> codes(n, 9);
      std::vector<uint32_t> wide(n, 9);
      std::vector<float> values(n, 9);
      EXPECT_THROW(UnpackCodes(in, width, codes), Error);
      EXPECT_THROW(UnpackCodes(in, width, wide), Error);
      if (width == 1) {
        EXPECT_THROW(UnpackSigns(in, 1, 2, values), Error);
      }
      EXPECT_EQ(codes, std::vector<uint8_t>(n, 9));
    }
  }
}

}  // namespace
}  // namespace legacy::cpu::bitpack_test