// What a framework does with a model, beside its operations: number formats, the kernels of its
// time, and what it computes twice to save memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/error.h"
#include "base/parse.h"
#include "trainer/clock/precision.h"

namespace legacy {

// Kernels are those that frameworks of a time had. They decide which bytes cross memory, and how
// often.
enum class KernelEra : uint8_t {
  k2020,      // attention as products; mask, softmax and dropout each pass over the scores
  k2022,      // mask and softmax in one pass
  k2023,      // fused attention, whose scores never leave the chip (Dao et al., FlashAttention)
  k2024,      // the same, faster (FlashAttention-2)
  k2025,      // attention made for Hopper (cuDNN), and casts to FP8 as in Transformer Engine 2
  kCompiled,  // those of 2024, and chains of element-wise operations in one pass (torch.compile)
};

inline constexpr std::array<const char*, 6> kKernelEraTexts = {"2020", "2022", "2023",
                                                               "2024", "2025", "compiled"};

// Returns the era of that name. Throws Error naming `key` on any other.
inline KernelEra ParseKernelEra(const std::string& text, const std::string& key) {
  return ParseChoice<KernelEra>(text, key, kKernelEraTexts);
}

// A Recompute says which operations of the forward pass run again in the backward pass, because
// their results were not kept (activation checkpointing; Korthikanti et al., MLSys 2023).
enum class Recompute : uint8_t {
  kNone,
  kSelective,   // attention alone
  kFull,        // all operations of repeated blocks
  kOperations,  // those of blocks but attention and every other product (TorchTitan's default)
};

// A RecomputeRule is the value of the option.
struct RecomputeRule {
  RecomputeRule(Recompute operations = Recompute::kNone, int of_blocks = 1)
      : what(operations), every(of_blocks) {}
  Recompute what;
  int every;  // blocks of which the first is computed again; 1: all
};

inline constexpr std::array<const char*, 5> kRecomputeTexts = {"none", "selective", "full",
                                                               "operations", "every:K"};

// Returns the rule of that name; every:K is "full" in each K-th block. Throws Error naming `key` on
// any other.
inline RecomputeRule ParseRecompute(const std::string& text, const std::string& key) {
  constexpr int64_t kMostBlocks = 1 << 20;
  const std::string every = "every:";
  if (text.starts_with(every) && text != kRecomputeTexts.back()) {
    const int64_t blocks = ParseInteger(text.substr(every.size()), key, 1, kMostBlocks);
    return {Recompute::kFull, static_cast<int>(blocks)};
  }
  if (text == kRecomputeTexts.back()) throw Error(key, text, "a number, as in every:2");
  return ParseChoice<Recompute>(text, key, kRecomputeTexts);
}

// A Layout is the order of an image's numbers in memory. Matrix units read channels last, so that
// convolutions over channels first copy what they read and write.
enum class Layout : uint8_t { kChannelsLast, kChannelsFirst };

inline constexpr std::array<const char*, 2> kLayoutTexts = {"channels-last", "channels-first"};

// Returns the layout of that name. Throws Error naming `key` on any other.
inline Layout ParseLayout(const std::string& text, const std::string& key) {
  return ParseChoice<Layout>(text, key, kLayoutTexts);
}

// ComputeOptions are the choices of a training that its device times depend on.
struct ComputeOptions {
  Precision precision = Precision::kFp32;
  KernelEra kernels = KernelEra::k2024;
  RecomputeRule recompute = {};
  Layout layout = Layout::kChannelsLast;
};

}  // namespace legacy
