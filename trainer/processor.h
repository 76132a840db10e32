// What a training uses of the processor. LibTorch, its BLAS and oneDNN choose kernels by the
// instructions and caches that they find, and each kernel sums in an order of its own. This needs
// no LibTorch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/parse.h"

namespace legacy {

// kPortable: kernels with AVX2 and FMA alone, which give the same bits on every processor that has
// both. The C library's functions of real numbers choose by these two as well. kNative: what each
// library finds best.
enum class Processor : uint8_t { kPortable, kNative };
inline constexpr std::array<const char*, 2> kProcessorTexts = {"portable", "native"};

// Returns the setting of that name. Throws Error naming `key` on any other.
inline Processor ParseProcessor(const std::string& text, const std::string& key) {
  return ParseChoice<Processor>(text, key, kProcessorTexts);
}

inline const char* ProcessorText(Processor processor) {
  return kProcessorTexts[static_cast<size_t>(processor)];
}

// Throws Error where this processor cannot run kernels of that setting.
void CheckProcessor(Processor processor);

// Returns the processor's name, as its maker gives it: "AMD EPYC 7763 64-Core Processor".
std::string ProcessorName();

// A KernelEnvironment is the environment in which the libraries choose their kernels, and start no
// threads. It lasts from before they are loaded until they have chosen. What the user has set comes
// back with its end, so that child processes inherit that.
class KernelEnvironment {
 public:
  explicit KernelEnvironment(Processor processor);
  KernelEnvironment(const KernelEnvironment&) = delete;
  KernelEnvironment& operator=(const KernelEnvironment&) = delete;
  ~KernelEnvironment();

 private:
  void Set(const char* name, const char* value);

  std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

}  // namespace legacy
