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

constexpr double kRatio = 17.0 / 512;  // of the thresholds of 4 and 8 bits

CodeTable MakeTable(int bits, double epsilon) {
  CodeTable table = {.base = 1 + 2 * epsilon * epsilon, .most = (1 << (bits - 1)) - 1};
  table.powers[0] = 1;
  for (int r = 0; r < table.most; ++r) table.powers[r + 1] = table.powers[r] * table.base;
  const double last = table.powers[table.most];
  for (int r = 0; r <= table.most; ++r) table.levels[r] = (table.powers[r] - 1) / (last - 1);
  return table;
}

int MostLevel(int bits) { return (1 << (bits - 1)) - 1; }
int64_t CodeBytes(int bits) { return 2 * bits; }

float UnitAt(const std::byte* in, int bits) {
  uint16_t stored = 0;
  std::memcpy(&stored, in + SuperBytes(bits) - 2, sizeof stored);
  return cpu::Bfloat16ToFloat(stored);
}

}  // namespace

const CodeTable& TableOf(int bits) {
  static const CodeTable two = MakeTable(2, 0.23), four = MakeTable(4, 0.18),
                         eight = MakeTable(8, 0.1);
  assert(bits == 2 || bits == 4 || bits == 8);
  return bits == 2 ? two : bits == 4 ? four : eight;
}

std::span<const double> Levels(int bits) {
  const CodeTable& table = TableOf(bits);
  return std::span(table.levels).first(static_cast<size_t>(table.most) + 1);
}

int LevelOf(int bits, double z, double u, Rounding rounding) {
  return LevelIn(TableOf(bits), z, u, rounding);
}

void Encode(std::span<const float, kSuper> values, int bits, std::span<const double, kSuper> draws,
            Rounding rounding, std::byte* out) {
  float largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(x));
  const float unit = UnitOf(largest);
  const CodeTable& table = TableOf(bits);
  std::array<uint8_t, kGroup> codes;
  for (int64_t g = 0; g < kGroups; ++g) {
    const auto group = values.subspan(static_cast<size_t>(g * kGroup), kGroup);
    double top = 0;
    for (const float x : group) top = std::max(top, std::abs(double{x}));
    const int scale = GroupCode(top, unit);
    for (int64_t i = 0; i < kGroup; ++i) {
      codes[i] = static_cast<uint8_t>(
          CodeIn(table, group[i], scale, unit, draws[g * kGroup + i], rounding));
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
  const float unit = UnitAt(in, bits);
  const CodeTable& table = TableOf(bits);
  std::array<uint8_t, kGroup> codes;
  for (int64_t g = 0; g < kGroups; ++g, in += CodeBytes(bits) + 1) {
    cpu::UnpackCodes({in, static_cast<size_t>(CodeBytes(bits))}, bits, codes);
    const auto scale = std::to_integer<int>(in[CodeBytes(bits)]);
    for (int64_t i = 0; i < kGroup; ++i) {
      values[g * kGroup + i] = ValueIn(table, codes[i], scale, unit);
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
