// JPEG and PNG images become red, green and blue pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/random.h"

namespace legacy {

// An ImageBox is a part of an image in pixels, which may begin and end between two of them.
struct ImageBox {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

// An ImageShape says how large an image is.
struct ImageShape {
  int height = 0;
  int width = 0;
};

// A CropChoice is the part of an image that becomes the output.
struct CropChoice {
  ImageBox box;
  // True: what lies outside the box is not read. False: filters at the box's edge reach beyond it,
  // as when the whole image is resized and then cropped.
  bool closed = true;
  bool flip = false;
};

// Draws a crop as torchvision's RandomResizedCrop does: an area of 8 % to 100 %, a ratio of width
// to height from 3/4 to 4/3, uniform in its logarithm; after ten that do not fit, the largest
// centred part whose ratio is allowed. It is mirrored with probability 1/2.
CropChoice DrawCrop(ImageShape shape, const RandomKey& key);

// Returns the crop of evaluation: the image is resized so that its shorter side is size * 256 / 224
// pixels, of which the centred square of `size` is taken.
CropChoice CentreCrop(ImageShape shape, int size);

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
