// Cosine coefficients of chunks of up to 64 x 64, of which 32 of 4096 are kept, as DeMo has it.
// Vectors are taken for the most square matrices.
#include <memory>

#include "compress/codecs/dct_codec.h"
#include "compress/cuda/bench/coded.h"
#include "compress/cuda/kernels/transforms/dct_kernels.h"
#include "compress/quantiser.h"

namespace legacy::bench {
namespace {

constexpr double kDensity = 32.0 / (64 * 64);

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
        arena.NewCopy(std::vector<std::byte>(static_cast<size_t>(kCodedWorkers * table->stride())));
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
  void Subtract(StreamDevice device, float* residual) const {
    cuda::LaunchDctSubtract(device, *table, view, Reads(1, residual));
  }
  void Decode(StreamDevice device, float* mean) const {
    cuda::LaunchDctDecode(device, *table, view, Reads(kCodedWorkers, mean));
  }
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

double SentBytes(const Case& c, int workers) {
  return MessageBytes(c, OwnCodec(), kDensity, workers);
}

double EncodeBytes(const Case& c) { return Floats<1>(c) + SentBytes(c, 1); }
double SubtractBytes(const Case& c) { return Floats<2>(c) + SentBytes(c, 1); }
double DecodeBytes(const Case& c) { return Floats<1>(c) + SentBytes(c, kCodedWorkers); }

}  // namespace

std::vector<Row> CosineRows() {
  return {{"dct.encode", nullptr, nullptr, false, EncodeBytes, Encodes<Coded>},
          {"dct.feedback", nullptr, nullptr, false, SubtractBytes, Subtracts<Coded>},
          {"dct.decode-of-8", nullptr, nullptr, false, DecodeBytes, Decodes<Coded>}};
}

}  // namespace legacy::bench
