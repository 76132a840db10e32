#include "trainer/clock/profile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/files/json.h"
#include "base/files/shipped.h"
#include "base/files/whole_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "compress/kernel_costs.h"

namespace legacy {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr int64_t kMostProcessors = 100'000;

std::string Join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A Section is one JSON object of a profile, with the path to it for messages.
class Section {
 public:
  Section(const Json& json, std::string where) : json_(json), where_(std::move(where)) {
    if (!json.is_object()) throw Error(where_, json.dump(), "an object");
  }

  void AllowOnly(const std::vector<const char*>& keys) const {
    for (const auto& [key, value] : json_.items()) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        throw Error(where_ + ": unknown key", key, Join({keys.begin(), keys.end()}));
      }
    }
  }

  bool Has(const char* key) const { return json_.contains(key); }

  std::string Text(const char* key) const {
    const Json& value = At(key);
    if (!value.is_string() || value.get<std::string>().empty()) {
      throw Error(where_ + ": " + key, value.dump(), "a text that is not empty");
    }
    return value.get<std::string>();
  }

  double Number(const char* key, bool zero_allowed) const {
    const Json& value = At(key);
    const double number = value.is_number() ? value.get<double>() : -1;
    if (!std::isfinite(number) || number < 0 || (number == 0 && !zero_allowed)) {
      throw Error(where_ + ": " + key, value.dump(), zero_allowed ? "0 or more" : "above 0");
    }
    return number;
  }

  // Returns a number above 0 and up to 1.
  double Part(const char* key) const {
    const double number = Number(key, false);
    if (number > 1) throw Error(where_ + ": " + key, At(key).dump(), "above 0, up to 1");
    return number;
  }

  int64_t Whole(const char* key, int64_t least, int64_t most) const {
    return WholeNumber(At(key), where_ + ": " + key, least, most);
  }

  Section Inner(const char* key) const { return {At(key), where_ + ": " + key}; }

  // Returns (name, section) of each member of the object at `key`.
  std::vector<std::pair<std::string, Section>> Sections(const char* key) const {
    const Section inner(At(key), where_ + ": " + key);
    std::vector<std::pair<std::string, Section>> sections;
    for (const auto& [name, value] : inner.json_.items()) {
      sections.emplace_back(name, Section(value, inner.where_ + "." + name));
    }
    return sections;
  }

 private:
  const Json& At(const char* key) const {
    const auto found = json_.find(key);
    if (found == json_.end()) throw Error(where_ + ": missing key '" + key + "'");
    return *found;
  }

  const Json& json_;
  std::string where_;
};

std::map<std::string, KernelRate> Derived(const Section& section) {
  section.AllowOnly({"launch_seconds", "bytes_per_second"});
  const double launch_seconds = section.Number("launch_seconds", true);
  const double bytes_per_second = section.Number("bytes_per_second", false);
  std::map<std::string, KernelRate> kernels;
  for (const KernelCost& cost : KernelCosts()) {
    kernels[std::string(cost.name)] = {cost.launches * launch_seconds,
                                       cost.bytes / bytes_per_second};
  }
  return kernels;
}

std::vector<fs::path> Folders() {
  return ShippedFolders("LEGACY_PROFILES", "profiles", LEGACY_PROFILES_SOURCE_DIR);
}

std::map<std::string, OperationRate> ReadOperations(const Section& root) {
  std::map<std::string, OperationRate> operations;
  for (const auto& [kind, section] : root.Sections("operations")) {
    section.AllowOnly({"flops_per_second", "bytes_per_second", "half_flops_per_second"});
    operations[kind] = {
        section.Number("flops_per_second", false), section.Number("bytes_per_second", false),
        section.Has("half_flops_per_second") ? section.Number("half_flops_per_second", false) : 0};
  }
  return operations;
}

