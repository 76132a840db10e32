// Resampling of images by a triangle filter that widens where the image shrinks (antialiased
// bilinear), as Pillow's BILINEAR and torchvision's antialias=True.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/simd.h"

namespace legacy {

// A PixelWindow has rows of pixels of four bytes: red, green, blue, and one that is not used.
struct PixelWindow {
  const uint8_t* pixels = nullptr;
  int width = 0;
  int height = 0;
  size_t stride = 0;  // bytes from one row to the next
};

// An AxisBox is the stretch of one axis that becomes the output. Filters reach pixels from `first`
// to `end` - 1 only.
struct AxisBox {
  double begin = 0;
  double length = 0;
  int first = 0;
  int end = 0;
};

// Writes the part of the window to `out`, [3, size, size] bytes, mirrored where `flip` is true.
// Only IEEE operations on floats decide, so bits are the same with any instructions.
void Resample(const PixelWindow& window, const AxisBox& columns, const AxisBox& rows, int size,
              bool flip, uint8_t* out, cpu::Simd simd = cpu::ActiveSimd());

}  // namespace legacy
