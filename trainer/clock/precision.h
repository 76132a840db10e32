// The precision of a training says in which number format its matrix products, activations and
// gradients are. The clock prices products and memory traffic by it, and trainings round to it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/parse.h"

namespace legacy {

// A Precision is what frameworks call a mixed-precision recipe. Master weights and the optimizer's
// state are fp32 in all of them.
enum class Precision : uint8_t {
  kFp32,  // everything in fp32
  kTf32,  // products with inputs rounded to TF32 (PyTorch's allow_tf32), all else in fp32
  kBf16,  // weights, activations and gradients in bfloat16
  kFp16,  // the same in IEEE half precision, with a scaled loss
  // As bf16, but for the linear layers of repeated blocks, whose products have inputs in FP8. It is
  // priced, and not trained.
  kBf16Fp8,
};

inline constexpr std::array<const char*, 5> kPrecisionTexts = {"fp32", "tf32", "bf16", "fp16",
                                                               "bf16-fp8"};

// Returns the precision of that name. Throws Error naming `key` on any other.
inline Precision ParsePrecision(const std::string& text, const std::string& key) {
  return ParseChoice<Precision>(text, key, kPrecisionTexts);
}

// Returns the precision of all that is not a product in FP8.
inline Precision AllButProducts(Precision precision) {
  return precision == Precision::kBf16Fp8 ? Precision::kBf16 : precision;
}

// Returns whether activations, weights in forward and backward pass, and gradients have 16 bits.
inline bool HasSixteenBits(Precision precision) {
  return AllButProducts(precision) == Precision::kBf16 || precision == Precision::kFp16;
}

// Returns the bytes of one of them.
inline double BytesOf(Precision precision) { return HasSixteenBits(precision) ? 2 : 4; }

}  // namespace legacy
