// The table of the vectors whose blocks OmniReduce sends (schemes/sparse/omnireduce.h), and the
// places of their messages. The host makes it for the kernels of blocks_kernels.h.
//
// A message is an extended header, and for each block the number of the next one and its values;
// messages are aligned to four bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "compress/codecs/blocks_codec.h"
#include "compress/cpu/vector.h"
#include "compress/cuda/device/image.h"
#include "compress/message.h"

namespace legacy::cuda {

struct BlocksUnit {
  Extent extent;            // values in the flat buffer
  int64_t first_block = 0;  // number of its first block among those of all units
  int64_t first_sent = 0;   // the same, of blocks that can be sent
  int64_t message = 0;      // first byte of the message among those of a slot
  uint32_t block = 1;       // values of a block
  uint32_t blocks = 0;
  uint32_t kept = 0;  // largest number of blocks that are chosen
  int32_t feeds = 0;  // 1: there is a residual

  static constexpr int64_t kCountAt = 3 * static_cast<int64_t>(sizeof(uint32_t));
  static constexpr int64_t kBlocksAt = kExtendedHeaderBytes;
  constexpr bool All() const { return kept == blocks; }
  constexpr int64_t BlockBytes() const {
    return kBlockOffsetBytes + static_cast<int64_t>(sizeof(float)) * block;
  }
  constexpr uint32_t Size(uint32_t number) const {
    const int64_t rest = extent.length - int64_t{number} * block;
    return rest < block ? static_cast<uint32_t>(rest) : block;
  }
  // Returns the largest number of blocks in a message: the first one is always sent.
  constexpr uint32_t Most() const { return All() ? blocks : kept + 1; }
};

// Pointers are to device memory. Counts of units' blocks before each unit have count + 1 entries.
struct BlocksVectors {
  const BlocksUnit* units = nullptr;
  const int64_t* first_block = nullptr;
  const int64_t* first_sent = nullptr;
  int32_t count = 0;
};

class BlocksTable : public ImageTable {
 public:
  // `feeds` says which units have residuals.
  BlocksTable(const std::vector<Extent>& extents, const std::vector<BlockLayout>& layouts,
              const std::vector<bool>& feeds) {
    for (size_t u = 0; u < extents.size(); ++u) {
      BlocksUnit& unit = units_.emplace_back();
      unit.extent = extents[u];
      unit.first_block = first_block_.back();
      unit.first_sent = first_sent_.back();
      unit.message = stride_;
      unit.block = static_cast<uint32_t>(layouts[u].block);
      unit.blocks = static_cast<uint32_t>(layouts[u].blocks);
      unit.kept = static_cast<uint32_t>(layouts[u].kept);
      unit.feeds = feeds[u] ? 1 : 0;
      first_block_.push_back(unit.first_block + unit.blocks);
      first_sent_.push_back(unit.first_sent + unit.Most());
      stride_ += BlocksUnit::kBlocksAt + unit.Most() * unit.BlockBytes();
    }
    unit_slot_ = image_.Add(units_);
    block_slot_ = image_.Add(first_block_);
    sent_slot_ = image_.Add(first_sent_);
  }

  // Says why no kernels take blocks of that length; empty if there are kernels.
  static std::string LacksKernels(int64_t block) {
    if (block <= cpu::kSumBlock) return {};
    return "block=" + std::to_string(block) + " has no kernels: a warp sums blocks of up to " +
           std::to_string(cpu::kSumBlock) + " values";
  }

  const std::vector<BlocksUnit>& units() const { return units_; }
  int32_t count() const { return static_cast<int32_t>(units_.size()); }
  int64_t blocks() const { return first_block_.back(); }
  int64_t sent() const { return first_sent_.back(); }  // most blocks of a worker's messages
  int64_t stride() const { return stride_; }           // bytes of a worker's messages

  BlocksVectors View(const void* memory) const {
    return {Image::At(memory, unit_slot_), Image::At(memory, block_slot_),
            Image::At(memory, sent_slot_), count()};
  }

 private:
  std::vector<BlocksUnit> units_;
  std::vector<int64_t> first_block_ = {0}, first_sent_ = {0};
  int64_t stride_ = 0;
  Image::Slot<BlocksUnit> unit_slot_;
  Image::Slot<int64_t> block_slot_, sent_slot_;
};

}  // namespace legacy::cuda
