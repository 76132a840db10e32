// OmniReduce with blocks of 256, its default, of which the case's ratio is sent.
#include <memory>
#include <utility>

#include "compress/cuda/bench/coded.h"
#include "compress/cuda/kernels/selection/blocks_kernels.h"

namespace legacy::bench {
namespace {

constexpr int64_t kBlock = 256;
constexpr int kWorkers = 8;

std::vector<BlockLayout> LayoutsOf(const Case& c) {
  std::vector<BlockLayout> layouts;
  for (const int64_t length : c.lengths) layouts.push_back(LayoutBlocks(length, kBlock, c.ratio));
  return layouts;
}

// A case's vectors, with the messages of all workers, which are one worker's.
struct Blocks {
  Blocks(const Case& c, uint32_t seed, Arena& arena)
      : table(std::make_shared<cuda::BlocksTable>(c.Table().extents(), LayoutsOf(c),
                                                  std::vector<bool>(c.lengths.size(), true))),
        view(Upload(*table, arena)) {
    const int64_t units = table->count();
    messages = arena.New<std::byte>(kWorkers * table->stride());
    ranks = arena.New<uint32_t>(kWorkers * table->blocks());
    positions = arena.New<uint32_t>(kWorkers * table->sent());
    sent = arena.New<uint32_t>(2 * kWorkers * units);
    arrays = {.residual = Input(c, seed, arena),
              .squares = arena.New<double>(table->blocks()),
              .ranks = ranks,
              .positions = positions,
              .sent = sent,
              .out = messages,
              .non_finite = arena.NewCopy(std::vector<uint32_t>(static_cast<size_t>(units)))};
  }
  void Encode(StreamDevice device) const { cuda::LaunchBlocksEncode(device, *table, view, arrays); }

  std::shared_ptr<cuda::BlocksTable> table;
  cuda::BlocksVectors view;
  cuda::BlocksArrays arrays;
  std::byte* messages = nullptr;
  uint32_t* ranks = nullptr;
  uint32_t* positions = nullptr;
  uint32_t* sent = nullptr;
};

// Returns the bytes of the values that are sent.
double SentBytes(const Case& c) {
  double bytes = 0;
  for (const BlockLayout& layout : LayoutsOf(c)) {
    bytes += 4.0 * static_cast<double>(std::min(layout.numel, layout.Values()));
  }
  return bytes;
}

// What is sent is read, written to the message, and cleared.
double EncodeBytes(const Case& c) { return Floats<1>(c) + 3 * SentBytes(c); }

Work Encode(const Case& c, uint32_t seed, Arena& arena) {
  const auto blocks = std::make_shared<Blocks>(c, seed, arena);
  Work work = Runs([=](StreamDevice device) { blocks->Encode(device); });
  work.restore = Restores(blocks->arrays.residual, c.elements(), arena);
  return work;
}

// Sums are written and read.
double DecodeBytes(const Case& c) { return Floats<1>(c) + (kWorkers + 2) * SentBytes(c); }

Work Decode(const Case& c, uint32_t seed, Arena& arena) {
  const auto blocks = std::make_shared<Blocks>(c, seed, arena);
  blocks->Encode(StreamDevice(nullptr));
  const cuda::BlocksTable& table = *blocks->table;
  const int64_t units = table.count();
  for (int w = 1; w < kWorkers; ++w) {
    const auto copy = [w](auto* first, int64_t n) {
      CopyBytes(first, first + w * n, n * static_cast<int64_t>(sizeof(*first)));
    };
    copy(blocks->messages, table.stride());
    copy(blocks->ranks, table.blocks());
    copy(blocks->positions, table.sent());
    copy(blocks->sent, 2 * units);
  }
  const cuda::BlocksReadArrays arrays = {
      .in = blocks->messages,
      .stride = table.stride(),
      .ranks = blocks->ranks,
      .positions = blocks->positions,
      .sent = blocks->sent,
      .blocks = table.blocks(),
      .most_sent = table.sent(),
      .slots = kWorkers,
      .sums = arena.New<float>(c.elements()),
      .union_of = arena.NewCopy(std::vector<uint32_t>(static_cast<size_t>(2 * units))),
      .mean = arena.New<float>(c.elements()),
      .malformed = arena.NewCopy(std::vector<uint32_t>(static_cast<size_t>(kWorkers * units)))};
  return Runs([=](StreamDevice device) {
    cuda::LaunchBlocksDecode(device, *blocks->table, blocks->view, arrays);
  });
}

}  // namespace

std::vector<Row> BlockRows() {
  return {{"omnireduce.encode", nullptr, nullptr, true, EncodeBytes, Encode},
          {"omnireduce.decode-of-8", nullptr, nullptr, true, DecodeBytes, Decode}};
}

}  // namespace legacy::bench
