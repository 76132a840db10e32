#include "compress/cuda/bench/rows.h"

#include "compress/cuda/cast.h"
#include "compress/cuda/histogram.h"
#include "compress/cuda/topk.h"
#include "compress/cuda/vector.h"
#ifdef LEGACY_BENCH_TORCH
#include "compress/cuda/bench/peers.h"
#endif

namespace legacy::bench {
namespace {

using cuda::Stream;

constexpr uint32_t kOtherSeed = 1000;  // beside a case's own, for a second input

int64_t Elements(const Case& c) { return c.elements(); }
double Float(int64_t count) { return 4.0 * static_cast<double>(count); }

// Bytes of `floats` floats for each element, read or written.
template <int floats>
double Floats(const Case& c) {
  return Float(floats * c.elements());
}

float* Input(const Case& c, uint32_t seed, Arena& arena) {
  float* const values = arena.New<float>(c.elements());
  FillInput(c.input, seed, values, c.elements());
  return values;
}

// The tables of a case's vectors, on the host and on the device.
struct Tables {
  Tables(const Case& c, Arena& arena) : table(c.Table()) {
    std::vector<int64_t> words(table.Bytes() / sizeof(int64_t));
    table.Write(words.data());
    segments = table.View(arena.NewCopy(words));
  }
  cuda::SegmentTable table;
  cuda::Segments segments;
};

struct Scratch {
  Scratch(size_t size, Arena& arena)
      : memory(arena.New<std::byte>(static_cast<int64_t>(size))), bytes(size) {}
  void* memory;
  size_t bytes;
};

// -------------------------------------------------------------------------------------------------
// Top-K

Work TopK(const Case& c, uint32_t seed, Arena& arena, bool feedback) {
  const Tables tables(c, arena);
  std::vector<uint32_t> k;
  std::vector<int64_t> out = {0};
  for (const int64_t kept : c.EachKept()) {
    k.push_back(static_cast<uint32_t>(kept));
    out.push_back(out.back() + kept);
  }
  const int64_t n = c.elements(), kept = out.back();
  float* const residual = Input(c, seed, arena);
  const cuda::TopKArrays arrays = {
      .gradient = feedback ? Input(c, seed + kOtherSeed, arena) : nullptr,
      .residual = residual,
      .k = arena.NewCopy(k),
      .out = arena.NewCopy(out),
      .indices = arena.New<uint32_t>(kept),
      .values = arena.New<float>(kept)};
  const Scratch scratch(cuda::TopKWorkspaceBytes(tables.table, kept), arena);
  Work work;
  if (feedback) {
    float* const saved = arena.New<float>(n);
    CopyBytes(residual, saved, n * static_cast<int64_t>(sizeof(float)));
    work.restore = [=] { CopyBytes(saved, residual, n * static_cast<int64_t>(sizeof(float))); };
  }
  work.run = [=](Stream stream) {
    cuda::SelectTopK(tables.table, tables.segments, arrays, kept, scratch.memory, scratch.bytes,
                     stream);
  };
  return work;
}

Work TopKAlone(const Case& c, uint32_t seed, Arena& arena) { return TopK(c, seed, arena, false); }
Work TopKFeedback(const Case& c, uint32_t seed, Arena& arena) { return TopK(c, seed, arena, true); }

// `floats` for each element, a position and a value for each one kept.
template <int floats>
double KeptBytes(const Case& c) {
  return Floats<floats>(c) + 2 * Float(c.kept());
}

// -------------------------------------------------------------------------------------------------
// Dense vectors

Work Copy(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const from = Input(c, seed, arena);
  float* const to = arena.New<float>(n);
  return {.restore = {}, .run = [=](Stream stream) { CopyFloats(from, to, n, stream); }};
}

Work Add(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const values = Input(c, seed, arena);
  float* const sum = Input(c, seed + kOtherSeed, arena);
  return {.restore = {}, .run = [=](Stream stream) { cuda::Add(values, sum, n, stream); }};
}

Work Scale(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  float* const values = Input(c, seed, arena);
  return {.restore = {}, .run = [=](Stream stream) { cuda::Scale(values, -1.0f, n, stream); }};
}

Work SquaredNorms(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  double* const totals = arena.New<double>(tables.table.count());
  const Scratch scratch(cuda::SumsWorkspaceBytes(tables.table), arena);
  return {.restore = {}, .run = [=](Stream stream) {
            cuda::SquaredNorms(tables.table, tables.segments, values, totals, scratch.memory,
                               scratch.bytes, stream);
          }};
}

Work FindLargest(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  uint32_t* const largest = arena.New<uint32_t>(tables.table.count());
  uint32_t* const first = arena.New<uint32_t>(tables.table.count());
  return {.restore = {}, .run = [=](Stream stream) {
            cuda::FindLargest(tables.table, tables.segments, values, largest, first, stream);
          }};
}

Work Histogram(const Case& c, uint32_t seed, Arena& arena) {
  const Tables tables(c, arena);
  const float* const values = Input(c, seed, arena);
  const int64_t bins = int64_t{cuda::kHistogramBins} * tables.table.count();
  uint32_t* const counts = arena.New<uint32_t>(bins);
  uint64_t* const offsets = arena.New<uint64_t>(bins);
  return {.restore = {}, .run = [=](Stream stream) {
            cuda::CountMagnitudes(tables.table, tables.segments, values, counts, offsets, stream);
          }};
}
double HistogramBytes(const Case& c) {
  constexpr double kBin = sizeof(uint32_t) + sizeof(uint64_t);
  return Floats<1>(c) + kBin * cuda::kHistogramBins * static_cast<double>(c.lengths.size());
}

// -------------------------------------------------------------------------------------------------
// Casts

using Encode = void (*)(const float*, uint16_t*, int64_t, Stream);
using Decode = void (*)(const uint16_t*, float*, int64_t, Stream);

template <Encode encode>
Work EncodeCast(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  const float* const values = Input(c, seed, arena);
  uint16_t* const out = arena.New<uint16_t>(n);
  return {.restore = {}, .run = [=](Stream stream) { encode(values, out, n, stream); }};
}

template <Encode encode, Decode decode>
Work DecodeCast(const Case& c, uint32_t seed, Arena& arena) {
  const int64_t n = c.elements();
  float* const values = Input(c, seed, arena);
  uint16_t* const in = arena.New<uint16_t>(n);
  encode(values, in, n, nullptr);
  return {.restore = {}, .run = [=](Stream stream) { decode(in, values, n, stream); }};
}

double CastBytes(const Case& c) { return 1.5 * Floats<1>(c); }

// -------------------------------------------------------------------------------------------------
// LibTorch

#ifdef LEGACY_BENCH_TORCH
std::vector<KeptPart> KeptParts(const Case& c) {
  const std::vector<int64_t> kept = c.EachKept();
  std::vector<KeptPart> parts;
  int64_t offset = 0;
  for (size_t i = 0; i < kept.size(); ++i) {
    parts.push_back({offset, c.lengths[i], kept[i]});
    offset += c.lengths[i];
  }
  return parts;
}

Work TorchTopK(const Case& c, uint32_t seed, Arena& arena) {
  const auto work = TorchTopKOfMagnitudes(Input(c, seed, arena), KeptParts(c));
  return {.restore = {}, .run = [=](Stream) { work(); }, .capturable = false};
}

Work TorchFeedback(const Case& c, uint32_t seed, Arena& arena) {
  const float* const gradient = Input(c, seed + kOtherSeed, arena);
  const auto work = TorchTopKWithFeedback(gradient, Input(c, seed, arena), KeptParts(c));
  return {.restore = {}, .run = [=](Stream) { work(); }, .capturable = false};
}
#endif

}  // namespace

std::span<const Row> Rows() {
  // kernel, in profiles, elements there, by ratio, bytes, prepare
  static constexpr Row kRows[] = {
      {"copy", "copy", Elements, false, Floats<2>, Copy},
      {"topk.feedback", "topk.encode", Elements, true, KeptBytes<3>, TopKFeedback},
      {"topk", nullptr, nullptr, true, KeptBytes<1>, TopKAlone},
      {"histogram", "histogram", Elements, false, HistogramBytes, Histogram},
      {"squared-norms", nullptr, nullptr, false, Floats<1>, SquaredNorms},
      {"find-largest", nullptr, nullptr, false, Floats<1>, FindLargest},
      {"add", "accumulate", Elements, false, Floats<3>, Add},
      {"scale", nullptr, nullptr, false, Floats<2>, Scale},
      {"fp16.encode", "cast.encode", Elements, false, CastBytes, EncodeCast<cuda::EncodeHalf>},
      {"fp16.decode", "cast.decode", Elements, false, CastBytes,
       DecodeCast<cuda::EncodeHalf, cuda::DecodeHalf>},
      {"bf16.encode", nullptr, nullptr, false, CastBytes, EncodeCast<cuda::EncodeBfloat16>},
      {"bf16.decode", nullptr, nullptr, false, CastBytes,
       DecodeCast<cuda::EncodeBfloat16, cuda::DecodeBfloat16>},
#ifdef LEGACY_BENCH_TORCH
      // Last: LibTorch keeps the memory that it took.
      {"torch.topk-of-magnitudes", nullptr, nullptr, true, KeptBytes<1>, TorchTopK},
      {"torch.topk-with-feedback", nullptr, nullptr, true, KeptBytes<3>, TorchFeedback},
#endif
  };
  return kRows;
}

}  // namespace legacy::bench
