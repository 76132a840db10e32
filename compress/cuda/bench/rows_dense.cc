// Kernels over dense vectors.
#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/cast_kernels.h"
#include "compress/cuda/kernels/coding/bitpack_kernels.h"
#include "compress/cuda/kernels/selection/dgc_kernels.h"
#include "compress/cuda/kernels/selection/histogram_kernels.h"

namespace legacy::bench {
namespace {

Work Copy(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const from = Input(c, seed, arena);
  float* const to = arena.New<float>(n);
  return Runs([=](StreamDevice device) { CopyFloats(from, to, n, device.stream()); });
}

Work Add(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const values = Input(c, seed, arena);
  float* const sum = Input(c, seed + kOtherSeed, arena);
  return Runs(
      [=](StreamDevice device) { cuda::LaunchMap(device, cuda::AddRule{}, values, sum, n); });
}

Work Scale(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  float* const values = Input(c, seed, arena);
  return Runs([=](StreamDevice device) {
    cuda::LaunchMap(device, cuda::ScaleRule{-1.0f}, values, values, n);
  });
}

Work SquaredNorms(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  double* const totals = arena.New<double>(tables.table.count());
  double* const sums = LayOut(
      arena, [&](Workspace& workspace) { return cuda::LayOutSums(tables.table, workspace); });
  return Runs([=](StreamDevice device) {
    cuda::LaunchSums<cuda::Square>(device, tables.table, tables.segments, values, sums, totals);
  });
}

Work FindLargest(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  uint32_t* const largest = arena.New<uint32_t>(tables.table.count());
  uint32_t* const first = arena.New<uint32_t>(tables.table.count());
  return Runs([=](StreamDevice device) {
    cuda::LaunchExtremes(device, tables.table, tables.segments, values, {largest, first});
  });
}

Work Histogram(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  const int64_t bins = int64_t{cuda::kHistogramBins} * tables.table.count();
  uint32_t* const counts = arena.New<uint32_t>(bins);
  uint64_t* const offsets = arena.New<uint64_t>(bins);
  return Runs([=](StreamDevice device) {
    cuda::LaunchHistogram(device, tables.table, tables.segments, values, {counts, offsets});
  });
}
double HistogramBytes(const Case& c) {
  constexpr double kBin = sizeof(uint32_t) + sizeof(uint64_t);
  return Floats<1>(c) + kBin * cuda::kHistogramBins * static_cast<double>(c.lengths.size());
}

Work AccumulateMomentum(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const cuda::MomentumArrays arrays = {.gradient = Input(c, seed, arena),
                                       .velocity = Input(c, seed + kOtherSeed, arena),
                                       .residual = Input(c, seed + 2 * kOtherSeed, arena)};
  return Runs([=](StreamDevice device) {
    cuda::LaunchMomentum(device, tables.table, tables.segments, arrays, {});
  });
}

// -------------------------------------------------------------------------------------------------
// Casts and packing

template <class Rule>
Work EncodeCast(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const values = Input(c, seed, arena);
  uint16_t* const out = arena.New<uint16_t>(n);
  return Runs([=](StreamDevice device) { cuda::LaunchMap(device, Rule{}, values, out, n); });
}

template <class Encode, class Decode>
Work DecodeCast(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  float* const values = Input(c, seed, arena);
  uint16_t* const in = arena.New<uint16_t>(n);
  StreamDevice now(nullptr);
  cuda::LaunchMap(now, Encode{}, values, in, n);
  return Runs([=](StreamDevice device) { cuda::LaunchMap(device, Decode{}, in, values, n); });
}

double CastBytes(const Case& c) { return 1.5 * Floats<1>(c); }

constexpr int kWidth = 4;  // bits per code

std::byte* Packed(const Case& c, int width, Arena& arena) {
  return arena.New<std::byte>((c.elements() * width + 31) / 32 * 4);
}
template <int bytes_of_8>
double PackedBytes(const Case& c) {
  return bytes_of_8 * static_cast<double>(c.elements()) / 8;
}

Work PackSigns(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const values = Input(c, seed, arena);
  std::byte* const out = Packed(c, 1, arena);
  return Runs([=](StreamDevice device) { cuda::LaunchPackSigns(device, values, n, out); });
}

Work UnpackSigns(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  float* const values = Input(c, seed, arena);
  std::byte* const in = Packed(c, 1, arena);
  StreamDevice now(nullptr);
  cuda::LaunchPackSigns(now, values, n, in);
  return Runs([=](StreamDevice device) {
    cuda::LaunchUnpackSigns(device, in, n, 0.5f, -0.5f, values, nullptr);
  });
}

// Codes are arbitrary bits of the values, because the work does not depend on them.
Work PackCodes(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  uint8_t* const codes = arena.New<uint8_t>(n);
  std::byte* const out = Packed(c, kWidth, arena);
  FillInput(c.input, seed, reinterpret_cast<float*>(out), n * kWidth / 32);
  StreamDevice now(nullptr);
  cuda::LaunchUnpack(now, out, n / 8 * 8, kWidth, codes, nullptr);
  return Runs(
      [=](StreamDevice device) { cuda::LaunchPack(device, codes, n / 8 * 8, kWidth, out); });
}

Work UnpackCodes(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  uint8_t* const codes = arena.New<uint8_t>(n);
  std::byte* const in = Packed(c, kWidth, arena);
  FillInput(c.input, seed, reinterpret_cast<float*>(in), n * kWidth / 32);
  return Runs([=](StreamDevice device) {
    cuda::LaunchUnpack(device, in, n / 8 * 8, kWidth, codes, nullptr);
  });
}

}  // namespace

std::vector<Row> DenseRows() {
  return {{"copy", "copy", Elements, false, Floats<2>, Copy},
          {"add", "accumulate", Elements, false, Floats<3>, Add},
          {"scale", nullptr, nullptr, false, Floats<2>, Scale},
          {"squared-norms", nullptr, nullptr, false, Floats<1>, SquaredNorms},
          {"find-largest", nullptr, nullptr, false, Floats<1>, FindLargest},
          {"histogram", "histogram", Elements, false, HistogramBytes, Histogram},
          {"dgc.accumulate", nullptr, nullptr, false, Floats<5>, AccumulateMomentum},
          {"cast.fp16.encode", "cast.encode", Elements, false, CastBytes, EncodeCast<cuda::ToHalf>},
          {"cast.fp16.decode", "cast.decode", Elements, false, CastBytes,
           DecodeCast<cuda::ToHalf, cuda::FromHalf>},
          {"cast.bf16.encode", nullptr, nullptr, false, CastBytes, EncodeCast<cuda::ToBfloat16>},
          {"cast.bf16.decode", nullptr, nullptr, false, CastBytes,
           DecodeCast<cuda::ToBfloat16, cuda::FromBfloat16>},
          {"signs.pack", nullptr, nullptr, false, PackedBytes<32 + 1>, PackSigns},
          {"signs.unpack", nullptr, nullptr, false, PackedBytes<1 + 32>, UnpackSigns},
          {"codes-of-4-bits.pack", nullptr, nullptr, false, PackedBytes<8 + 4>, PackCodes},
          {"codes-of-4-bits.unpack", nullptr, nullptr, false, PackedBytes<4 + 8>, UnpackCodes}};
}

}  // namespace legacy::bench
