// Crops of images: parts that are drawn for training, and the centre for evaluation.
#pragma once

#include <cstdint>

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

}  // namespace legacy
