// This is cpu/sparse_sum.h on a GPU: the workers' sparse vectors of many segments are added into
// dense ones, in the order of the workers, with the same bits. It uses no atomics: a block finds
// its tile's part of each worker's list by binary search.
//
// Bytes moved per element: 4 read and 4 written, and 8 read for each entry. Nothing waits for the
// device; the launch does not depend on the data.
#pragma once

#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

struct SparseSumOptions {
  int32_t workers = 1;
  float divisor = 1;
  bool overwrite = false;  // sums begin at 0 rather than with what is there, which is not read
};

// Adds every worker's value at i to sum[i], one worker after the other; then divides sum[i] by
// `divisor`. List w * table.count() + s is worker w's of segment s: its indices are below the
// segment's length; begins are any. Throws Error where the launch is refused.
void SumSparse(const SegmentTable& table, Segments segments, const PackedLists& lists,
               const SparseSumOptions& options, float* sum, Stream stream);

}  // namespace legacy::cuda
