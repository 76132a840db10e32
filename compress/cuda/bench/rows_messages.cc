// Quantisers, and whole messages.
#include <memory>

#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/coding/dequantise_kernels.h"
#include "compress/cuda/kernels/coding/hop_kernels.h"
#include "compress/cuda/kernels/coding/quantise_kernels.h"
#include "compress/cuda/kernels/coding/read_message_kernels.h"
#include "compress/cuda/kernels/coding/write_message_kernels.h"
#include "compress/message.h"

namespace legacy::bench {
namespace {

// -------------------------------------------------------------------------------------------------
// Quantisers

constexpr QuantiserSetting kFloat32 = {.kind = QuantiserKind::kFloat32};
constexpr QuantiserSetting kFloat16 = {.kind = QuantiserKind::kFloat16};
// The settings that publications use most often.
constexpr QuantiserSetting kQsgd = {.kind = QuantiserKind::kQsgd, .bits = 4, .bucket = 512};
constexpr QuantiserSetting kMaxMin = {.kind = QuantiserKind::kMaxMin, .bits = 4, .bucket = 1024};
constexpr QuantiserSetting kMx = {
    .kind = QuantiserKind::kMx, .bits = 8, .bucket = 32, .format = ElementFormat::kE4M3};
constexpr QuantiserSetting kUniform = {.kind = QuantiserKind::kUniform, .bits = 8};
constexpr QuantiserSetting kTernGrad = {.kind = QuantiserKind::kTernGrad};
constexpr QuantiserSetting kNatural = {.kind = QuantiserKind::kNatural, .bits = 9};
constexpr QuantiserSetting kSign = {.kind = QuantiserKind::kSign};
constexpr QuantiserSetting kOneBit = {.kind = QuantiserKind::kOneBit};
constexpr QuantiserSetting kRange = {.kind = QuantiserKind::kRange, .bits = 8};

// A case's vectors as units whose segments follow each other.
struct Segmented {
  Segmented(const QuantiserSetting& setting, const Case& c, uint32_t seed, Arena& arena) {
    std::vector<cuda::QuantisedUnit> units;
    std::vector<cpu::DrawSource> sources;
    int64_t offset = 0;
    for (const int64_t length : c.lengths) {
      units.push_back({{offset, length}, bytes});
      sources.push_back(cpu::MakeDrawSource({.seed = seed,
                                             .layer = static_cast<uint32_t>(units.size()),
                                             .purpose = Purpose::kStochastic}));
      offset += length;
      bytes += (cuda::SegmentBytes(setting, length) + 3) / 4 * 4;
    }
    table = std::make_shared<cuda::QuantiserTable>(setting, units);
    parts = Upload(*table, arena);
    draws = arena.NewCopy(sources);
    segments = arena.New<std::byte>(bytes);
  }
  std::shared_ptr<cuda::QuantiserTable> table;
  cuda::QuantisedParts parts;
  const cpu::DrawSource* draws = nullptr;
  std::byte* segments = nullptr;
  int64_t bytes = 0;
};

cuda::QuantiseJob LayOutQuantise(const Segmented& to, const cuda::QuantiseArrays& arrays,
                                 Arena& arena) {
  return LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutQuantise(*to.table, to.parts, arrays, workspace);
  });
}

template <const QuantiserSetting& setting>
double SegmentBytes(const Case& c) {
  double bytes = 0;
  for (const int64_t length : c.lengths) {
    bytes += static_cast<double>(cuda::SegmentBytes(setting, length));
  }
  return bytes;
}

template <const QuantiserSetting& setting>
Work EncodeWithFeedback(const Case& c, uint32_t seed, Arena& arena) {
  const Segmented to(setting, c, seed, arena);
  const cuda::QuantiseArrays arrays = {.values = Input(c, seed + kOtherSeed, arena),
                                       .residual = Input(c, seed, arena),
                                       .out = to.segments,
                                       .draws = to.draws};
  const cuda::QuantiseJob job = LayOutQuantise(to, arrays, arena);
  Work work = Runs([=](StreamDevice device) { cuda::LaunchQuantise(device, job, *to.table); });
  work.restore = Restores(arrays.residual, c.elements(), arena);
  return work;
}
template <const QuantiserSetting& setting>
double EncodeBytes(const Case& c) {
  return Floats<3>(c) + SegmentBytes<setting>(c);
}

