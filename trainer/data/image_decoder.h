// JPEG and PNG images become red, green and blue pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trainer/data/image_crop.h"

namespace legacy {

// Returns 1, 2, 4 or 8: a JPEG is decoded at 1 / that of its size, the largest at which the crop
// still has `size` pixels in both directions.
int ReductionFor(const CropChoice& crop, int size);

// Returns the size of an image without decoding it. Throws Error as DecodeImage.
ImageShape ReadImageShape(std::span<const uint8_t> file, const std::string& name);

// Decodes a JPEG or a PNG, whatever its name says, and writes the crop, resampled with a triangle
// filter (antialiased, as Pillow's bilinear), to `out`: [3, size, size]. Grey and CMYK images, and
// PNG with palette, alpha (ignored) or 16 bits become red, green and blue. JPEG is decoded at 1/2,
// 1/4 or 1/8 of its size where that still has at least `size` pixels for the crop, and only where
// the crop lies. Throws Error "NAME: ..." for anything else, for images that are cut short, and for
// more than 2^28 pixels.
void DecodeImage(std::span<const uint8_t> file, const std::string& name, const CropChoice& crop,
                 int size, std::span<uint8_t> out);

// Decodes the whole image and throws what is wrong with it: all scans and rows, as a crop does not.
ImageShape CheckImage(std::span<const uint8_t> file, const std::string& name);

}  // namespace legacy
