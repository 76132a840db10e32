#include "trainer/torch/host_kernels.h"

#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <optional>
#include <string>

#include "base/error.h"
#include "trainer/torch/one_thread.h"
#include "trainer/torch/portable_convolution.h"

namespace legacy {
namespace {

// oneDNN's names of instructions (dnnl_cpu_isa_t), of those up to AVX2.
constexpr int kOneDnnAvx2 = 0x7;

// Looks a function up among the libraries of this process; null if none has it.
template <class Function>
Function Look(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
}

std::string CpuCapability() {
  const std::string configuration = at::show_config();
  const std::string label = "CPU capability usage: ";
  const size_t at = configuration.find(label);
  if (at == std::string::npos) return "unknown";
  const size_t begin = at + label.size();
  return configuration.substr(begin, configuration.find('\n', begin) - begin);
}

// Returns the instructions that oneDNN may use; nothing if it does not say.
std::optional<int> OneDnnInstructions() {
  const auto effective = Look<int (*)()>("dnnl_get_effective_cpu_isa");
  return effective == nullptr ? std::nullopt : std::optional<int>(effective());
}

std::string OneDnnText() {
  const std::optional<int> instructions = OneDnnInstructions();
  if (!instructions) return "unknown";
  if (*instructions == kOneDnnAvx2) return "avx2";
  char text[32];
  std::snprintf(text, sizeof(text), "dnnl_cpu_isa 0x%x", static_cast<unsigned>(*instructions));
  return text;
}

// Returns the processor for which OpenBLAS has chosen kernels; empty without OpenBLAS.
std::string OpenBlasCore() {
  const auto core = Look<const char* (*)()>("openblas_get_corename");
  return core == nullptr ? "" : core();
}

// OpenBLAS chooses its kernels when it is loaded. If it was loaded earlier, perhaps for NumPy, this
// makes it choose again.
void ChooseOpenBlasAgain() {
  const auto quit = Look<void (*)()>("gotoblas_dynamic_quit");
  const auto init = Look<void (*)()>("gotoblas_dynamic_init");
  if (quit == nullptr || init == nullptr) return;
  quit();
  init();
}

// A small convolution makes oneDNN choose its kernels, which it does only once. One thread computes
// it: a pool of threads would not survive a fork.
void ComputeOnce() {
  UseOneThread();
  const torch::NoGradGuard no_gradients;
  torch::conv2d(torch::ones({2, 8, 4, 4}), torch::ones({8, 8, 3, 3}));
}

[[noreturn]] void Refuse(const std::string& what, const std::string& variable) {
  throw Error("training.processor (--processor)", "portable",
              "native, as " + what + "; or the environment " + variable +
                  " from the start of this program");
}

}  // namespace

void DescribeHostKernels(nlohmann::json& versions) {
  const auto blas = Look<const char* (*)()>("openblas_get_config");
  versions["cpu_capability"] = CpuCapability();
  versions["blas"] = blas == nullptr ? "unknown" : blas();
  versions["onednn"] = OneDnnText();
  versions["processor"] = ProcessorName();
}

void SettleHostKernels(Processor processor) {
  const std::string capability = CpuCapability();  // LibTorch chooses its kernels here
  ComputeOnce();
  if (processor == Processor::kNative) return;
  UsePortableConvolutions();
  if (capability != "AVX2") {
    Refuse("LibTorch computes with " + capability, "ATEN_CPU_CAPABILITY=avx2");
  }
  if (OneDnnInstructions().value_or(kOneDnnAvx2) != kOneDnnAvx2) {
    Refuse("oneDNN has chosen " + OneDnnText() + " before", "ONEDNN_MAX_CPU_ISA=AVX2");
  }
  const auto other = [] { return OpenBlasCore() != "" && OpenBlasCore() != "Haswell"; };
  if (other()) ChooseOpenBlasAgain();
  if (other()) {
    Refuse("OpenBLAS has chosen kernels for " + OpenBlasCore() + " before",
           "OPENBLAS_CORETYPE=Haswell");
  }
}

}  // namespace legacy
