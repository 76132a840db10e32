// The loss of a step, of which gradients are taken.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/parse.h"

namespace legacy {

// A LossReduction is the mean of the losses of a step's targets, or their sum.
enum class LossReduction : uint8_t { kMean, kSum };

inline constexpr std::array<const char*, 2> kLossTexts = {"mean", "sum"};

// Returns the reduction of that name. Throws Error naming `key` on any other.
inline LossReduction ParseLossReduction(const std::string& text, const std::string& key) {
  return ParseChoice<LossReduction>(text, key, kLossTexts);
}

}  // namespace legacy
