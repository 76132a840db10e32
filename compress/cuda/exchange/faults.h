// Faults are problems that kernels detect in a step. The device stores a number for each unit of
// each worker, and the host reads all numbers once, at the end of the step.
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

// The meaning of an array's numbers.
enum class FaultKind : uint8_t {
  kNonFinite,       // not 0 if the gradient has NaN or infinity
  kFirstNonFinite,  // position of the first such element, or kNoPosition
  kLargest,         // bits of the largest |x|, which must not exceed the limit of transforms
  kMessage,         // MessageFault bits
  kSegment,         // not 0 if there are values that no encoder writes
  kSum,             // not 0 if a sum that is encoded again has NaN or infinity
};

// Workers are counted by slots, which number the step's active workers in ascending order.
template <class Device>
class Faults {
 public:
  explicit Faults(int workers) : workers_(workers) {}

  // Forgets all arrays.
  void Reset() {
    arrays_.clear();
    size_ = 0;
  }
  // Adds an array for units with these ids; returns its number.
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
  // Returns the numbers of a slot's units; those of the next slot follow.
  uint32_t* At(int array, int slot) const {
    const Array& it = arrays_[array];
    return memory_.data() + it.begin + slot * static_cast<int64_t>(it.units.size());
  }
  // Waits, and throws Error for the first worker and unit with a fault. `workers` lists the workers
  // of the slots.
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
                  (kind == FaultKind::kSegment ? "a value that no encoder writes"
                                               : "fault " + std::to_string(number)));
    }
    if (kind == FaultKind::kSum) {
      throw Error("sum of unit " + std::to_string(unit), "NaN or infinity", "finite numbers");
    }
    if (kind == FaultKind::kLargest && number < cpu::kInfinityKey) {
      throw Error("gradient" + whose + ", largest magnitude",
                  FormatNumber(std::bit_cast<float>(number)),
                  "at most " + FormatNumber(cpu::SpectrumPlan::kLargestValue) +
                      " with codecs that transform it");
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
