#include "trainer/rounding.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "compress/cpu/cast.h"
#include "compress/cpu/vector.h"

namespace legacy {
namespace {

// Halves are 32 apart below 2^16, so values from here on round to infinity.
constexpr float kRoundsToInfinity = 65520;

}  // namespace

void RoundTo(Precision precision, std::span<float> values) {
  if (!HasSixteenBits(precision)) return;
  constexpr size_t kPart = 4096;  // stays in the cache
  std::array<std::byte, 2 * kPart> buffer;
  while (!values.empty()) {
    const auto part = values.first(std::min(kPart, values.size()));
    const auto bytes = std::span(buffer).first(2 * part.size());
    if (AllButProducts(precision) == Precision::kBf16) {
      cpu::EncodeBfloat16(part, bytes);
      cpu::DecodeBfloat16(bytes, part);
    } else {
      cpu::EncodeHalf(part, bytes);
      cpu::DecodeHalf(bytes, part);
    }
    values = values.subspan(part.size());
  }
}

bool RoundGradient(Precision precision, std::span<float> values) {
  if (!HasSixteenBits(precision)) return true;
  if (cpu::FirstNonFinite(values)) return false;
  if (precision == Precision::kFp16 && cpu::AbsMax(values) >= kRoundsToInfinity) return false;
  RoundTo(precision, values);
  return true;
}

}  // namespace legacy
