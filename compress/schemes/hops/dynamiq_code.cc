#include "compress/schemes/hops/dynamiq_code.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/cast.h"

namespace legacy::dynamiq {
namespace {

constexpr int kMostCode = 255;         // of a group
constexpr double kRatio = 17.0 / 512;  // of the thresholds of 4 and 8 bits

// The levels of one number of bits.
struct Table {
  Table(int bits, double epsilon) : base(1 + 2 * epsilon * epsilon) {
    const int most = (1 << (bits - 1)) - 1;
    powers = {1};
    for (int r = 0; r < most; ++r) powers.push_back(powers.back() * base);
    for (const double power : powers) levels.push_back((power - 1) / (powers.back() - 1));
  }

  double base;
  std::vector<double> powers;  // of the base
  std::vector<double> levels;
};

const Table& TableOf(int bits) {
  static const Table two(2, 0.23), four(4, 0.18), eight(8, 0.1);
  assert(bits == 2 || bits == 4 || bits == 8);
  return bits == 2 ? two : bits == 4 ? four : eight;
}

// Returns log(1 + t) for 0 <= t <= .11, by the series of 2 atanh(t / (2 + t)): no library's
// logarithm has the same bits everywhere.
double LogOfOnePlus(double t) {
  const double s = t / (2 + t);
  double sum = 0;
  for (int power = 15; power >= 1; power -= 2) sum = sum * s * s + 1.0 / power;
  return 2 * s * sum;
}

int MostLevel(int bits) { return (1 << (bits - 1)) - 1; }
int64_t CodeBytes(int bits) { return 2 * bits; }

float UnitAt(const std::byte* in, int bits) {
  uint16_t stored = 0;
  std::memcpy(&stored, in + SuperBytes(bits) - 2, sizeof stored);
  return cpu::Bfloat16ToFloat(stored);
}

}  // namespace

std::span<const double> Levels(int bits) { return TableOf(bits).levels; }

int LevelOf(int bits, double z, double u, Rounding rounding) {
  const Table& table = TableOf(bits);
  const auto above = std::upper_bound(table.levels.begin(), table.levels.end(), z);
  const auto last = static_cast<int>(table.levels.size()) - 2;
  const int low = std::clamp(static_cast<int>(above - table.levels.begin()) - 1, 0, last);
  double probability = 0;
  if (rounding == Rounding::kValue) {
    probability = (z - table.levels[low]) / (table.levels[low + 1] - table.levels[low]);
  } else {
    const double y = 1 + z * (table.powers.back() - 1);
    probability = LogOfOnePlus(y / table.powers[low] - 1) / LogOfOnePlus(table.base - 1);
  }
  return low + (u < probability ? 1 : 0);
}

int GroupCode(double top, double unit) {
  return top == 0 ? 0 : static_cast<int>(std::min<double>(kMostCode, std::ceil(top / unit)));
}

float UnitOf(float largest) {
  constexpr uint32_t kLower = 0xFFFF;  // bits that a bf16 has not
  const auto bits = std::bit_cast<uint32_t>(largest / kMostCode);
  // The quotient may have been rounded down, so that 255 times it is less than the largest.
  uint32_t unit = (bits + kLower) >> 16 << 16;
  if (double{std::bit_cast<float>(unit)} * kMostCode < double{largest}) unit += kLower + 1;
  return std::bit_cast<float>(unit);
}

void Encode(std::span<const float, kSuper> values, int bits, std::span<const double, kSuper> draws,
            Rounding rounding, std::byte* out) {
  float largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(x));
  const float unit = UnitOf(largest);
  const int most = MostLevel(bits);
  std::array<uint8_t, kGroup> codes;
  for (int64_t g = 0; g < kGroups; ++g) {
    const auto group = values.subspan(static_cast<size_t>(g * kGroup), kGroup);
    double top = 0;
    for (const float x : group) top = std::max(top, std::abs(double{x}));
    const int scale = GroupCode(top, unit);
    for (int64_t i = 0; i < kGroup; ++i) {
      int level = 0;
      if (scale > 0) {
        const double z = std::min(1.0, std::abs(double{group[i]}) / (scale * double{unit}));
        level = LevelOf(bits, z, draws[g * kGroup + i], rounding);
      }
      codes[i] = static_cast<uint8_t>(group[i] < 0 ? most - level : most + level);
    }
    cpu::PackCodes(codes, bits, {out, static_cast<size_t>(CodeBytes(bits))});
    out += CodeBytes(bits);
    *out++ = static_cast<std::byte>(scale);
  }
  const auto stored = static_cast<uint16_t>(std::bit_cast<uint32_t>(unit) >> 16);
  std::memcpy(out, &stored, sizeof stored);
}

