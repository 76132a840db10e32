#include "compress/cpu/cast.h"

#include <bit>
#include <limits>

#include "compress/cuda/kernels/cast_kernels.h"
#include "tests/compress/cuda/device_under_test.h"
#include "tests/compress/test_data.h"

namespace legacy::cuda::cast_test {
namespace {

template <class Rule, class Out, class In>
std::vector<Out> Cast(test::Device& device, const std::vector<In>& in, int64_t shift) {
  const test::Buffer<In> input(in);
  const test::Buffer<Out> output(std::vector<Out>(in.size()));
  LaunchMap(device, Rule{}, input.data() + shift, output.data() + shift, std::ssize(in) - shift);
  return output.Get();
}

// Returns both sides of every tie between halves and between bfloat16s, subnormals, and values that
// saturate.
std::vector<float> Probes() {
  std::vector<float> probes;
  for (const uint32_t step : {0x1000u, 0x8000u}) {
    for (uint64_t bits = 0; bits < 0x80000000u; bits += step * 23) {
      const auto tie = static_cast<uint32_t>(bits / step * step);
      for (const uint32_t near : {tie - 1, tie, tie + 1}) {
        const auto x = std::bit_cast<float>(near & 0x7FFFFFFF);
        if (x <= std::numeric_limits<float>::infinity()) probes.push_back(near % 3 ? x : -x);
      }
    }
  }
  for (int i = 0; i < 3000; ++i) probes.push_back(std::ldexp(1.0f + i % 64 / 64.0f, -26 + i / 64));
  return probes;
}

TEST(CudaCast, BitsAreTheCpus) {
  for (const int64_t n : {0, 1, 31, 33, 4096, 5000, 1 << 20}) {
    auto values = Probes();
    if (n < std::ssize(values)) values.resize(n);
    const auto size = values.size();
    std::vector<uint16_t> half(size), bfloat16(size);
    std::vector<float> from_half(size), from_bfloat16(size);
    cpu::EncodeHalf(values, std::as_writable_bytes(std::span(half)));
    cpu::EncodeBfloat16(values, std::as_writable_bytes(std::span(bfloat16)));
    cpu::DecodeHalf(std::as_bytes(std::span(half)), from_half);
    cpu::DecodeBfloat16(std::as_bytes(std::span(bfloat16)), from_bfloat16);
    test::OnDevice([&](test::Device& device) {
      EXPECT_EQ((Cast<ToHalf, uint16_t>(device, values, 0)), half);
      EXPECT_EQ((Cast<ToBfloat16, uint16_t>(device, values, 0)), bfloat16);
      EXPECT_TRUE(test::SameBits(Cast<FromHalf, float>(device, half, 0), from_half));
      EXPECT_TRUE(test::SameBits(Cast<FromBfloat16, float>(device, bfloat16, 0), from_bfloat16));
    });
  }
}

TEST(CudaCast, WithoutAlignment) {
  const auto values = test::Normals(9000, 1);
  std::vector<uint16_t> half(values.size());
  cpu::EncodeHalf(values, std::as_writable_bytes(std::span(half)));
  for (const int64_t shift : {1, 2, 3}) {
    std::fill_n(half.begin(), shift, uint16_t{0});
    test::OnDevice([&](test::Device& device) {
      EXPECT_EQ((Cast<ToHalf, uint16_t>(device, values, shift)), half);
    });
  }
}

}  // namespace
}  // namespace legacy::cuda::cast_test