Device ReadDevice(const Section& section) {
  section.AllowOnly({"processors", "product_flops_per_second", "product_efficiency",
                     "fp8_efficiency", "scalar_efficiency", "attention_efficiency",
                     "attention_efficiency_2024", "attention_efficiency_2025", "sustained",
                     "bytes_per_second", "memory_efficiency", "host_seconds"});
  Device device;
  device.processors = static_cast<int>(section.Whole("processors", 1, kMostProcessors));
  const Section rates = section.Inner("product_flops_per_second");
  rates.AllowOnly({kPrecisionTexts.begin(), kPrecisionTexts.end()});
  for (size_t i = 0; i < kPrecisionTexts.size(); ++i) {
    if (!rates.Has(kPrecisionTexts[i])) continue;
    device.product_flops_per_second[static_cast<Precision>(i)] =
        rates.Number(kPrecisionTexts[i], false);
  }
  device.product_efficiency = section.Part("product_efficiency");
  if (device.product_flops_per_second.contains(Precision::kBf16Fp8)) {
    device.fp8_efficiency = section.Part("fp8_efficiency");
  }
  device.scalar_efficiency = section.Part("scalar_efficiency");
  device.attention_efficiency = section.Part("attention_efficiency");
  // Where kernels got no faster, the key is left out.
  const auto later = [&](const char* key, double before) {
    return section.Has(key) ? section.Part(key) : before;
  };
  device.attention_efficiency_2024 =
      later("attention_efficiency_2024", device.attention_efficiency);
  device.attention_efficiency_2025 =
      later("attention_efficiency_2025", device.attention_efficiency_2024);
  device.sustained = section.Part("sustained");
  device.bytes_per_second = section.Number("bytes_per_second", false);
  device.memory_efficiency = section.Part("memory_efficiency");
  device.host_seconds = section.Number("host_seconds", true);
  return device;
}

fs::path FindProfile(const std::string& text) {
  if (text.find('/') != std::string::npos || text.ends_with(".json")) return text;
  for (const fs::path& folder : Folders()) {
    const fs::path path = folder / (text + ".json");
    if (fs::is_regular_file(path)) return path;
  }
  throw NotAmong("profile", text, ProfileNames(), "", "the path of a .json file");
}

template <typename Map>
std::vector<std::string> Keys(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

bool Prices(const Device& device, Precision precision) {
  return device.product_flops_per_second.contains(precision) &&
         device.product_flops_per_second.contains(AllButProducts(precision));
}

Json DeviceJson(const Device& device) {
  Json rates = Json::object();
  for (const auto& [precision, rate] : device.product_flops_per_second) {
    rates[kPrecisionTexts[static_cast<size_t>(precision)]] = rate;
  }
  Json json = {{"processors", device.processors},
               {"product_flops_per_second", rates},
               {"product_efficiency", device.product_efficiency},
               {"scalar_efficiency", device.scalar_efficiency},
               {"attention_efficiency", device.attention_efficiency},
               {"attention_efficiency_2024", device.attention_efficiency_2024},
               {"attention_efficiency_2025", device.attention_efficiency_2025},
               {"sustained", device.sustained},
               {"bytes_per_second", device.bytes_per_second},
               {"memory_efficiency", device.memory_efficiency},
               {"host_seconds", device.host_seconds}};
  if (device.fp8_efficiency > 0) json["fp8_efficiency"] = device.fp8_efficiency;
  return json;
}

void CheckSource(const std::string& source, const std::string& where) {
  for (const char* kind : {"measured (", "datasheet (", "published (", "assumption ("}) {
    if (source.starts_with(kind)) return;
  }
  throw Error(where, source,
              "measured (machine; command; date), datasheet (documents and assumptions), "
              "published (paper, its figures and assumptions), assumption (what is assumed)");
}

}  // namespace

Launches ParseLaunches(const std::string& text, const std::string& where) {
  return ParseChoice<Launches>(text, where, kLaunchesTexts);
}

double RoundedFigure(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return std::strtod(text, nullptr);
}

KernelRate LineThrough(int64_t small, double small_seconds, int64_t large, double large_seconds) {
  const double slope =
      std::max(0.0, large_seconds - small_seconds) / static_cast<double>(large - small);
  const double launch = std::max(0.0, small_seconds - slope * static_cast<double>(small));
  return {RoundedFigure(launch), RoundedFigure(slope)};
}

double Profile::OperationSeconds(const std::string& kind, double flops, double bytes,
                                 Precision precision) const {
  // Attention is two products whose scores stay on the chip, and a loss moves bytes.
  const auto rate = operations.find(kind == "attention" ? "linear"
                                    : kind == "loss"    ? "elementwise"
                                                        : kind);
  if (rate == operations.end()) {
    throw Error("profile '" + name + "': operation", kind, Join(Keys(operations)));
  }
  const bool half = HasSixteenBits(precision);
  return std::max(
      {launch_seconds,
       flops / (half ? rate->second.half_flops_per_second : rate->second.flops_per_second),
       (half ? bytes / 2 : bytes) / rate->second.bytes_per_second});
}

void Profile::CheckPrecision(Precision precision) const {
  const bool has_half = std::ranges::all_of(
      operations, [](const auto& entry) { return entry.second.half_flops_per_second > 0; });
  std::vector<std::string> known;
  for (size_t i = 0; i < kPrecisionTexts.size(); ++i) {
    const auto other = static_cast<Precision>(i);
    // Rates by kind of operation know nothing of FP8.
    const bool priced = device
                            ? Prices(*device, other)
                            : !HasSixteenBits(other) || (has_half && other != Precision::kBf16Fp8);
    if (priced && other == precision) return;
    if (priced) known.emplace_back(kPrecisionTexts[i]);
  }
  throw Error("profile '" + name + "': precision", kPrecisionTexts[static_cast<size_t>(precision)],
              Join(known));
}

