// Cosine coefficients of chunks of up to 64 x 64, of which 32 of 4096 are kept, as DeMo has it.
// Vectors are taken for the most square matrices.
#include <memory>

#include "compress/codecs/dct_codec.h"
#include "compress/cuda/bench/setup.h"
#include "compress/cuda/kernels/transforms/dct_kernels.h"
#include "compress/quantiser.h"

namespace legacy::bench {
namespace {

constexpr double kDensity = 32.0 / (64 * 64);
constexpr int kWorkers = 8;

const DctCodec& OwnCodec() {
  static const DctCodec codec(
      {.quantiser = MakeQuantiser(Stage{"fp32"}), .shape = DctShape::kMatrix});
  return codec;
}

// A case's matrices, with the messages of all workers.
struct Coded {
  Coded(const Case& c, uint32_t seed, Arena& arena)
      : table(std::make_shared<cuda::DctTable>(UnitsOf(c))), view(Upload(*table, arena)) {
    messages =
        arena.NewCopy(std::vector<std::byte>(static_cast<size_t>(kWorkers * table->stride())));
    const float* const values = Input(c, seed, arena);
    job = LayOut(arena, [&](Workspace& workspace) {
      return cuda::LayOutDct(*table, view, values, messages, workspace);
    });
  }
  static std::vector<cuda::DctTable::Unit> UnitsOf(const Case& c) {
    const cuda::SegmentTable segments = c.Table();
    std::vector<cuda::DctTable::Unit> units;
    for (const cuda::Extent& extent : segments.extents()) {
      const cpu::ChunkGrid grid = OwnCodec().GridOf(extent.length);
      units.push_back({extent.offset, grid, OwnCodec().KeptOf(grid, kDensity)});
    }
    return units;
  }
  void Encode(StreamDevice device) const { cuda::LaunchDct(device, *table, job); }
  cuda::DctReadArrays Reads(int workers, float* out) const {
    return {.in = messages,
            .stride = table->stride(),
            .workers = workers,
            .divisor = static_cast<float>(workers),
            .out = out};
  }

  std::shared_ptr<cuda::DctTable> table;
  cuda::DctVectors view;
  std::byte* messages = nullptr;
  cuda::DctJob job;
};

double MessageBytes(const Case& c, int workers) {
  double bytes = 0;
  for (const int64_t length : c.lengths) {
    Unit unit;
    unit.numel = length;
    bytes += static_cast<double>(*OwnCodec().MessageBytes(unit, kDensity));
  }
  return bytes * workers;
}

double EncodeBytes(const Case& c) { return Floats<1>(c) + MessageBytes(c, 1); }

Work Encode(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  return Runs([=](StreamDevice device) { coded->Encode(device); });
}

double SubtractBytes(const Case& c) { return Floats<2>(c) + MessageBytes(c, 1); }

Work Subtract(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  coded->Encode(StreamDevice(nullptr));
  float* const residual = Input(c, seed + kOtherSeed, arena);
  return Runs([=](StreamDevice device) {
    cuda::LaunchDctSubtract(device, *coded->table, coded->view, coded->Reads(1, residual));
  });
}

double DecodeBytes(const Case& c) { return Floats<1>(c) + MessageBytes(c, kWorkers); }

Work Decode(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  coded->Encode(StreamDevice(nullptr));
  for (int w = 1; w < kWorkers; ++w) {
    CopyBytes(coded->messages, coded->messages + w * coded->table->stride(),
              coded->table->stride());
  }
  float* const mean = arena.New<float>(c.elements());
  return Runs([=](StreamDevice device) {
    cuda::LaunchDctDecode(device, *coded->table, coded->view, coded->Reads(kWorkers, mean));
  });
}

}  // namespace

std::vector<Row> CosineRows() {
  return {{"dct.encode", nullptr, nullptr, false, EncodeBytes, Encode},
          {"dct.feedback", nullptr, nullptr, false, SubtractBytes, Subtract},
          {"dct.decode-of-8", nullptr, nullptr, false, DecodeBytes, Decode}};
}

}  // namespace legacy::bench
