// Speed of the quantisers on one core, beside a loop that only reads the same memory and one that copies it.
// items_per_second counts elements; bytes_per_second counts the 4 bytes of each value that are read or written.
#include <benchmark/benchmark.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "compress/codec.h"
#include "compress/cpu/bitpack.h"
#include "compress/cpu/quantise.h"
#include "compress/cpu/vector.h"
#include "compress/gradients/gradients.h"
#include "compress/quantiser.h"

namespace legacy {
namespace {

// Laplace distributed, as gradients roughly are.
std::vector<float> Gradient(int64_t n) { return DrawGradient("laplace:n=" + std::to_string(n)); }

void Count(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * int64_t{sizeof(float)});
}

void BM_Read(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(cpu::AbsMax(values));
  Count(state);
}

void BM_Copy(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  std::vector<float> out(values.size());
  for (auto _ : state) {
    std::memcpy(out.data(), values.data(), sizeof(float) * values.size());
    benchmark::DoNotOptimize(out.data());
  }
  Count(state);
}

// Into memory that is there already, as an exchange reuses it.
void Encode(benchmark::State& state, const char* text) {
  const auto quantiser = MakeQuantiser(ParseStages(text).front());
  const auto values = Gradient(state.range(0));
  Bytes out;
  for (auto _ : state) {
    out.clear();
    quantiser->Encode(values, quantiser->Parameter().fallback, {}, out);
    benchmark::DoNotOptimize(out.data());
  }
  Count(state);
}

void Decode(benchmark::State& state, const char* text) {
  const auto quantiser = MakeQuantiser(ParseStages(text).front());
  auto values = Gradient(state.range(0));
  Bytes segment;
  quantiser->Encode(values, quantiser->Parameter().fallback, {}, segment);
  for (auto _ : state) {
    quantiser->Decode(segment, quantiser->Parameter().fallback, values);
    benchmark::DoNotOptimize(values.data());
  }
  Count(state);
}

// A whole message, added to a sum: checks included.
void DecodeAdd(benchmark::State& state, const char* text) {
  const auto codec = MakeCodec(text);
  const auto values = Gradient(state.range(0));
  CodecContext context;
  context.parameter = codec->Parameter().fallback;
  const Message message = codec->Encode(values, context);
  std::vector<float> sum(values.size());
  for (auto _ : state) {
    codec->DecodeAdd(message.bytes, context, sum);
    benchmark::DoNotOptimize(sum.data());
  }
  Count(state);
}

void BM_PackSigns(benchmark::State& state) {
  const auto values = Gradient(state.range(0));
  std::vector<std::byte> out(cpu::PackedBytes(state.range(0), 1));
  for (auto _ : state) {
    cpu::PackSigns(values, out);
    benchmark::DoNotOptimize(out.data());
  }
  Count(state);
}

void BM_UnpackSigns(benchmark::State& state) {
  std::vector<float> values(state.range(0));
  const std::vector<std::byte> in(cpu::PackedBytes(state.range(0), 1), std::byte{0x5A});
  for (auto _ : state) {
    cpu::UnpackSigns(in, 1, -1, values);
    benchmark::DoNotOptimize(values.data());
  }
  Count(state);
}

void BM_UnpackCodes(benchmark::State& state) {
  std::vector<uint8_t> codes(state.range(0));
  const std::vector<std::byte> in(cpu::PackedBytes(state.range(0), 4), std::byte{0x5A});
  for (auto _ : state) {
    cpu::UnpackCodes(in, 4, codes);
    benchmark::DoNotOptimize(codes.data());
  }
  Count(state);
}

#define LEGACY_SIZE ->Arg(1 << 24)->Unit(benchmark::kMicrosecond)
BENCHMARK(BM_Read) LEGACY_SIZE;
BENCHMARK(BM_Copy) LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4, "qsgd") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4_l2, "qsgd:norm=l2") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4_elias, "qsgd:norm=l2,code=elias") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, maxmin4, "maxmin") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, natural9, "natural") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, natural8, "natural:bits=8") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, terngrad, "terngrad") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, sign, "sign") LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, onebit, "onebit") LEGACY_SIZE;
BENCHMARK(BM_PackSigns) LEGACY_SIZE;
BENCHMARK(BM_UnpackSigns) LEGACY_SIZE;
BENCHMARK(BM_UnpackCodes) LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, qsgd4, "qsgd") LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, maxmin4, "maxmin") LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, natural9, "natural") LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, natural8, "natural:bits=8") LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, terngrad, "terngrad") LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, sign, "sign") LEGACY_SIZE;
BENCHMARK_CAPTURE(DecodeAdd, dense, "dense") LEGACY_SIZE;
BENCHMARK_CAPTURE(DecodeAdd, fp16, "fp16") LEGACY_SIZE;
BENCHMARK_CAPTURE(DecodeAdd, qsgd4, "qsgd") LEGACY_SIZE;
BENCHMARK_CAPTURE(DecodeAdd, sign, "sign") LEGACY_SIZE;
#undef LEGACY_SIZE

}  // namespace
}  // namespace legacy
