// The distribution of magnitudes of many segments is counted in one read: the bins of
// cpu/histogram.h, whose MagnitudeHistogram::AddBins() takes them, so that every answer of a
// MagnitudeCurve is the CPU's. histogram_kernels.h says how. Nothing waits for the device; the
// launches do not depend on the data.
#pragma once

#include <cstdint>

#include "compress/cpu/histogram.h"
#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

inline constexpr int kHistogramBins = cpu::MagnitudeHistogram::kBins;

// Writes counts[s * kHistogramBins + bin], and offsets likewise, of segment s, whose length is
// below 2^32. It reads 4 bytes an element and writes 12 a bin. Throws Error where a launch is
// refused.
void CountMagnitudes(const SegmentTable& table, Segments segments, const float* values,
                     uint32_t* counts, uint64_t* offsets, Stream stream);

}  // namespace legacy::cuda
