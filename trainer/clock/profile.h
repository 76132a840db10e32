// Profiles: what a device's operations and a codec's kernels cost, as data files
// (trainer/clock/profiles/*.json).
//
//   {"name": "a100-datasheet",
//    "source": "datasheet (...)",                       or "measured (machine; command; date)"
//    "launches": "fused",                               or "per-layer"; may be left out: fused
//    "launch_seconds": 5e-6,                            floor of every operation of the model
//    "operations": {"conv": {"flops_per_second": 9e13, "bytes_per_second": 1.2e12}, ...},
//    "derived_kernels": {"launch_seconds": 5e-6, "bytes_per_second": 1.6e12},    may be left out
//    "kernels": {"topk.encode": {"launch_seconds": 5e-6, "seconds_per_element": 1e-11}, ...}}
//
// Derived kernels are those of compress/kernel_costs.h that are not in "kernels": launches of a set
// * launch_seconds, bytes of an element / bytes_per_second.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compress/codec.h"

namespace legacy {

// Rates of one kind of operation (OperationCost::kind).
struct OperationRate {
  double flops_per_second = 0;
  double bytes_per_second = 0;
};

// seconds = sets of launches * launch_seconds + elements * seconds_per_element
struct KernelRate {
  double launch_seconds = 0;
  double seconds_per_element = 0;
};

// What shares a set of launches.
enum class Launches : uint8_t {
  kFused,     // all units of a bucket, and all messages of a collective call: as in compress/cuda
  kPerLayer,  // nothing: toolkits that loop over tensors and messages
};
inline constexpr std::array<const char*, 2> kLaunchesTexts = {"fused", "per-layer"};

// Of one of the texts; throws Error naming `where` for any other.
Launches ParseLaunches(const std::string& text, const std::string& where);

// Three digits: more than a measurement has only hide what changed.
double RoundedFigure(double value);
// The rate whose line goes through the times of two amounts of work, small < large.
KernelRate LineThrough(int64_t small, double small_seconds, int64_t large, double large_seconds);

struct Profile {
  std::string name;
  std::string source;
  double launch_seconds = 0;
  Launches launches = Launches::kFused;
  std::map<std::string, OperationRate> operations;
  std::map<std::string, KernelRate> kernels;

  // max(launch floor, flops / rate, bytes / bandwidth). Throws Error naming the profile where
  // `kind` is not priced.
  double OperationSeconds(const std::string& kind, double flops, double bytes) const;
  // 0 for free work. Throws Error naming the profile where the kernel is not priced.
  double WorkSeconds(const Work& work) const;
};

// Kernel of the optimizer's update in Profile::kernels; elements are the model's.
inline constexpr const char* kOptimizerKernel = "optimizer.sgd";

// A data-centre GPU, so that small models are bound by the network, as big ones are.
inline constexpr const char* kDefaultProfile = "a100-datasheet";

// The profile of a device that computes, and one whose codecs run, so many times faster (> 0).
Profile Faster(Profile profile, double device_speed, double codec_speed);

// `text`: a name, looked up as <name>.json in $LEGACY_PROFILES, the source tree and the
// installation; or the path of a file (it contains '/' or ends in ".json"). Throws Error with the
// file and the key on a missing or unknown key or a value out of range, with the known names where
// there is no such profile.
Profile LoadProfile(const std::string& text);

// Parses the text of a profile; `where` (file name) is for messages.
Profile ParseProfile(const std::string& json, const std::string& where);
std::string FormatProfile(const Profile& profile);

// Names that LoadProfile finds, ascending.
std::vector<std::string> ProfileNames();

}  // namespace legacy
