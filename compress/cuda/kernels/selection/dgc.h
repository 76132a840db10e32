// The local update of Deep Gradient Compression (Lin et al., ICLR 2018, section 3) runs for all
// layers (and several workers, whose buffers follow each other) at once: what schemes/memory.h
// defines, to the bit. One step is
//
//   ClipFactors()          (section 3.3, if gradients are clipped), from SquaredNorms() of the
//                          workers
//   AccumulateMomentum()   u' = m u + g,  e = v + u'
//   SelectAtLeast() or SelectTopK() from e
//   ClearSelected()        masking: u' = 0, and e = 0, at the positions that are sent
//
// Nothing waits for the device; the launches do not depend on the data. All throw Error where a
// launch is refused.
#pragma once

#include <cstdint>

#include "compress/cuda/device/segments.h"
#include "compress/cuda/device/stream.h"

namespace legacy::cuda {

// MomentumArrays are in the memory of the device.
struct MomentumArrays {
  const float* gradient = nullptr;
  float* velocity = nullptr;  // u
  float* residual = nullptr;  // v; e after
  // Factors that gradients are multiplied by first: one number for each worker, whose `layers`
  // segments follow each other. It may be null.
  const float* factors = nullptr;
  int32_t layers = 1;
};

struct MomentumOptions {
  float momentum = 0.9f;
  bool nesterov = false;  // u' = m (u + g), e = v + g + u'
};

// Does the update. It reads 12 bytes and writes 8 an element.
void AccumulateMomentum(const SegmentTable& table, Segments segments, const MomentumArrays& arrays,
                        const MomentumOptions& options, Stream stream);

// Writes factors[w], by which a gradient of squared norm squares[w] gets the norm `limit`; 1 where
// its norm is not above.
void ClipFactors(const double* squares, float* factors, int32_t workers, double limit,
                 Stream stream);

// Clears `values`, and `others` if not null, at the positions of lists that begin at 0 and have no
// more than `most` entries together. It reads 4 bytes and writes 4 or 8 an entry.
void ClearSelected(Segments segments, const PackedLists& lists, int64_t most, float* values,
                   float* others, Stream stream);

}  // namespace legacy::cuda