template <const QuantiserSetting& setting>
Work Decode(const Case& c, uint32_t seed, Arena& arena) {
  const Segmented from(setting, c, seed, arena);
  float* const sum = Input(c, seed, arena);
  const cuda::QuantiseArrays arrays = {.values = sum, .out = from.segments, .draws = from.draws};
  StreamDevice now(nullptr);
  cuda::LaunchQuantise(now, LayOutQuantise(from, arrays, arena), *from.table);
  const cuda::DequantiseJob job =
      cuda::MakeDequantiseJob(*from.table, from.parts, {.in = from.segments, .sum = sum});
  return Runs([=](StreamDevice device) { cuda::LaunchDequantise(device, job, *from.table); });
}
template <const QuantiserSetting& setting>
double DecodeBytes(const Case& c) {
  return Floats<2>(c) + SegmentBytes<setting>(c);
}

// A hop of a sum: the segments of another worker are decoded, values are added, and the sums are
// encoded again.
template <const QuantiserSetting& setting>
Work AddHop(const Case& c, uint32_t seed, Arena& arena) {
  const Segmented from(setting, c, seed, arena), to(setting, c, seed, arena);
  float* const own = Input(c, seed, arena);
  const cuda::QuantiseArrays first = {.values = own, .out = from.segments, .draws = from.draws};
  StreamDevice now(nullptr);
  cuda::LaunchQuantise(now, LayOutQuantise(from, first, arena), *from.table);
  std::vector<cuda::HopPart> parts;
  int64_t segment = 0;
  for (const int64_t length : c.lengths) {
    const int64_t scales = cuda::ScalesOf(setting, length) * cuda::ScaleBytes(setting);
    parts.push_back(
        {.input = cuda::HopInput::kSum, .in = {.scales = segment, .codes = segment + scales}});
    segment += (cuda::SegmentBytes(setting, length) + 3) / 4 * 4;
  }
  const cuda::HopArrays arrays = {.sums = from.segments,
                                  .parts = arena.NewCopy(parts),
                                  .own = own,
                                  .out = to.segments,
                                  .draws = to.draws};
  return Runs([=](StreamDevice device) { cuda::LaunchHops(device, *to.table, to.parts, arrays); });
}
template <const QuantiserSetting& setting>
double HopBytes(const Case& c) {
  return Floats<1>(c) + 2 * SegmentBytes<setting>(c);
}

// -------------------------------------------------------------------------------------------------
// Messages of Top-K: fp32 values, and positions in the shortest coding

struct Sparse {
  Sparse(const Case& c, uint32_t seed, Arena& arena) {
    const Tables tables(c, arena);
    Selection selection(c, 0, arena);
    selection.arrays.residual = Input(c, seed, arena);
    selection.arrays.indices = positions = arena.New<uint32_t>(selection.kept);
    selection.arrays.values = values = arena.New<float>(selection.kept);
    SelectTopK(tables, selection, arena);
    const std::vector<cuda::MessageUnit> units = Units(c);
    table = std::make_shared<cuda::MessageTable>(units);
    view = Upload(*table, arena);
    out = arena.New<std::byte>(bytes);
  }
  std::vector<cuda::MessageUnit> Units(const Case& c) {
    std::vector<cuda::MessageUnit> units;
    int64_t at = 0;
    const std::vector<int64_t> kept = c.EachKept();
    for (size_t i = 0; i < kept.size(); ++i) {
      const IndexCoding coding = ShortestIndexCoding(c.lengths[i], kept[i]);
      units.push_back({.header = {.codec = static_cast<uint8_t>(CodecId::kTopK),
                                  .index = coding,
                                  .unit = static_cast<uint32_t>(i),
                                  .numel = static_cast<uint32_t>(c.lengths[i]),
                                  .count = static_cast<uint32_t>(kept[i])},
                       .message = bytes,
                       .positions = at,
                       .values = 4 * at,
                       .value_bytes = 4 * kept[i]});
      bytes += cuda::MessageTable::Room(kHeaderBytes + IndexBytes(coding, c.lengths[i], kept[i]) +
                                        4 * kept[i]);
      at += kept[i];
    }
    return units;
  }
  std::shared_ptr<cuda::MessageTable> table;
  cuda::Messages view;
  uint32_t* positions = nullptr;
  float* values = nullptr;
  std::byte* out = nullptr;
  int64_t bytes = 0;
};

