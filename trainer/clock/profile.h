// A profile says what a device's operations and a codec's kernels cost, as a data file
// (trainer/clock/profiles/*.json).
//
//   {"name": "a100-datasheet",
//    "source": "datasheet (...)",   or "measured (machine; command; date)", "published (...)",
//                                              "assumption (...)"
//    "launches": "fused",                               or "per-layer"; may be left out: fused
//    "memory_bytes": 8e10,                              of the device; may be left out
//    "launch_seconds": 5e-6,                            floor of every operation of the model
//    "operations": {"conv": {"flops_per_second": 9e13, "bytes_per_second": 1.2e12,
//                            "half_flops_per_second": 1.8e14}, ...},    bf16, fp16; may be left out
//    "device": {"processors": 108, "product_flops_per_second": {"bf16": 3.12e14, ...}, ...},
//                                                       in the place of "operations" (device.h)
//    "derived_kernels": {"launch_seconds": 5e-6, "bytes_per_second": 1.6e12},    may be left out
//    "kernels": {"topk.encode": {"launch_seconds": 5e-6, "seconds_per_element": 1e-11}, ...}}
//
// Derived kernels are those of compress/kernel_costs.h that are not in "kernels": launches of a set
// * launch_seconds, bytes of an element / bytes_per_second.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compress/codec.h"
#include "trainer/clock/device.h"

namespace legacy {

// An OperationRate has the speeds of one kind of operation (OperationCost::kind).
struct OperationRate {
  double flops_per_second = 0;
  double bytes_per_second = 0;
  double half_flops_per_second = 0;  // rate in bf16 and fp16; 0: not known
};

// A KernelRate prices a kernel: launch_seconds * sets of launches + seconds_per_element * elements.
struct KernelRate {
  double launch_seconds = 0;
  double seconds_per_element = 0;
};

// Launches says what shares a set of launches.
enum class Launches : uint8_t {
  // All units of a bucket, and all messages of a collective call, as in compress/cuda.
  kFused,
  // Nothing is shared, as in toolkits that loop over tensors and messages.
  kPerLayer,
};
inline constexpr std::array<const char*, 2> kLaunchesTexts = {"fused", "per-layer"};

// Returns the launches of that name. Throws Error naming `where` for any other.
Launches ParseLaunches(const std::string& text, const std::string& where);

// Returns `value` rounded to three digits. Further digits of a measurement are noise that hides
// changes.
double RoundedFigure(double value);
// Returns the rate of the line through the times of two amounts of work, small < large.
KernelRate LineThrough(int64_t small, double small_seconds, int64_t large, double large_seconds);

// A Profile is the data file in memory.
struct Profile {
  std::string name;
  std::string source;
  double launch_seconds = 0;
  double memory_bytes = 0;  // 0: not known
  Launches launches = Launches::kFused;
  std::map<std::string, OperationRate> operations;  // empty where there is a device
  std::optional<Device> device = {};
  std::map<std::string, KernelRate> kernels;

  // Returns max(launch floor, flops / rate, bytes / bandwidth) in seconds; `bytes` are those of
  // fp32. Throws Error naming the profile where `kind` is not priced, or not in that precision.
  double OperationSeconds(const std::string& kind, double flops, double bytes,
                          Precision precision = Precision::kFp32) const;
  // Throws Error naming the profile unless it prices products of that precision.
  void CheckPrecision(Precision precision) const;
  // Returns the seconds of kernels, 0 for free work. Throws Error naming the profile where the
  // kernel is not priced.
  double WorkSeconds(const Work& work) const;
  // Returns the same where the kernel is part of computing, so that it follows the device's speed.
  double ComputeWorkSeconds(const Work& work) const;

  // Speed of the device over that of its codecs, as Faster() chose them.
  double device_over_codecs = 1;
};

// The kernel of the optimizer's update in Profile::kernels; its elements are the model's.
inline constexpr const char* kOptimizerKernel = "optimizer.sgd";
// The names of all optimizers' kernels begin so.
inline constexpr const char* kOptimizerKernels = "optimizer.";

// The default is a data-centre GPU, so that small models are bound by the network, as big ones are.
inline constexpr const char* kDefaultProfile = "a100-datasheet";

// Returns the profile of a device that computes `device_speed` times as fast, with codecs that run
// `codec_speed` times as fast (both > 0).
Profile Faster(Profile profile, double device_speed, double codec_speed);

// Loads a profile. `text` is a name, looked up as <name>.json in $LEGACY_PROFILES, the source tree
// and the installation, or the path of a file (it contains '/' or ends in ".json"). Throws Error
// with the file and the key on a missing or unknown key or a value out of range, and with the known
// names where there is no such profile.
Profile LoadProfile(const std::string& text);

// Parses the text of a profile. `where` is the file's name, for messages.
Profile ParseProfile(const std::string& json, const std::string& where);
// Writes a profile as ParseProfile reads it.
std::string FormatProfile(const Profile& profile);

// Returns the names that LoadProfile finds, ascending.
std::vector<std::string> ProfileNames();

}  // namespace legacy
