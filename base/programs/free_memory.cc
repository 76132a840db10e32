#include "base/programs/free_memory.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "base/error.h"
#include "base/number.h"
#include "base/parse.h"

namespace legacy {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;

// Reads the number at the start of a file; nothing if there is none ("max").
std::optional<int64_t> NumberIn(const char* path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::optional<int64_t> MemAvailable() {
  std::ifstream file("/proc/meminfo");
  constexpr int64_t kUnit = 1024;
  for (std::string line; std::getline(file, line);) {
    long long kibibytes = 0;
    if (std::sscanf(line.c_str(), "MemAvailable: %lld kB", &kibibytes) == 1) {
      return kibibytes * kUnit;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> FreeMemory() {
  std::optional<int64_t> free = MemAvailable();
  const auto limit = NumberIn("/sys/fs/cgroup/memory.max");
  const auto used = NumberIn("/sys/fs/cgroup/memory.current");
  if (limit && used) {
    const int64_t left = std::max<int64_t>(0, *limit - *used);
    free = std::min(free.value_or(left), left);
  }
  return free;
}

std::string MemoryText(double bytes) {
  std::array<char, 32> text{};
  if (bytes < kGibibyte) {
    std::snprintf(text.data(), text.size(), "%.0f MiB", bytes / kMebibyte);
  } else {
    std::snprintf(text.data(), text.size(), "%.1f GiB", bytes / kGibibyte);
  }
  return text.data();
}

std::optional<double> MemoryLimit::Bytes() const {
  if (share == 0) return bytes > 0 ? std::optional<double>(bytes) : std::nullopt;
  const std::optional<int64_t> free = FreeMemory();
  if (!free) return std::nullopt;
  return share * static_cast<double>(*free);
}

MemoryLimit ParseMemoryLimit(const std::string& text, const std::string& key) {
  if (text == "off") return {};
  if (text.ends_with('%')) return {.share = ParseFraction(text, key)};
  constexpr std::array<std::pair<const char*, double>, 4> kUnits = {
      {{"MiB", kMebibyte}, {"GiB", kGibibyte}, {"MB", 1e6}, {"GB", 1e9}}};
  for (const auto& [unit, bytes] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string number = text.substr(0, text.size() - std::string_view(unit).size());
    const std::optional<double> value = ParseNumber(number);
    if (value && *value > 0) return {.bytes = *value * bytes};
  }
  const std::optional<double> bytes = ParseNumber(text);
  if (bytes && *bytes >= kMebibyte) return {.bytes = *bytes};  // less would be meant as a share
  throw Error(key, text, "a part of the free memory such as 90%, a size such as 64GiB, or off");
}

}  // namespace legacy