void Write(const Sparse& sparse, StreamDevice device) {
  cuda::LaunchWriteMessages(device, *sparse.table, sparse.view, sparse.positions,
                            reinterpret_cast<const std::byte*>(sparse.values), sparse.out);
}

Work WriteMessages(const Case& c, uint32_t seed, Arena& arena) {
  const Sparse sparse(c, seed, arena);
  return Runs([=](StreamDevice device) { Write(sparse, device); });
}

Work ReadMessages(const Case& c, uint32_t seed, Arena& arena) {
  const Sparse sparse(c, seed, arena);
  Write(sparse, StreamDevice(nullptr));
  const auto units = static_cast<int64_t>(c.lengths.size());
  const cuda::ReadArrays arrays = {.messages = sparse.out,
                                   .positions = sparse.positions,
                                   .values = reinterpret_cast<std::byte*>(sparse.values),
                                   .faults = arena.New<uint32_t>(units),
                                   .counts = arena.New<uint32_t>(units)};
  const cuda::ReadJob job = LayOut(arena, [&](Workspace& workspace) {
    return cuda::LayOutReadMessages(*sparse.table, sparse.view, arrays, workspace);
  });
  return Runs([=](StreamDevice device) { cuda::LaunchReadMessages(device, *sparse.table, job); });
}

// Counts the messages, and the positions and values that they are made of.
double MessageBytes(const Case& c) {
  double bytes = 8.0 * static_cast<double>(c.kept());
  const std::vector<int64_t> kept = c.EachKept();
  for (size_t i = 0; i < kept.size(); ++i) {
    const IndexCoding coding = ShortestIndexCoding(c.lengths[i], kept[i]);
    bytes +=
        static_cast<double>(kHeaderBytes + IndexBytes(coding, c.lengths[i], kept[i]) + 4 * kept[i]);
  }
  return bytes;
}

template <const QuantiserSetting& setting>
Row EncodeRow(const char* kernel) {
  return {kernel, nullptr, nullptr, false, EncodeBytes<setting>, EncodeWithFeedback<setting>};
}
template <const QuantiserSetting& setting>
Row DecodeRow(const char* kernel) {
  return {kernel, nullptr, nullptr, false, DecodeBytes<setting>, Decode<setting>};
}

}  // namespace

std::vector<Row> MessageRows() {
  return {EncodeRow<kQsgd>("qsgd.encode"),
          DecodeRow<kQsgd>("qsgd.decode"),
          EncodeRow<kSign>("sign.encode"),
          DecodeRow<kSign>("sign.decode"),
          EncodeRow<kMaxMin>("maxmin.encode"),
          DecodeRow<kMaxMin>("maxmin.decode"),
          EncodeRow<kUniform>("uniform.encode"),
          DecodeRow<kUniform>("uniform.decode"),
          EncodeRow<kTernGrad>("terngrad.encode"),
          DecodeRow<kTernGrad>("terngrad.decode"),
          EncodeRow<kNatural>("natural.encode"),
          DecodeRow<kNatural>("natural.decode"),
          EncodeRow<kOneBit>("onebit.encode"),
          DecodeRow<kOneBit>("onebit.decode"),
          EncodeRow<kRange>("rbf.encode"),
          DecodeRow<kRange>("rbf.decode"),
          EncodeRow<kFloat32>("fp32.encode"),
          DecodeRow<kFloat32>("fp32.decode"),
          EncodeRow<kFloat16>("fp16.encode"),
          DecodeRow<kFloat16>("fp16.decode"),
          {"maxmin.hop", nullptr, nullptr, false, HopBytes<kMaxMin>, AddHop<kMaxMin>},
          {"mx.hop", nullptr, nullptr, false, HopBytes<kMx>, AddHop<kMx>},
          {"messages.write", nullptr, nullptr, true, MessageBytes, WriteMessages},
          {"messages.read", nullptr, nullptr, true, MessageBytes, ReadMessages}};
}

}  // namespace legacy::bench
