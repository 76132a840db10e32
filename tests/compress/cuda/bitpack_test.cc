#include "compress/cpu/bitpack.h"

#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::bitpack_test {
namespace {

constexpr int64_t kCounts[] = {0, 1, 7, 31, 32, 33, 2047, 2049, 8191, 8192, 8193, 20001};

template <class Code>
std::vector<Code> Codes(int64_t n, int width) {
  RandomStream stream({.seed = static_cast<uint64_t>(n * 33 + width)});
  std::vector<Code> codes(n);
  for (Code& code : codes) code = static_cast<Code>(uint64_t{stream.NextU32()} >> (32 - width));
  return codes;
}

std::vector<std::byte> Guarded(int64_t bytes) {  // only the first bytes may change
  return std::vector<std::byte>(bytes + 8, std::byte{0x5A});
}

template <class Code>
void PacksLikeTheCpu(int most_width) {
  for (const int64_t n : kCounts) {
    for (int width = 1; width <= most_width; ++width) {
      SCOPED_TRACE(std::to_string(n) + " codes of " + std::to_string(width) + " bits");
      const auto codes = Codes<Code>(n, width);
      const int64_t bytes = cpu::PackedBytes(n, width);
      auto expected = Guarded(bytes);
      cpu::PackCodes(codes, width, std::span(expected).first(bytes));
      test::OnDevice([&](test::Device& device) {
        const test::Buffer<Code> in(codes), back(n);
        const test::Buffer<std::byte> out(Guarded(bytes));
        const test::Buffer<uint32_t> malformed(std::vector<uint32_t>{0});
        LaunchPack(device, in.data(), n, width, out.data());
        ASSERT_EQ(out.Get(), expected);
        LaunchUnpack(device, out.data(), n, width, back.data(), malformed.data());
        ASSERT_EQ(back.Get(), codes);
        ASSERT_EQ(malformed.Get()[0], 0u);
      });
    }
  }
}

TEST(CudaBitpack, PacksWordsLikeTheCpu) { PacksLikeTheCpu<uint32_t>(32); }

TEST(CudaBitpack, PacksBytesLikeTheCpu) { PacksLikeTheCpu<uint8_t>(8); }

TEST(CudaBitpack, PacksSignsLikeTheCpu) {
  for (const int64_t n : kCounts) {
    for (const auto& values : test::HardInputs(n)) {
      const int64_t bytes = cpu::PackedBytes(n, 1);
      auto expected = Guarded(bytes);
      cpu::PackSigns(values, std::span(expected).first(bytes));
      std::vector<float> signs(n);
      cpu::UnpackSigns(std::span(expected).first(bytes), 2.0f, -3.0f, signs);
      test::OnDevice([&](test::Device& device) {
        const test::Buffer<float> in(values), back(n);
        const test::Buffer<std::byte> out(Guarded(bytes));
        LaunchPackSigns(device, in.data(), n, out.data());
        ASSERT_EQ(out.Get(), expected) << n;
        LaunchUnpackSigns(device, out.data(), n, 2.0f, -3.0f, back.data(), nullptr);
        ASSERT_EQ(back.Get(), signs) << n;
      });
    }
  }
}

TEST(CudaBitpack, DetectsPaddingThatIsSet) {
  for (const int64_t n : {1, 8193}) {
    test::OnDevice([&](test::Device& device) {
      for (const int width : {1, 7}) {
        std::vector<std::byte> packed(cpu::PackedBytes(n, width));
        packed.back() = std::byte{0x80};
        EXPECT_THROW(cpu::CheckPadding(packed, n, width), Error);
        const test::Buffer<std::byte> in(packed);
        const test::Buffer<uint8_t> codes(n);
        const test::Buffer<float> values(n);
        const test::Buffer<uint32_t> malformed(std::vector<uint32_t>(2));
        LaunchUnpack(device, in.data(), n, width, codes.data(), malformed.data());
        if (width == 1) {
          LaunchUnpackSigns(device, in.data(), n, 1, -1, values.data(), malformed.data() + 1);
          EXPECT_EQ(malformed.Get()[1], 1u);
        }
        EXPECT_EQ(malformed.Get()[0], 1u);
      }
    });
  }
}

}  // namespace
}  // namespace legacy::cuda::bitpack_test