double Profile::WorkSeconds(const Work& work) const {
  if (work.kernel.empty()) return 0;
  const auto rate = kernels.find(work.kernel);
  if (rate == kernels.end()) {
    throw Error("profile '" + name + "': kernel", work.kernel, Join(Keys(kernels)));
  }
  const int64_t sets = launches == Launches::kFused ? work.sets : work.launches;
  return static_cast<double>(sets) * rate->second.launch_seconds +
         static_cast<double>(work.elements) * rate->second.seconds_per_element;
}

double Profile::ComputeWorkSeconds(const Work& work) const {
  const double seconds = WorkSeconds(work);
  return work.kernel.starts_with(kOptimizerKernels) ? seconds : seconds / device_over_codecs;
}

Profile Faster(Profile profile, double device_speed, double codec_speed) {
  profile.launch_seconds /= device_speed;
  for (auto& [kind, rate] : profile.operations) {
    rate.flops_per_second *= device_speed;
    rate.bytes_per_second *= device_speed;
    rate.half_flops_per_second *= device_speed;
  }
  if (profile.device) {
    for (auto& [precision, rate] : profile.device->product_flops_per_second) rate *= device_speed;
    profile.device->bytes_per_second *= device_speed;
    profile.device->host_seconds /= device_speed;
  }
  profile.device_over_codecs *= device_speed / codec_speed;
  for (auto& [kernel, rate] : profile.kernels) {
    const double speed = kernel.starts_with(kOptimizerKernels) ? device_speed : codec_speed;
    rate.launch_seconds /= speed;
    rate.seconds_per_element /= speed;
  }
  return profile;
}

Profile ParseProfile(const std::string& json, const std::string& where) {
  const Json document = ParseOrderedJson(json, where);
  const Section root(document, where);
  root.AllowOnly({"name", "source", "launches", "memory_bytes", "launch_seconds", "operations",
                  "device", "derived_kernels", "kernels"});
  Profile profile;
  profile.name = root.Text("name");
  profile.source = root.Text("source");
  CheckSource(profile.source, where + ": source");
  if (root.Has("launches")) {
    profile.launches = ParseLaunches(root.Text("launches"), where + ": launches");
  }
  if (root.Has("memory_bytes")) profile.memory_bytes = root.Number("memory_bytes", false);
  profile.launch_seconds = root.Number("launch_seconds", true);
  if (root.Has("device") && root.Has("operations")) {
    throw Error::Refusal(where + ": has both 'device' and 'operations'; allowed: one of them");
  }
  if (root.Has("device")) {
    profile.device = ReadDevice(root.Inner("device"));
  } else {
    profile.operations = ReadOperations(root);
  }
  if (root.Has("derived_kernels")) profile.kernels = Derived(root.Inner("derived_kernels"));
  for (const auto& [kernel, section] : root.Sections("kernels")) {
    section.AllowOnly({"launch_seconds", "seconds_per_element"});
    profile.kernels[kernel] = {section.Number("launch_seconds", true),
                               section.Number("seconds_per_element", true)};
  }
  return profile;
}

std::string FormatProfile(const Profile& profile) {
  Json json;
  json["name"] = profile.name;
  json["source"] = profile.source;
  json["launches"] = kLaunchesTexts[static_cast<size_t>(profile.launches)];
  if (profile.memory_bytes > 0) json["memory_bytes"] = profile.memory_bytes;
  json["launch_seconds"] = profile.launch_seconds;
  for (const auto& [kind, rate] : profile.operations) {
    Json& operation = json["operations"][kind];
    operation = {{"flops_per_second", rate.flops_per_second},
                 {"bytes_per_second", rate.bytes_per_second}};
    if (rate.half_flops_per_second > 0) {
      operation["half_flops_per_second"] = rate.half_flops_per_second;
    }
  }
  if (profile.device) json["device"] = DeviceJson(*profile.device);
  for (const auto& [kernel, rate] : profile.kernels) {
    json["kernels"][kernel] = {{"launch_seconds", rate.launch_seconds},
                               {"seconds_per_element", rate.seconds_per_element}};
  }
  return json.dump(2) + "\n";
}

Profile LoadProfile(const std::string& text) {
  const fs::path path = FindProfile(text);
  return ParseProfile(ReadWholeFile(path), path.string());
}

std::vector<std::string> ProfileNames() {
  std::set<std::string> names;
  for (const fs::path& folder : Folders()) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(folder, missing)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

}  // namespace legacy
