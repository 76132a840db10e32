// THC with 4 bits and a granularity of 30 in blocks of 1024, which are its defaults, and in the 8
// bits of the sums of 8 workers.
#include <memory>
#include <utility>

#include "compress/cuda/bench/coded.h"
#include "compress/cuda/kernels/transforms/thc_kernels.h"

namespace legacy::bench {
namespace {

constexpr int kSumBits = 8;

const ThcTable& Levels() {
  static const ThcTable table(4, 30, 0.03125);
  return table;
}

// A case's vectors, with the messages of all workers.
struct Coded {
  Coded(const Case& c, uint32_t seed, Arena& arena)
      : table(std::make_shared<cuda::ThcUnitTable>(
            cuda::ThcCoding{.rules = Levels().rules(), .bits = kSumBits}, c.Table().extents())),
        view(Upload(*table, arena)) {
    const auto units = static_cast<int64_t>(c.lengths.size());
    std::vector<StreamKey> signs;
    std::vector<cpu::DrawSource> draws;
    for (uint32_t u = 0; u < units; ++u) {
      const RandomKey key = {.seed = seed, .layer = u, .purpose = Purpose::kRotation};
      signs.push_back(StreamKeyOf(key));
      draws.push_back(cpu::MakeDrawSource(key));
    }
    largest = arena.New<uint32_t>(units);
    squares = arena.New<double>(units);
    messages =
        arena.NewCopy(std::vector<std::byte>(static_cast<size_t>(kCodedWorkers * table->stride())));
    job = {.vectors = view,
           .values = Input(c, seed, arena),
           .active = arena.NewCopy(std::vector<int32_t>{0}),
           .squares = squares,
           .signs = arena.NewCopy(signs),
           .draws = arena.NewCopy(draws),
           .out = messages,
           .out_stride = table->stride(),
           .units = table->count(),
           .slots = 1};
    sums = LayOut(arena, [&](Workspace& workspace) {
      return cuda::LayOutSums(table->segments(), workspace);
    });
  }
  void Encode(StreamDevice device) const {
    cuda::LaunchThcNorms(device, *table, view, job.values, sums, squares, largest);
    cuda::LaunchThcEncode(device, *table, job);
  }
  void Decode(StreamDevice device, float* mean) const {
    // The norms are those of one worker, which is as well: all workers have the same messages.
    cuda::LaunchThcDecode(device, *table, view,
                          {.in = messages,
                           .stride = table->stride(),
                           .slots = kCodedWorkers,
                           .squares = squares,
                           .signs = job.signs,
                           .out = mean});
  }

  std::shared_ptr<cuda::ThcUnitTable> table;
  cuda::ThcVectors view;
  uint32_t* largest = nullptr;
  double* squares = nullptr;
  double* sums = nullptr;
  std::byte* messages = nullptr;
  cuda::ThcJob job;
};

double SentBytes(const Case& c, int workers) {
  double bytes = 0;
  for (const int64_t length : c.lengths) {
    bytes += static_cast<double>(kExtendedHeaderBytes + cpu::PackedBytes(length, kSumBits));
  }
  return bytes * workers;
}

// The values are read for their norms and for their rotation; what is left of them is written.
double EncodeBytes(const Case& c) { return Floats<2>(c) + SentBytes(c, 1); }
double FeedbackBytes(const Case& c) { return Floats<3>(c) + SentBytes(c, 1); }
double DecodeBytes(const Case& c) { return Floats<1>(c) + SentBytes(c, kCodedWorkers); }

Work EncodesWithFeedback(const Case& c, uint32_t seed, Arena& arena) {
  const auto coded = std::make_shared<Coded>(c, seed, arena);
  coded->job.feedback = true;
  Work work = Runs([=](StreamDevice device) { coded->Encode(device); });
  work.restore = Restores(coded->job.values, c.elements(), arena);
  return work;
}

}  // namespace

std::vector<Row> ThcRows() {
  return {{"thc.encode", nullptr, nullptr, false, EncodeBytes, Encodes<Coded>},
          {"thc.feedback", nullptr, nullptr, false, FeedbackBytes, EncodesWithFeedback},
          {"thc.decode-of-8", nullptr, nullptr, false, DecodeBytes, Decodes<Coded>}};
}

}  // namespace legacy::bench
