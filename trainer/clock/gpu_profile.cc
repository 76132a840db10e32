#include "trainer/clock/gpu_profile.h"

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files/json.h"

namespace legacy {
namespace {

using Json = nlohmann::json;

constexpr const char* kInput = "student-t";
constexpr double kRatio = 0.01;
constexpr double kMostElements = 1e15;

bool Counts(const Json& result) {
  return result.contains("profile") && result.contains("seconds") && result.at("input") == kInput &&
         result.at("vectors") == 1 && result.value("ratio", kRatio) == kRatio;
}

// Times has each kernel's seconds by number of elements.
using Times = std::map<std::string, std::map<int64_t, double>>;

Times TimesOf(const Json& document, const std::string& where) {
  Times times;
  for (const Json& result : document.at("results")) {
    if (!Counts(result)) continue;
    const double elements = result.at("profile_elements").get<double>();
    if (!(elements >= 1 && elements <= kMostElements)) {
      throw Error(where + ": profile_elements", Shown(result.at("profile_elements")), "1 to 1e15");
    }
    times[result.at("profile").get<std::string>()][static_cast<int64_t>(elements)] =
        result.at("seconds").get<double>();
  }
  return times;
}

std::string SourceOf(const Json& document, const std::string& kernels, const Profile& base,
                     bool operations) {
  const Json& device = document.at("device");
  const auto text = [](const Json& from, const char* key) {
    return from.at(key).get<std::string>();
  };
  return "measured (" + text(device, "name") + ", driver " + text(device, "driver") + ", CUDA " +
         text(device, "cuda") + "; " + text(document, "command") + "; " + text(document, "date") +
         (operations ? "; operations by LibTorch on that machine, in fp32 without TF32" : "") +
         "; kernels measured: " + kernels + "; all else as " + base.name + ": " + base.source + ")";
}

}  // namespace

Profile GpuProfile(const std::string& json, const std::string& where, const Profile& base,
                   bool operations, const std::string& name) {
  try {
    const Json document = ParseJson(json, where);
    if (document.at("program") != "legacy-bench-gpu") {
      throw Error(where + ": program", document.at("program").dump(), "legacy-bench-gpu");
    }
    Profile profile = base;
    profile.name = name;
    std::string measured;
    for (const auto& [kernel, seconds] : TimesOf(document, where)) {
      if (seconds.size() < 2) continue;
      if (!base.kernels.contains(kernel)) {
        throw Error(where + ": profile", kernel, "the kernels of profile '" + base.name + "'");
      }
      const auto& [small, large] = std::pair(*seconds.begin(), *seconds.rbegin());
      profile.kernels[kernel] = LineThrough(small.first, small.second, large.first, large.second);
      measured += (measured.empty() ? "" : ", ") + kernel;
    }
    if (measured.empty()) {
      throw Error(where + ": no kernel of a profile was measured on " + kInput +
                  " values at two sizes");
    }
    profile.source = SourceOf(document, measured, base, operations);
    return profile;
  } catch (const Json::exception& error) {
    throw Error(where + ": not what legacy-bench-gpu writes: " + error.what());
  }
}

}  // namespace legacy
