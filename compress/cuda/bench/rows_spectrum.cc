// FFT sparsification in chunks of 4096 that drops 85 % of the bins, which are the codec's defaults.
#include <memory>

#include "compress/codecs/fft_codec.h"
#include "compress/codecs/sparse_codec.h"
#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"
#include "compress/cuda/kernels/transforms/inverse_kernels.h"
#include "compress/cuda/kernels/transforms/spectrum_kernels.h"
#include "compress/message.h"

namespace legacy::bench {
namespace {

constexpr double kTheta = 0.85;
constexpr QuantiserSetting kPacking = {.kind = QuantiserKind::kRange, .bits = 10};

const cpu::SpectrumPlan& Plan() {
  static const cpu::SpectrumPlan plan(4096);
  return plan;
}
std::vector<int64_t> KeptOf(const Case& c) {
  std::vector<int64_t> kept;
  for (const int64_t length : c.lengths) kept.push_back(KeptBins(Plan().Bins(length), kTheta));
  return kept;
}
// Positions, real and imaginary parts of selected bins.
double BinBytes(const Case& c) {
  double bytes = 0;
  for (const int64_t kept : KeptOf(c)) bytes += 12.0 * static_cast<double>(kept);
  return bytes;
}

// A case's spectra, and the selected bins.
struct Selected {
  Selected(const Case& c, uint32_t seed, Arena& arena)
      : table(std::make_shared<cuda::SpectrumTable>(Plan(), c.Table().extents())),
        view(Upload(*table, arena)) {
    const auto units = static_cast<int64_t>(c.lengths.size());
    std::vector<uint32_t> counts;
    for (const int64_t kept : KeptOf(c)) {
      counts.push_back(static_cast<uint32_t>(kept));
      begins.push_back(begins.back() + kept);
    }
    arrays = {.values = Input(c, seed, arena),
              .k = arena.NewCopy(counts),
              .out = arena.NewCopy(begins),
              .positions = arena.New<uint32_t>(begins.back()),
              .coefficients = arena.New<cuda::ComplexFloat>(begins.back()),
              .scales = arena.NewCopy(std::vector<float>(units, 1.0f)),
              .largest = arena.New<uint32_t>(units)};
    job = LayOut(arena, [&](Workspace& workspace) {
      return cuda::LayOutSpectrum(*table, view, arrays, workspace);
    });
  }
  void Select(StreamDevice device) const { cuda::LaunchSpectrum(device, *table, job); }

  std::shared_ptr<cuda::SpectrumTable> table;
  cuda::Spectra view;
  std::vector<int64_t> begins = {0};
  cuda::SpectrumArrays arrays;
  cuda::SpectrumJob job;
};

double SelectBytes(const Case& c) { return Floats<1>(c) + BinBytes(c); }

Work Select(const Case& c, uint32_t seed, Arena& arena) {
  const auto kept = std::make_shared<Selected>(c, seed, arena);
  return Runs([=](StreamDevice device) { kept->Select(device); });
}

double InverseBytes(const Case& c) { return Floats<2>(c) + BinBytes(c); }

Work Inverse(const Case& c, uint32_t seed, Arena& arena) {
  const auto kept = std::make_shared<Selected>(c, seed, arena);
  kept->Select(StreamDevice(nullptr));
  const cuda::InverseArrays arrays = {.begin = kept->arrays.out,
                                      .count = kept->arrays.k,
                                      .positions = kept->arrays.positions,
                                      .coefficients = kept->arrays.coefficients,
                                      .mode = cuda::InverseMode::kAdd,
                                      .out = Input(c, seed + kOtherSeed, arena)};
  const cuda::InverseJob job = LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutInverse(*kept->table, kept->view, arrays, workspace);
  });
  return Runs([=](StreamDevice device) { cuda::LaunchInverse(device, *kept->table, job); });
}

// Quantised coefficients and the messages that hold them.
struct Packing {
  Packing(const Case& c, const Selected& kept) {
    for (size_t u = 0; u < c.lengths.size(); ++u) {
      const int64_t bins = Plan().Bins(c.lengths[u]);
      const int64_t begin = kept.begins[u], count = kept.begins[u + 1] - begin;
      const Header header = {.codec = static_cast<uint8_t>(CodecId::kFft),
                             .index = PositionCoding({}, bins, count),
                             .values = ValueType::kRange,
                             .unit = static_cast<uint32_t>(u),
                             .numel = static_cast<uint32_t>(c.lengths[u]),
                             .count = static_cast<uint32_t>(count)};
      const int64_t segment = cuda::SegmentBytes(kPacking, 2 * count);
      quantised.push_back({{2 * begin, 2 * count}, segment_bytes});
      messages.push_back({.header = header,
                          .message = message_bytes,
                          .positions = begin,
                          .values = segment_bytes,
                          .value_bytes = segment,
                          .places = bins});
      message_bytes +=
          cuda::MessageTable::Room(kHeaderBytes + IndexBytes(header.index, bins, count) + segment);
      segment_bytes += (segment + 3) / 4 * 4;
    }
  }
  std::vector<cuda::QuantisedUnit> quantised;
  std::vector<cuda::MessageUnit> messages;
  int64_t segment_bytes = 0, message_bytes = 0;
};

// The bytes of gradients read and messages written.
double EncodeBytes(const Case& c) {
  const std::unique_ptr<Codec> codec = MakeCodec("fft");
  double bytes = Floats<1>(c);
  for (const int64_t length : c.lengths) {
    Unit unit;
    unit.numel = length;
    bytes += static_cast<double>(*codec->MessageBytes(unit, kTheta));
  }
  return bytes;
}

Work Encode(const Case& c, uint32_t seed, Arena& arena) {
  const auto kept = std::make_shared<Selected>(c, seed, arena);
  const Packing packing(c, *kept);
  const auto quantisers = std::make_shared<cuda::QuantiserTable>(kPacking, packing.quantised);
  const auto messages = std::make_shared<cuda::MessageTable>(packing.messages);
  const cuda::QuantisedParts parts = Upload(*quantisers, arena);
  const cuda::Messages view = Upload(*messages, arena);
  const cuda::QuantiseArrays arrays = {
      .values = reinterpret_cast<const float*>(kept->arrays.coefficients),
      .out = arena.New<std::byte>(packing.segment_bytes)};
  std::byte* const out = arena.New<std::byte>(packing.message_bytes);
  const cuda::QuantiseJob job = LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutQuantise(*quantisers, parts, arrays, workspace);
  });
  return Runs([=](StreamDevice device) {
    kept->Select(device);
    cuda::LaunchQuantise(device, job, *quantisers);
    cuda::LaunchWriteMessages(device, *messages, view, kept->arrays.positions, arrays.out, out);
  });
}

}  // namespace

std::vector<Row> SpectrumRows() {
  return {{"fft.select", nullptr, nullptr, false, SelectBytes, Select},
          {"fft.inverse", "fft.inverse", Elements, false, InverseBytes, Inverse},
          {"fft.encode", nullptr, nullptr, false, EncodeBytes, Encode}};
}

}  // namespace legacy::bench
