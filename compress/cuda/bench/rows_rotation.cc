// EDEN with one bit in blocks of 8192, which are the codec's defaults.
#include <memory>

#include "compress/codecs/eden_codec.h"
#include "compress/cuda/bench/coded.h"
#include "compress/cuda/kernels/transforms/eden_kernels.h"

namespace legacy::bench {
namespace {

constexpr int64_t kBlock = 8192;
constexpr int kBits = 1;

// A case's vectors, with the messages of all workers.
struct Coded {
  Coded(const Case& c, uint32_t seed, Arena& arena)
      : tables(c, arena),
        table(std::make_shared<cuda::EdenTable>(kBlock, tables.table.extents(),
                                                std::vector<int>(c.lengths.size(), kBits))),
        view(Upload(*table, arena)) {
    const auto units = static_cast<int64_t>(c.lengths.size());
    std::vector<StreamKey> keys;
    for (uint32_t u = 0; u < units; ++u) {
      keys.push_back(StreamKeyOf({.seed = seed, .layer = u, .purpose = Purpose::kRotation}));
    }
    largest = arena.New<uint32_t>(units);
    first = arena.New<uint32_t>(units);
    messages =
        arena.NewCopy(std::vector<std::byte>(static_cast<size_t>(kCodedWorkers * table->stride())));
    const cuda::EdenArrays arrays = {.values = Input(c, seed, arena),
                                     .largest = largest,
                                     .signs = arena.NewCopy(keys),
                                     .out = messages};
    uint32_t* const done = arena.NewCopy(std::vector<uint32_t>(static_cast<size_t>(2 * units)));
    job = LayOut(arena, [&](Workspace& workspace) {
      return cuda::LayOutEden(*table, view, arrays, done, workspace);
    });
  }
  void Encode(StreamDevice device) const {
    cuda::LaunchExtremes(device, tables.table, tables.segments, job.arrays.values,
                         {largest, first});
    cuda::LaunchEden(device, *table, job);
  }
  void Subtract(StreamDevice device, float* residual) const {
    cuda::LaunchEdenSubtract(device, *table, view, Reads(1, residual));
  }
  void Decode(StreamDevice device, float* mean) const {
    cuda::LaunchEdenDecode(device, *table, view, Reads(kCodedWorkers, mean));
  }
  cuda::EdenReadArrays Reads(int workers, float* out) const {
    return {.in = messages,
            .signs = job.arrays.signs,
            .stride = table->stride(),
            .workers = workers,
            .divisor = static_cast<float>(workers),
            .out = out};
  }

  Tables tables;
  std::shared_ptr<cuda::EdenTable> table;
  cuda::EdenVectors view;
  uint32_t* largest = nullptr;
  uint32_t* first = nullptr;
  std::byte* messages = nullptr;
  cuda::EdenJob job;
};

double SentBytes(const Case& c, int workers) {
  return MessageBytes(c, EdenCodec(kBits, kBlock, EdenScale::kLeast), kBits, workers);
}

// The values are read for their magnitudes and for their rotation, which is written and read.
double EncodeBytes(const Case& c) { return Floats<4>(c) + SentBytes(c, 1); }
double SubtractBytes(const Case& c) { return Floats<2>(c) + SentBytes(c, 1); }
double DecodeBytes(const Case& c) { return Floats<1>(c) + SentBytes(c, kCodedWorkers); }

}  // namespace

std::vector<Row> RotationRows() {
  return {{"eden.encode", nullptr, nullptr, false, EncodeBytes, Encodes<Coded>},
          {"eden.feedback", "rotate.feedback", Elements, false, SubtractBytes, Subtracts<Coded>},
          {"eden.decode-of-8", nullptr, nullptr, false, DecodeBytes, Decodes<Coded>}};
}

}  // namespace legacy::bench
