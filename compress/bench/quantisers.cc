// Segments of quantisers, compared with a loop that only reads as many values. messages.cc measures
// whole messages, with their checks.
#include <benchmark/benchmark.h>

#include <cstring>
#include <optional>
#include <vector>

#include "compress/bench/turns.h"
#include "compress/cpu/bitpack.h"
#include "compress/quantiser.h"

namespace legacy::bench {
namespace {

void Copy(benchmark::State& state) {
  const auto values = Draw("laplace", state.range(0));
  std::vector<float> out(values.size());
  CompareWithRead(state, values, {}, [&] {
    std::memcpy(out.data(), values.data(), sizeof(float) * values.size());
    benchmark::DoNotOptimize(out.data());
  });
}

// Encodes into memory that is already allocated, as an exchange does.
void Encode(benchmark::State& state, const char* text, std::optional<Aim> aim = {}) {
  const auto quantiser = MakeQuantiser(ParseStages(text).front());
  const auto values = Draw("laplace", state.range(0));
  Bytes out;
  CompareWithRead(state, values, aim, [&] {
    out.clear();
    quantiser->Encode(values, quantiser->Parameter().fallback, {}, out);
    benchmark::DoNotOptimize(out.data());
  });
}

void Decode(benchmark::State& state, const char* text, std::optional<Aim> aim = {}) {
  const auto quantiser = MakeQuantiser(ParseStages(text).front());
  auto values = Draw("laplace", state.range(0));
  Bytes segment;
  quantiser->Encode(values, quantiser->Parameter().fallback, {}, segment);
  CompareWithRead(state, values, aim, [&] {
    quantiser->Decode(segment, quantiser->Parameter().fallback, values);
    benchmark::DoNotOptimize(values.data());
  });
}

void PackSigns(benchmark::State& state, std::optional<Aim> aim) {
  const auto values = Draw("laplace", state.range(0));
  std::vector<std::byte> out(cpu::PackedBytes(state.range(0), 1));
  CompareWithRead(state, values, aim, [&] {
    cpu::PackSigns(values, out);
    benchmark::DoNotOptimize(out.data());
  });
}

void UnpackSigns(benchmark::State& state) {
  std::vector<float> values(state.range(0));
  const std::vector<std::byte> in(cpu::PackedBytes(state.range(0), 1), std::byte{0x5A});
  CompareWithRead(state, values, {}, [&] {
    cpu::UnpackSigns(in, 1, -1, values);
    benchmark::DoNotOptimize(values.data());
  });
}

void UnpackCodes(benchmark::State& state) {
  const std::vector<float> values(state.range(0));
  std::vector<uint8_t> codes(state.range(0));
  const std::vector<std::byte> in(cpu::PackedBytes(state.range(0), 4), std::byte{0x5A});
  CompareWithRead(state, values, {}, [&] {
    cpu::UnpackCodes(in, 4, codes);
    benchmark::DoNotOptimize(codes.data());
  });
}

#define LEGACY_SIZE Arg(1 << 24)->LEGACY_TURNS
BENCHMARK(Copy)->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, fp16, "fp16")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, bf16, "bf16")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4, "qsgd")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4_l2, "qsgd:norm=l2")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, qsgd4_elias, "qsgd:norm=l2,code=elias")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, maxmin4, "maxmin")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, natural9, "natural")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, natural8, "natural:bits=8")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, terngrad, "terngrad")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, sign, "sign")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, onebit, "onebit")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, int4, "int:bits=4")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, int4_smooth, "int:bits=4,smooth=on")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, mxfp8, "mx")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, mxfp4, "mx:format=e2m1")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Encode, fp8, "fp8")->LEGACY_SIZE;
BENCHMARK(UnpackSigns)->LEGACY_SIZE;
BENCHMARK(UnpackCodes)->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, fp16, "fp16")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, bf16, "bf16")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, qsgd4, "qsgd")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, maxmin4, "maxmin")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, natural9, "natural")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, natural8, "natural:bits=8")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, terngrad, "terngrad")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, sign, "sign")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, int4, "int:bits=4")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, int4_smooth, "int:bits=4,smooth=on")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, mxfp8, "mx")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, mxfp4, "mx:format=e2m1")->LEGACY_SIZE;
BENCHMARK_CAPTURE(Decode, fp8, "fp8")->LEGACY_SIZE;

LEGACY_AIM("Encode/qsgd4", Encode, "qsgd", AtLeast(0.5))->Arg(1 << 24);
// 2 GB/s where a copy has 8, as for exchanges of sharded trainings.
LEGACY_AIM("Encode/int4", Encode, "int:bits=4", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("Encode/int4_smooth", Encode, "int:bits=4,smooth=on", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("Encode/mxfp8", Encode, "mx", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("Encode/mxfp4", Encode, "mx:format=e2m1", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("Decode/int4_smooth", Decode, "int:bits=4,smooth=on", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("Decode/mxfp4", Decode, "mx:format=e2m1", AtLeast(0.25))->Arg(1 << 24);
LEGACY_AIM("PackSigns", PackSigns, AtLeast(0.5))->Arg(1 << 24);
#undef LEGACY_SIZE

}  // namespace
}  // namespace legacy::bench
