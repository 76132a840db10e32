#include "trainer/processor.h"

#include <cstdlib>
#include <cstring>
#include <utility>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/error.h"

namespace legacy {
namespace {

using Variable = std::pair<const char*, const char*>;

// OpenBLAS would start a thread for each processor, which nothing uses
// (trainer/torch/one_thread.h): they take a fifth of the time of loading LibTorch.
constexpr Variable kThreads = {"OPENBLAS_NUM_THREADS", "1"};

// Variables that choose kernels with AVX2 and FMA. Only with one setting does MKL give equal bits
// on processors of all makers.
constexpr Variable kPortable[] = {{"ATEN_CPU_CAPABILITY", "avx2"},
                                  {"OPENBLAS_CORETYPE", "Haswell"},
                                  {"ONEDNN_MAX_CPU_ISA", "AVX2"},
                                  {"DNNL_MAX_CPU_ISA", "AVX2"},
                                  {"MKL_CBWR", "COMPATIBLE"}};

}  // namespace

void CheckProcessor(Processor processor) {
  if (processor == Processor::kNative) return;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return;
#endif
  throw Error("training.processor (--processor)", ProcessorText(processor),
              std::string(ProcessorText(Processor::kNative)) +
                  " on this processor, which lacks AVX2 or FMA; a training's results then differ "
                  "from those of other processors");
}

std::string ProcessorName() {
#if defined(__x86_64__)
  unsigned words[12] = {};
  for (unsigned part = 0; part < 3; ++part) {
    unsigned* const w = words + 4 * part;
    if (__get_cpuid(0x80000002 + part, &w[0], &w[1], &w[2], &w[3]) == 0) return "unknown";
  }
  char name[sizeof(words) + 1] = {};
  std::memcpy(name, words, sizeof(words));
  const std::string text = name;
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return "unknown";
  return text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
#else
  return "unknown";
#endif
}

KernelEnvironment::KernelEnvironment(Processor processor) {
  Set(kThreads.first, kThreads.second);
  if (processor == Processor::kNative) return;
  for (const auto& [name, value] : kPortable) Set(name, value);
}

void KernelEnvironment::Set(const char* name, const char* value) {
  const char* const before = std::getenv(name);
  before_.emplace_back(name, before == nullptr ? std::nullopt : std::optional<std::string>(before));
  setenv(name, value, /*overwrite=*/1);
}

KernelEnvironment::~KernelEnvironment() {
  for (const auto& [name, value] : before_) {
    if (value) {
      setenv(name.c_str(), value->c_str(), /*overwrite=*/1);
    } else {
      unsetenv(name.c_str());
    }
  }
}

}  // namespace legacy
