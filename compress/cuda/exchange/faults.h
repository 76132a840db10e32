// Faults are what kernels find wrong in a step: numbers on the device, one for each unit of each
// worker, that are read once, at the step's end.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "compress/cuda/device/device_array.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/kernels/transforms/spectrum.h"

namespace legacy::cuda {

// A FaultKind says what a number of an array means.
enum class FaultKind : uint8_t {
  kNonFinite,       // not 0: the gradient has NaN or infinity
  kFirstNonFinite,  // the first such element; kNoPosition: none
  kLargest,         // bits of the largest |x|, which must not be above what a spectrum is taken of
  kMessage,         // MessageFault bits
  kSegment,         // not 0: values that no encoder writes
};

// Workers are counted by slots: who takes part in the step, ascending.
template <class Device>
class Faults {
 public:
  explicit Faults(int workers) : workers_(workers) {}

  // Forgets all arrays.
  void Reset() {
    arrays_.clear();
    size_ = 0;
  }
  // A new array, for units with these ids; its number.
  int Add(FaultKind kind, std::vector<uint32_t> units) {
    const auto each = static_cast<int64_t>(units.size());
    arrays_.push_back({kind, std::move(units), size_});
    size_ += each * workers_;
    return static_cast<int>(arrays_.size()) - 1;
  }
  void Begin(Device& device) {
    memory_.Reserve(size_);
    memory_.Clear(device);
  }
  // Those of a slot's units; of the next slot they follow.
  uint32_t* At(int array, int slot) const {
    const Array& it = arrays_[array];
    return memory_.data() + it.begin + slot * static_cast<int64_t>(it.units.size());
  }
  // Waits. Throws Error for the first worker and unit with a fault; `workers`: of the slots.
  void Check(Device& device, std::span<const int> workers) const {
    const std::vector<uint32_t> found = memory_.Download(device, 0, size_);
    for (size_t slot = 0; slot < workers.size(); ++slot) {
      for (const Array& array : arrays_) {
        for (size_t u = 0; u < array.units.size(); ++u) {
          const uint32_t number = found[array.begin + slot * array.units.size() + u];
          if (IsFault(array.kind, number)) Throw(array.kind, workers[slot], array.units[u], number);
        }
      }
    }
  }

 private:
  struct Array {
    FaultKind kind;
    std::vector<uint32_t> units;
    int64_t begin;
  };

  static bool IsFault(FaultKind kind, uint32_t number) {
    if (kind == FaultKind::kFirstNonFinite) return number != kNoPosition;
    return kind == FaultKind::kLargest ? number > kLargestValueKey : number != 0;
  }
  [[noreturn]] static void Throw(FaultKind kind, int worker, uint32_t unit, uint32_t number) {
    const std::string whose =
        " of worker " + std::to_string(worker) + ", unit " + std::to_string(unit);
    if (kind == FaultKind::kMessage || kind == FaultKind::kSegment) {
      throw Error("message" + whose + ": " +
                  (kind == FaultKind::kSegment ? "a value is none that is sent"
                                               : "fault " + std::to_string(number)));
    }
    if (kind == FaultKind::kLargest && number < cpu::kInfinityKey) {
      throw Error("gradient" + whose + ", largest magnitude",
                  FormatNumber(std::bit_cast<float>(number)),
                  "at most " + FormatNumber(cpu::SpectrumPlan::kLargestValue) + " with codec fft");
    }
    const bool known = kind == FaultKind::kFirstNonFinite;
    throw Error("gradient" + whose + (known ? ", element " + std::to_string(number) : ""),
                "NaN or infinity", "finite numbers");
  }

  int workers_;
  std::vector<Array> arrays_;
  int64_t size_ = 0;
  DeviceArray<Device, uint32_t> memory_;
};

}  // namespace legacy::cuda
