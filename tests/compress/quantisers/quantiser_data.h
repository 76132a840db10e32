// Helpers of the quantisers' tests.
#pragma once

#include <array>
#include <bit>
#include <memory>

#include "compress/quantiser.h"
#include "tests/compress/test_data.h"

namespace legacy::test {

inline std::unique_ptr<Quantiser> QuantiserOf(std::string_view text) {
  return MakeQuantiser(ParseStages(text).front());
}

inline CodecContext Draws(uint64_t step, uint64_t seed = 21) {
  CodecContext context;
  context.random = {.seed = seed, .step = step, .purpose = Purpose::kStochastic};
  return context;
}

inline Bytes EncodeSegment(const Quantiser& quantiser, std::span<const float> values,
                           double parameter, uint64_t step = 0) {
  Bytes out;
  quantiser.Encode(values, parameter, Draws(step), out);
  return out;
}

inline std::vector<float> RoundTrip(const Quantiser& quantiser, std::span<const float> values,
                                    double parameter, uint64_t step = 0) {
  std::vector<float> decoded(values.size());
  quantiser.Decode(EncodeSegment(quantiser, values, parameter, step), parameter, decoded);
  return decoded;
}

inline double SquaredNorm(std::span<const float> x) {
  double sum = 0;
  for (const float v : x) sum += double{v} * v;
  return sum;
}

inline double SquaredDistance(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += (double{x[i]} - y[i]) * (double{x[i]} - y[i]);
  return sum;
}

inline void AppendFloat(float x, Bytes& out) {
  for (const auto byte : std::bit_cast<std::array<std::byte, sizeof x>>(x)) out.push_back(byte);
}

}  // namespace legacy::test