void Check(const std::byte* in, int bits) {
  const float unit = UnitAt(in, bits);
  if (!std::isfinite(unit) || std::signbit(unit) ||
      double{unit} * kMostCode > double{std::numeric_limits<float>::max()} * (1 + 0x1p-7)) {
    throw Error("message: the unit of a super-group is invalid");
  }
  const int most = MostLevel(bits);
  int largest = 0;
  std::array<uint8_t, kGroup> codes;
  for (int64_t g = 0; g < kGroups; ++g, in += CodeBytes(bits) + 1) {
    cpu::UnpackCodes({in, static_cast<size_t>(CodeBytes(bits))}, bits, codes);
    const auto scale = std::to_integer<int>(in[CodeBytes(bits)]);
    largest = std::max(largest, scale);
    for (const int code : codes) {
      if (code > 2 * most) throw Error("message: a code is above the largest level");
      if (scale == 0 && code != most) throw Error("message: a group of zeros has other values");
    }
  }
  if ((largest == 0) != (unit == 0)) {
    throw Error("message: the unit of a super-group does not fit its groups");
  }
}

void Decode(const std::byte* in, int bits, std::span<float, kSuper> values) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double unit = UnitAt(in, bits);
  const int most = MostLevel(bits);
  const auto levels = Levels(bits);
  std::array<uint8_t, kGroup> codes;
  for (int64_t g = 0; g < kGroups; ++g, in += CodeBytes(bits) + 1) {
    cpu::UnpackCodes({in, static_cast<size_t>(CodeBytes(bits))}, bits, codes);
    const double scale = std::to_integer<int>(in[CodeBytes(bits)]) * unit;
    for (int64_t i = 0; i < kGroup; ++i) {
      const int level = int{codes[i]} - most;
      // The unit is rounded up, so that the largest floats would become infinite.
      const double magnitude = std::min(levels[std::abs(level)] * scale, kLargest);
      values[g * kGroup + i] = static_cast<float>(level < 0 ? -magnitude : magnitude);
    }
  }
}

std::vector<int> BitsFor(std::span<const double> energies, double mean) {
  std::vector<double> sorted(energies.begin(), energies.end());
  std::ranges::sort(sorted);
  const auto from = [&](double threshold) {
    return static_cast<double>(sorted.end() - std::ranges::lower_bound(sorted, threshold));
  };
  const auto count = static_cast<double>(sorted.size());
  const auto fits = [&](double threshold) {
    return 2 * count + 2 * from(kRatio * threshold) + 4 * from(threshold) <= mean * count;
  };
  // The bits of a super-group change where the threshold, or 17/512 of it, passes its energy.
  std::vector<double> thresholds = {std::numeric_limits<double>::infinity()};
  for (const double energy : sorted) {
    if (energy == 0) continue;
    thresholds.push_back(energy);
    thresholds.push_back(energy / kRatio);
  }
  std::ranges::sort(thresholds);
  // More thresholds fit the higher they are; the last one leaves 2 bits everywhere.
  const auto least = std::partition_point(thresholds.begin(), thresholds.end() - 1,
                                          [&](double threshold) { return !fits(threshold); });
  std::vector<int> bits;
  for (const double energy : energies) {
    bits.push_back(energy >= *least ? 8 : energy > 0 && energy >= kRatio * *least ? 4 : 2);
  }
  return bits;
}

}  // namespace legacy::dynamiq
