// cpu/vector.h on a GPU: sums and extremes of many segments at once, to the bit, and loops over
// dense vectors. Nothing waits for the device; the launches do not depend on the data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

// These compute one number of each segment, from values at its extent of a flat buffer. `segments`
// is the copy of `table` on the device, `totals` has one number for each segment there. They read 4
// bytes an element and write 8 for each 1024. They throw Error where the workspace is too small or
// a launch is refused.
size_t SumsWorkspaceBytes(const SegmentTable& table);
void SquaredNorms(const SegmentTable& table, Segments segments, const float* values, double* totals,
                  void* workspace, size_t bytes, Stream stream);
void AbsSums(const SegmentTable& table, Segments segments, const float* values, double* totals,
             void* workspace, size_t bytes, Stream stream);
void NegativeSums(const SegmentTable& table, Segments segments, const float* values, double* totals,
                  void* workspace, size_t bytes, Stream stream);

inline constexpr uint32_t kNoPosition = 0xFFFFFFFF;
// Writes for each segment the bits of the largest |x|, and the position of the first NaN or
// infinity, or kNoPosition. It reads 4 bytes an element.
void FindLargest(const SegmentTable& table, Segments segments, const float* values,
                 uint32_t* largest, uint32_t* first_non_finite, Stream stream);

// sum[i] += values[i]: 12 bytes an element.
void Add(const float* values, float* sum, int64_t n, Stream stream);
// values[i] *= factor: 8 bytes an element.
void Scale(float* values, float factor, int64_t n, Stream stream);

}  // namespace legacy::cuda
