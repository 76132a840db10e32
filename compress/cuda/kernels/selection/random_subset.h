// Random-K's support on a GPU is cpu::RandomSubset to the bit, for many units in one set of
// launches, and what is kept there. random_subset_kernels.h says how, and gives the bytes moved.
//
// Nothing waits for the device. The launches follow from the units alone; what they do with less or
// more luck than expected, a unit's last block makes up for: the result is exact whatever the
// draws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/random.h"
#include "compress/cuda/device/stream.h"
#include "compress/cuda/kernels/selection/subset_table.h"

namespace legacy::cuda {

// Returns n / 8 bytes and n / 8192 more for each unit.
size_t RandomSubsetWorkspaceBytes(const SubsetTable& table);

// Draws the subsets of the streams of `keys`, one for each unit in the memory of the device,
// ascending, into `positions`. `subsets` is the view of the copy of `table` on the device. Throws
// Error where the workspace is too small or a launch is refused.
void DrawRandomSubsets(const SubsetTable& table, const Subsets& subsets, const RandomKey* keys,
                       uint32_t* positions, void* workspace, size_t bytes, Stream stream);

// Writes what a unit has at its positions in `flat`, times its factor, into `values`, where the
// positions are in theirs; then clears it in `flat` where `clear` is true, for error feedback.
// non_finite[unit] counts the NaN and infinities among them. It moves 12 bytes a value, and a
// sector of memory each, twice where it clears.
void TakeSubsets(const SubsetTable& table, const Subsets& subsets, const uint32_t* positions,
                 float* flat, bool clear, float* values, uint32_t* non_finite, Stream stream);

}  // namespace legacy::cuda
